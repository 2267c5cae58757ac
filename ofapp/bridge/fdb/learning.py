"""Learning and forgetting addresses (IEEE 802.1D-2004 7.8, the Learning Process).

This is the hot path: `learn` runs once for every packet-in.  It takes whole batches, so that its
own cost is the dictionary work and little else.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from ofapp.bridge.effects import (
    Effect,
    Flush,
    InstallEntry,
    InstallSticky,
    LookAgain,
    RemoveDestination,
    RemoveSource,
)
from ofapp.bridge.event import EventKind
from ofapp.bridge.fdb.events import FDB_AGED, FDB_DELETED, FDB_LEARNED, FDB_MOVED, change, flushed
from ofapp.bridge.fdb.fdb import COHORTS, NO_PORT, Entry, EntryType, Fdb
from ofapp.bridge.fdb.limits import LearningLimits
from ofapp.bridge.fdb.move_guard import Address, MoveGuard
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac, is_group
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import Port

# Copies of a new host's frames keep arriving until its flows are in place: they are ignored for so
# many seconds.  Later ones mean that the switch has lost the flows, which are installed again.
IN_FLIGHT = 1.0

Sample = tuple[int, int, int]
"""(port, vid, mac): a host was seen."""


class Learning:
    """Decides what the FDB learns: on which ports, within the limits, and what may move.

    open_ports: where addresses are learned; holding: ports that learn but do not forward yet, so
    what they learn is installed later; sticky: ports whose addresses stay; local: the bridge's
    own addresses, mac -> port; lost: ports whose addresses the datapath has lost, and which are put
    back once they are open (see `Sweep`).
    """

    def __init__(self, fdb: Fdb, params: BridgeParams) -> None:
        self.fdb = fdb
        self.counters: Counter[str] = Counter()
        self.open_ports: set[int] = set()
        self.holding: set[int] = set()
        self.sticky: set[int] = set()
        self.local: dict[int, int] = {}
        self.lost: set[int] = set()
        self.move_guard = MoveGuard(params.policies.mac_move, self.counters)
        held = self.move_guard.held
        self.limits = LearningLimits(fdb, params.fdb_max_learned, self.counters, held)
        self.limits.set_vlans(params.policies.vlans)
        self.any_extern = False
        """Whether there has been an EXTERN entry."""
        self._active: set[int] = set()  # ports that are not discarding
        self._quiet: set[int] = set()  # ports that must not learn
        self._special: set[int] = set()  # holding or sticky

    # What is seen

    def learn(self, samples: Iterable[Sample], now: float) -> list[Effect]:
        """Take a batch of sightings; install what is new, moved or lost."""
        effects: list[Effect] = []
        add = effects.append
        tables = self.fdb.tables
        learned = EntryType.LEARNED
        room, admissible, special = self.limits.room, self._admissible, self._special
        put = self.fdb.add
        serial = known = 0
        traced = self.fdb.traced
        for port, vid, mac in samples:
            table = tables.get(vid)
            entry = None if table is None else table.get(mac)
            if entry is None:
                if admissible(port, mac) and room(port, vid, effects):
                    serial = serial or self.fdb.next_serial()
                    known += 1
                    if port in special:
                        entry = Entry(port, self._type(port), serial, now)
                        put(vid, mac, entry)
                        effects += self._installed(vid, mac, entry, NO_PORT)
                    else:
                        put(vid, mac, Entry(port, learned, serial, now))
                        add(InstallEntry(port, vid, mac, serial, NO_PORT))
                    if traced:
                        add(change(FDB_LEARNED, "learned on", port, vid, mac))
            elif entry.port != port:
                effects += self._elsewhere((vid, mac), entry, port, now)
            elif now - entry.installed >= IN_FLIGHT and entry.was_learned and self.forwards(port):
                self._renew((vid, mac), entry, now)
                self.counters["reinstalled"] += 1
                effects += self._installed(vid, mac, entry, NO_PORT)
        if known:
            self.counters["learned"] += known
        return effects

    def _elsewhere(self, address: Address, entry: Entry, port: int, now: float) -> list[Effect]:
        """A known address was seen on another port."""
        if entry.type is EntryType.STATIC:
            self.counters["static_elsewhere"] += 1
            return []
        if not self._admissible(port, address[1]):
            return []
        if held := self.move_guard.held.get(address):
            return self.move_guard.seen(held, port, now)
        if entry.is_sticky:
            return self.move_guard.hold(address, entry, port, now)
        effects: list[Effect] = []
        if self.move_guard.exceeds(address, entry, now):
            last, home = entry.port, self.move_guard.home(address)
            back = home != last and home in self.open_ports
            if back and self.limits.room_to_move(home, effects):
                effects += self._move(address, entry, home, now)
            elsewhere = last if entry.port == port else port
            return effects + self.move_guard.hold(address, entry, elsewhere, now)
        if self.limits.room_to_move(port, effects):
            old_port = entry.port
            effects += self._move(address, entry, port, now)
            self.move_guard.moved(address, old_port, entry, now)
        return effects

    def _move(self, address: Address, entry: Entry, port: int, now: float) -> list[Effect]:
        old_port, old_serial = entry.port, entry.serial
        self.fdb.move(address[0], entry, port)
        entry.type = self._type(port)
        self._renew(address, entry, now)
        self.counters["moved"] += 1
        effects = self._installed(*address, entry, old_port)
        if not effects:
            effects.append(RemoveSource(old_port, *address, old_serial))
            effects.append(RemoveDestination(*address, old_serial))
        if self.fdb.traced:
            effects.append(change(FDB_MOVED, "moved to", port, *address, old_port))
        return effects + self.limits.released([old_port], [])

    def check_host(self, mac: int) -> None:
        """InputError for an address that cannot be one host's or is the bridge's own."""
        if not mac or is_group(mac):
            raise InputError("mac", f"{format_mac(mac)} is not the address of one host")
        if mac in self.local:
            raise InputError("mac", f"{format_mac(mac)} is the bridge's own address")

    def add_extern(self, port: int, vid: int, mac: int, now: float) -> list[Effect]:
        """Set an address as if it had been seen, but one that does not age.  Raises InputError.

        A limit does not refuse it, though it counts.
        """
        self.check_host(mac)
        entry = self.fdb.get(vid, mac)
        if entry is not None and not entry.was_learned:
            what = f"{format_mac(mac)} in VLAN {vid} is a static entry: delete that first"
            raise InputError("mac", what)
        if port in self._quiet:
            raise InputError("port", "the port is locked, or its learning is off")
        if entry is not None and entry.type is EntryType.EXTERN and entry.port == port:
            return []
        effects = [] if entry is None else self.withdraw(vid, mac)
        entry = Entry(port, EntryType.EXTERN, self.fdb.next_serial(), now)
        self.fdb.add(vid, mac, entry)
        self.any_extern = True
        if self.fdb.traced:
            effects.append(change(FDB_LEARNED, "set on", port, vid, mac))
        return effects + self._installed(vid, mac, entry, NO_PORT)

    def expired(self, vid: int, mac: int, serial: int) -> list[Effect]:
        """Remove the destination half of an address whose source half the datapath aged out.

        A notice about an earlier entry of the address (another serial) changes nothing.
        """
        entry = self.fdb.get(vid, mac)
        if entry is None or entry.type is not EntryType.LEARNED or entry.serial != serial:
            self.counters["stale_notices"] += 1
            return []
        self.counters["expired"] += 1
        return [RemoveDestination(vid, mac, serial), *self.forget(vid, mac)]

    # What is forgotten

    def release_held(self, vid: int, mac: int) -> list[Effect]:
        """End the hold-down of an address before its time.  Raises InputError."""
        if (vid, mac) not in self.move_guard.held:
            raise InputError("mac", f"{format_mac(mac)} in VLAN {vid} is not held down")
        return self.move_guard.let_go((vid, mac))

    def forget(self, vid: int, mac: int) -> list[Effect]:
        """Drop a learned entry that has aged out from the FDB only.

        Gives effects of limits and hold-downs.
        """
        return self._forget(vid, mac, FDB_AGED, "aged out on")

    def _forget(self, vid: int, mac: int, kind: EventKind, verb: str) -> list[Effect]:
        port = self.fdb.remove(vid, mac).port
        effects = self.limits.released([port], [vid])
        if self.fdb.traced:
            effects.append(change(kind, verb, port, vid, mac))
        return effects + self.move_guard.let_go((vid, mac)) if self.move_guard.held else effects

    def forget_all(
        self, ports: Collection[int] | None, vid: int | None, sticky: bool = False
    ) -> list[Effect]:
        """Drop the learned entries behind any of `ports` and in `vid` (None: any) at once.

        sticky: those that do not age as well.  The caller takes out the flows.
        """
        if vid is None:
            self.lost.difference_update(self.lost.copy() if ports is None else ports)
        gone = self.fdb.drop_learned(ports, vid, sticky)
        self.counters["flushed"] += gone.total()
        effects = self.limits.released(gone, self.limits.vlans if vid is None else [vid])
        if self.fdb.traced:
            effects += [flushed(port, vid, count) for port, count in gone.items()]
        if self.move_guard.held:
            effects += self.move_guard.forget(self._is_known)
        return effects

    def withdraw(self, vid: int, mac: int) -> list[Effect]:
        """Drop a learned entry from the FDB and the datapath."""
        entry = self.fdb.tables[vid][mac]
        return [
            RemoveSource(entry.port, vid, mac, entry.serial),
            RemoveDestination(vid, mac, entry.serial),
            *self._forget(vid, mac, FDB_DELETED, "deleted from"),
        ]

    # What the datapath holds

    def adopt_held(
        self, vid: int, mac: int, ports: tuple[int, int], age: float, now: float
    ) -> list[Effect]:
        """A switch has been holding an address down for `age` seconds.

        ports: where it is known, and where else it was seen.
        """
        if ports[0] in self._quiet:
            return []
        return self.move_guard.adopt((vid, mac), ports, ports[0] in self.sticky, age, now)

    def settle_held(self) -> list[Effect]:
        """End hold-downs of unknown addresses, once all addresses of the switch are read."""
        return self.move_guard.settle(self._is_known)

    def release(self, port: int) -> list[Effect]:
        """The port forwards from now on: install what it has learned so far."""
        if port in self.lost:
            return [LookAgain()]
        if port not in self.fdb.learned_by_port:
            return []
        return [
            effect
            for vid, mac, entry in self.fdb
            if entry.port == port and entry.was_learned
            for effect in self._installed(vid, mac, entry, NO_PORT)
        ]

    def back(self) -> frozenset[int]:
        """The ports that are open again, whose addresses the datapath has lost."""
        return frozenset(port for port in self.lost if self.forwards(port))

    def reinstall(self, vid: int, mac: int, entry: Entry, now: float) -> list[Effect]:
        """The switch has lost a learned address: put it back."""
        entry.installed = now
        entry.source_packets = entry.destination_packets = 0
        return self._installed(vid, mac, entry, NO_PORT)

    def adopt(
        self, port: int, vid: int, mac: int, serial: int, now: float, sticky: bool = False
    ) -> tuple[Entry | None, list[Effect]]:
        """Take over an address whose flows a switch already holds; None when it may not be.

        sticky: whether its flows are; the address is learned again when the port is not.
        A serial out of today's range is replaced, and its flows with it.
        """
        effects: list[Effect] = []
        if sticky is not (port in self.sticky) or not self._adoptable(port, mac, sticky):
            return None, effects
        if not self.limits.room(port, vid, effects):
            return None, effects
        known = 0 < serial <= COHORTS
        entry = Entry(port, self._type(port), serial if known else self.fdb.next_serial(), now)
        self.fdb.add(vid, mac, entry)
        self.counters["adopted"] += 1
        if known:
            self.fdb.serial = max(self.fdb.serial, serial)
        else:
            effects += self._installed(vid, mac, entry, NO_PORT)
        return entry, effects

    def forwards(self, port: int) -> bool:
        """Whether what is learned on the port belongs in the datapath."""
        return port in self._active and port not in self.holding

    def taken_back(self, ports: Iterable[int]) -> None:
        """Note that the datapath has the addresses of these ports again."""
        self.lost.difference_update(ports)

    # What ports may

    def set_active(self, port: int, active: bool, holding: bool) -> None:
        """The port's state changed: `active` unless discarding, `holding` while only learning."""
        (self._active.add if active else self._active.discard)(port)
        (self.holding.add if holding else self.holding.discard)(port)
        self._classify(port)

    def learns(self, port: int) -> bool:
        """Whether policy lets addresses be learned on the port."""
        return port not in self._quiet

    def set_port(self, port: Port, params: PortParams, now: float) -> list[Effect]:
        """A port is new, or has another name or other parameters.

        One that does not learn any more forgets what it has learned, all of it when it is locked;
        what is learned becomes sticky or ordinary as the port does.  A limit below what is learned
        keeps that and refuses what is new.
        """
        number, policy = port.number, params.policy
        effects: list[Effect] = []
        quiet = policy.locked or not policy.learning
        was_quiet, was_sticky = number in self._quiet, number in self.sticky
        (self._quiet.add if quiet else self._quiet.discard)(number)
        (self.sticky.add if policy.sticky else self.sticky.discard)(number)
        self._classify(number)
        if quiet and not was_quiet and number in self.fdb.learned_by_port:
            effects.append(Flush(number, sticky=True))
            effects += self.forget_all([number], None, sticky=True)
        elif policy.sticky is not was_sticky:
            effects += self._retype(number, now)
        return effects + self.limits.set_port(number, port.name, params)

    def drop_port(self, port: int) -> list[Effect]:
        """A port is gone, and what is behind it: sticky addresses, which a flush leaves, too."""
        effects: list[Effect] = []
        if port in self.fdb.learned_by_port:
            effects.append(Flush(port, sticky=True))
            effects += self.forget_all([port], None, sticky=True)
        effects += self.limits.drop_port(port)
        for ports in (self._active, self.holding, self._quiet, self.sticky, self.lost):
            ports.discard(port)
        self._classify(port)
        return effects

    def set_policies(self, params: BridgeParams, ports: Iterable[Port], now: float) -> list[Effect]:
        """Apply changed parameters: limits, the move guard, and those of ports.

        Nothing that is learned is forgotten for a lower limit: new addresses are refused, and their
        frames dropped where the limit says so, until there is room.  Addresses that are held down
        stay so for their old time.  Ports: see `set_port`.
        """
        effects = self.limits.set_bridge(params.fdb_max_learned)
        effects += self.limits.set_vlans(params.policies.vlans)
        self.move_guard.params = params.policies.mac_move
        for port in ports:
            effects += self.set_port(port, params.port(port.name, port.number), now)
        return effects

    # Time

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        return self.move_guard.tick(now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when nothing is."""
        return self.move_guard.next_wakeup()

    # Inside

    def _is_known(self, address: Address) -> bool:
        return self.fdb.get(*address) is not None

    def _installed(self, vid: int, mac: int, entry: Entry, old_port: int) -> list[Effect]:
        """Return the effect that installs a learned address, if the datapath should hold it."""
        port = entry.port
        if not self.forwards(port):
            return []
        kind = InstallSticky if entry.lasts else InstallEntry
        return [kind(port, vid, mac, entry.serial, old_port)]

    def _retype(self, port: int, now: float) -> list[Effect]:
        """Make the learned entries of the port sticky, or no longer sticky."""
        if port not in self.fdb.learned_by_port:
            return []
        effects: list[Effect] = []
        for vid, mac, entry in self.fdb:
            if entry.port == port and entry.was_learned and entry.type is not EntryType.EXTERN:
                entry.type = self._type(port)
                self._renew((vid, mac), entry, now)
                if self.forwards(port):
                    effects += self._installed(vid, mac, entry, NO_PORT)
                elif port not in self._active and not entry.is_sticky:
                    effects += self.forget(vid, mac)  # as an ordinary one would have been
        return effects

    def _type(self, port: int) -> EntryType:
        return EntryType.STICKY if port in self.sticky else EntryType.LEARNED

    def _classify(self, port: int) -> None:
        opens = port in self._active and port not in self._quiet
        (self.open_ports.add if opens else self.open_ports.discard)(port)
        special = port in self.holding or port in self.sticky
        (self._special.add if special else self._special.discard)(port)

    def _renew(self, address: Address, entry: Entry, now: float) -> None:
        self.fdb.renew(*address, entry)
        entry.updated = entry.installed = now
        entry.source_packets = entry.destination_packets = 0

    def _admissible(self, port: int, mac: int) -> bool:
        """Whether an address can be learned there at all; normally the pipeline ensures it."""
        if port not in self.open_ports:
            self.counters["closed_port"] += 1
        elif not mac or is_group(mac):
            self.counters["invalid_source"] += 1
        elif mac in self.local:
            self.counters["own_address"] += 1
        else:
            return True
        return False

    def _adoptable(self, port: int, mac: int, sticky: bool) -> bool:
        """A sticky address may be known on a port that is down."""
        if sticky and port not in self._quiet and mac not in self.local:
            return True
        return self._admissible(port, mac)
