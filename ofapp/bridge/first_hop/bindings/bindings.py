"""Which binding a bridge takes: limits, and what happens if two hosts claim one address.

A user's binding is never limited, does not end, and wins over those that hosts cause.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.event import Event, EventKind
from ofapp.bridge.first_hop.binding import Binding, FullLimit, Origin, link_local
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.bindings.limits import BindingLimits, Scope
from ofapp.bridge.first_hop.bindings.table import BindingTable, PortHost
from ofapp.bridge.first_hop.events import BINDINGS_CONFLICT, BINDINGS_MOVED, BINDINGS_REPLACED
from ofapp.bridge.first_hop.params import MAX_BINDINGS, MAX_SHARING
from ofapp.bridge.first_hop.stranded import Stranded
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac, is_group
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.state import BridgeState
from ofapp.common.deadlines import Deadlines

ENDED, ENDED_HOSTS = 4, 1024
"""Most bindings that are remembered after their end, for each of so many hosts."""

CONFLICT_INTERVAL, CONFLICTS = 60.0, 1024
"""Seconds between events of one conflict, and how many conflicts are remembered for that."""


class Bindings:
    """The bindings of a bridge.

    clock: the time in which they end; left: hosts that another bridge has taken over, with their
    ports, which the switch does not know yet.
    ended: bindings that have ended, by MAC address, the latest first.

    counters: dynamic bindings that were made (bound), have moved, ended (expired), made room for
    others (replaced), were given up by their host (released), and those that were refused.
    """

    def __init__(self, state: BridgeState) -> None:
        self.counters: Counter[str] = Counter()
        self.table = BindingTable()
        self.limits = BindingLimits(self.table, self.counters)
        self.ended: dict[int, tuple[Binding, ...]] = {}
        self.clock = PausableTime()
        self.left: list[tuple[str, int, int]] = []
        self._state = state
        self._ends = Deadlines[tuple[int, BoundAddress]]()
        self._conflicts: dict[tuple[str, int, BoundAddress], float] = {}

    # Dynamic bindings

    def bind(self, new: Binding, changes: Changes) -> bool:
        """Make or renew a dynamic binding, also if another host had the address until now.

        Gives whether the host has the address.
        """
        old = self.table.get(new.vid, new.address, (new.port, new.mac))
        if old is not None and not old.origin.dynamic:
            if (old.port, old.mac) == (new.port, new.mac):
                return True
            self.refuse(new, old, changes)
            return False
        if not self._room(new, old, changes):
            return False
        renewed = old is not None and (old.port, old.mac) == (new.port, new.mac)
        self.counters["renewed" if renewed else "bound"] += 1
        if old is not None and not renewed:
            self._remove(old, changes)
        self._put(new, changes, changed=not renewed)
        if old is not None and not renewed:
            self.counters["moved"] += 1
            self._report_move([new], old, changes)
        return True

    def identify(self, port: str, vid: int, mac: int, origin: Origin, client: bytes) -> bool:
        """Whether a host has a binding on a port as this client of a DHCP server.

        A binding whose client is not known, from before a restart or of a user, is taken for this
        client's from then on.
        """
        octets = 4 if origin is Origin.DHCP else 16
        for binding in sorted(self.table.of_host(vid, mac), key=lambda each: not each.client):
            its = origin if binding.origin.dynamic else binding.origin
            if (binding.port, binding.origin, len(binding.address.octets)) != (port, its, octets):
                continue
            if binding.client == client:
                return True
            if not binding.client:
                self.table.put(replace(binding, client=client))
                return True
        return False

    def reserve(self, port: str, host: tuple[int, int], changes: Changes) -> bool:
        """Take the room of a binding for a host; gives whether there is any."""
        if not self._make_room([port, host[0], None], port, host, changes):
            return False
        self.limits.reserve(port, host[0])
        return True

    def refuse(self, claim: Binding, old: Binding, changes: Changes) -> None:
        """Count a claim of an address that another host has; report it once a minute."""
        self.counters["conflicts"] += 1
        key = claim.port, old.vid, old.address
        if changes.now < self._conflicts.get(key, -CONFLICT_INTERVAL) + CONFLICT_INTERVAL:
            return
        self._conflicts.pop(key, None)
        self._conflicts[key] = changes.now
        if len(self._conflicts) > CONFLICTS:
            del self._conflicts[next(iter(self._conflicts))]
        text = f"{_words(claim)} claims {_owned(old)} and does not get it"
        changes.events.append(self._event(BINDINGS_CONFLICT, text, claim, old))

    def unbind(self, binding: Binding, changes: Changes, why: str) -> None:
        """Remove a dynamic binding; why: name of the counter."""
        self.counters[why] += 1
        self._remove(binding, changes)

    def due(self, now: float) -> list[Binding]:
        """Take the bindings that are to end now; the caller ends them, or sets another time."""
        keys = [*self._ends.expired(now)]
        return [binding for key in keys if (binding := self.table.get(*key)) is not None]

    def expire(self, binding: Binding, changes: Changes) -> None:
        """Remove a binding that has ended."""
        self._remember(binding)
        self.unbind(binding, changes, "expired")

    def postpone(self, binding: Binding, when: float | None) -> None:
        """Have a binding due at that time instead; None: never."""
        self._ends.set((binding.vid, binding.address), when)

    def _remember(self, binding: Binding) -> None:
        before = self.ended.pop(binding.mac, ())
        self.ended[binding.mac] = (binding, *before)[:ENDED]
        if len(self.ended) > ENDED_HOSTS:
            del self.ended[next(iter(self.ended))]

    def next_end(self) -> float | None:
        """When bindings are due."""
        return self._ends.next()

    def elsewhere(self, port: str, vid: int, mac: int) -> str | None:
        """Another port where a host has bindings, by name; None without one.

        A MAC address that has a shared binding here may have further ones elsewhere: it is the
        virtual one of several routers (RFC 5798 7.3).
        """
        its = self.table.of_host(vid, mac)
        shares = any(each.shared and each.port == port for each in its)
        others = (each.port for each in its if each.port != port and not (shares and each.shared))
        return next(others, None)

    def move(self, vid: int, mac: int, old: str, new: str, changes: Changes) -> bool:
        """Move the dynamic bindings of a host to another port; gives whether any has moved."""
        moved: list[Binding] = []
        for binding in self.table.of_host(vid, mac):
            if binding.port == old and binding.origin.dynamic:
                there = replace(binding, port=new)
                if self._room(there, binding, changes):
                    self._remove(binding, changes)
                    self._put(there, changes)
                    moved.append(there)
        if moved:
            self.counters["moved"] += len(moved)
            self._report_move(moved, replace(moved[0], port=old), changes)
        return bool(moved)

    def _report_move(
        self, moved: list[Binding], old: Binding, changes: Changes, bridge: str | None = None
    ) -> None:
        """Report bindings that another host has now, or the same one on another port.

        bridge: the name of the bridge that the port was of, if it is another one.
        """
        addresses, new = [str(each.address) for each in moved], moved[0]
        place = _words(old) if bridge is None else f"{_words(old)} of bridge {bridge}"
        text = f"{', '.join(addresses)} moved from {place} to {_words(new)}"
        data = {
            "mac": format_mac(new.mac),
            "vlan": new.vid,
            "addresses": addresses,
            "from_port": old.port,
            "from_mac": format_mac(old.mac),
        }
        if bridge is not None:
            data["from_bridge"] = bridge
        changes.events.append(BINDINGS_MOVED.event(text, self._number(new.port), data))

    def adopt(self, vid: int, mac: int, old: Stranded, new: str, changes: Changes) -> bool:
        """Take the bindings of a host over from another bridge; gives whether there was any."""
        moved: list[Binding] = []
        for binding, left in old.bindings.hand_over(vid, mac, old.port, changes.now):
            expires = None if left is None else changes.at + left
            here = replace(binding, port=new, expires=expires)
            if self.table.get(vid, here.address) is None and self._room(here, None, changes):
                self._put(here, changes)
                moved.append(here)
        if moved:
            self.counters["moved"] += len(moved)
            self._report_move(moved, replace(moved[0], port=old.port), changes, old.bridge)
        return bool(moved)

    def hand_over(
        self, vid: int, mac: int, port: str, now: float
    ) -> list[tuple[Binding, float | None]]:
        """Give the dynamic bindings of a host up; with the seconds that are left of each."""
        there = [each for each in self.table.of_host(vid, mac) if each.port == port]
        given = [each for each in there if each.origin.dynamic]
        for each in given:
            self.table.drop(each)
            self._ends.set((vid, each.address), None)
        self.left.append((port, vid, mac))
        at = self.clock.at(now)
        return [(each, None if each.expires is None else each.expires - at) for each in given]

    def rename(self, old: str, new: str, changes: Changes) -> None:
        """Follow a port to its new name with its bindings."""
        self.limits.rename(old, new)
        for binding in self.table.on(old):
            self.table.drop(binding)
            self.table.put(replace(binding, port=new))
            changes.stored = True

    def full(self, port: str, vid: int) -> Iterator[FullLimit]:
        """The limits that are reached on a port and in a VLAN, and that of the bridge."""
        names: tuple[tuple[Scope, str], ...] = (
            (port, f"port {port}"),
            (vid, f"VLAN {vid}"),
            (None, "the bridge"),
        )
        for scope, name in names:
            if scope in self.limits.full:
                yield FullLimit(name, self.limits.full[scope], self.limits.refused[scope])

    # Bindings of users

    def add(self, new: Binding, changes: Changes) -> None:
        """Add a user's binding.  Raises InputError."""
        self._check(new)
        place = new.port, new.mac
        for old in self.table.all_of(new.vid, new.address):
            if (old.port, old.mac) == place:
                self._remove(old, changes)
            elif old.origin.dynamic:
                self.counters["replaced_by_user"] += 1
                text = f"{_words(new)} was given {_owned(old)}"
                changes.events.append(self._event(BINDINGS_REPLACED, text, new, old))
                self._remove(old, changes)
        self._put(new, changes)

    def _check(self, new: Binding) -> None:
        if not 0 <= new.vid <= 4094:
            raise InputError("vlan", f"{new.vid} is not a VID: 0 (untagged) to 4094")
        if not new.mac or is_group(new.mac):
            raise InputError("mac", f"{format_mac(new.mac)} is not the address of one host")
        if not new.address.usable:
            raise InputError("address", f"{new.address} is not an address that a host can have")
        if len(self.table) - self.table.dynamic >= MAX_BINDINGS:
            text = f"there are {MAX_BINDINGS} bindings of users, the most there can be"
            raise InputError("address", text)
        self._check_others(new)

    def _check_others(self, new: Binding) -> None:
        """Check that other users' bindings of the address share it.  Raises InputError."""
        others = [
            each
            for each in self.table.all_of(new.vid, new.address)
            if not each.origin.dynamic and (each.port, each.mac) != (new.port, new.mac)
        ]
        if not others:
            return
        old = others[0]
        if not (new.shared and old.shared):
            place = f"{format_mac(old.mac)} on port {old.port}"
            text = f"{new.address} in VLAN {new.vid} is bound to {place}: remove that first"
            raise InputError("address", f"{text}, or let both share it (`shared`)")
        if len(others) >= MAX_SHARING:
            raise InputError("address", f"{new.address} has {MAX_SHARING} hosts, the most")

    def remove(
        self,
        vid: int,
        address: BoundAddress,
        changes: Changes,
        hosts: Collection[PortHost] | None = None,
    ) -> None:
        """Remove the bindings of an address, of any origin.  Raises InputError.

        hosts: ports and MAC addresses of the hosts that lose it; None for all hosts.
        """
        bindings = [
            each
            for each in self.table.all_of(vid, address)
            if hosts is None or (each.port, each.mac) in hosts
        ]
        if not bindings:
            raise InputError("address", f"{address} in VLAN {vid} has no binding")
        for binding in bindings:
            self._remove(binding, changes)

    def restore(self, binding: Binding) -> None:
        """Put a binding back that was taken before a restart; a user's has precedence."""
        if self.table.get(binding.vid, binding.address) is None:
            self.table.put(binding)
            self._ends.set((binding.vid, binding.address), binding.expires)

    # Inside

    def _put(self, binding: Binding, changes: Changes, changed: bool = True) -> None:
        self.table.put(binding)
        self._ends.set((binding.vid, binding.address), binding.expires)
        changes.stored = True
        if changed:
            changes.touch(binding.port, binding.vid, binding.mac)
            self._free_link_local(binding, changes)

    def _free_link_local(self, host: Binding, changes: Changes) -> None:
        """Take the address that follows from a host's MAC address from another host.

        The switch lets each host with a binding use it; the other one has claimed it before.
        """
        its = link_local(host.mac)
        holder = self.table.get(host.vid, its)
        if holder is not None and holder.origin.dynamic and holder.mac != host.mac:
            self.unbind(holder, changes, "replaced")
            self.refuse(holder, replace(host, address=its), changes)

    def _remove(self, binding: Binding, changes: Changes) -> None:
        self.table.drop(binding)
        self._ends.set((binding.vid, binding.address), None)
        changes.touch(binding.port, binding.vid, binding.mac)
        changes.events += self.release([binding.port, binding.vid, None])

    def release(self, scopes: Iterable[Scope]) -> list[Effect]:
        """Note that there may be room again; gives the events."""
        if not self.limits.full:
            return []
        events: list[Effect] = []
        for scope in scopes:
            port = self._number(scope) if isinstance(scope, str) else None
            events += self.limits.release(scope, self._most(scope), port)
        return events

    def _room(self, new: Binding, old: Binding | None, changes: Changes) -> bool:
        """Make room for a dynamic binding; gives whether there is any.

        A binding of neighbour discovery on the same port makes room: hosts replace their temporary
        addresses without notice (RFC 8981 3.4).
        """
        scopes: list[Scope] = [new.port, new.vid, None]
        if old is not None and old.origin.dynamic:  # it counts in the VLAN and the bridge
            scopes = [] if old.port == new.port else [new.port]
        return self._make_room(scopes, new.port, (new.vid, new.mac), changes)

    def _make_room(
        self, scopes: list[Scope], port: str, host: tuple[int, int], changes: Changes
    ) -> bool:
        for scope in scopes:
            most = self._most(scope)
            if most is None or self.limits.has_room(scope, most):
                continue
            oldest = self.table.oldest(port, host)
            if oldest is None or (isinstance(scope, int) and oldest.vid != scope):
                number = self._number(scope) if isinstance(scope, str) else None
                changes.events += self.limits.refuse(scope, most, number)
                return False
            self.unbind(oldest, changes, "replaced")
        return True

    def _most(self, scope: Scope) -> int | None:
        params = self._state.params
        if isinstance(scope, str):
            return params.port(scope, self._number(scope) or 0).first_hop.max_bindings
        section = params.first_hop
        return section.max_bindings if scope is None else section.max_vlan_bindings

    def _number(self, port: str) -> int | None:
        return self._state.ports.numbers.get(port)

    def _event(self, kind: EventKind, text: str, claim: Binding, old: Binding) -> Event:
        data = {
            "mac": format_mac(claim.mac),
            "vlan": claim.vid,
            "address": str(claim.address),
            "origin": old.origin.value,
            "bound_port": old.port,
            "bound_mac": format_mac(old.mac),
        }
        return kind.event(text, self._number(claim.port), data)


def _words(binding: Binding) -> str:
    vlan = f" in VLAN {binding.vid}" if binding.vid else ""
    return f"{format_mac(binding.mac)}{vlan} on port {binding.port}"


def _owned(binding: Binding) -> str:
    return f"{binding.address} of {format_mac(binding.mac)} on port {binding.port}"
