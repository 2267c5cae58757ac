"""IGMP and MLD snooping on a bridge: frames and port states in, entries of the datapath out.

It begins with the first port, LOCAL where there is one: queries need the bridge's address.
Permanent entries stay while it is off.

On a bridge without VLAN configuration every port is in every VLAN. So a VLAN is snooped from the
first message in it, up to a limit for each port, as hosts can invent VIDs. Untagged frames, VLANs
with separate parameters and those with permanent entries are snooped in any case. So are all
configured VLANs where the bridge is querier: it must ask before any host has sent a report there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from ofapp.bridge import multicast
from ofapp.bridge.effects import Effect, LookAgain
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.multicast import (
    ForwardTo,
    SetGroup,
    SetUnregistered,
    Snapshot,
    Snooping,
    TopologyChanges,
    VlanParams,
)
from ofapp.bridge.multicast import SendFrame as SendUntagged
from ofapp.bridge.multicast.events import MCAST_VLANS, MCAST_VLANS_CLEARED
from ofapp.bridge.multicast.permanent_entries import PermanentEntries, PermanentEntry
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.sending import frame_vid, sent, tagged
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState

MAX_VLANS = 256
"""Most VLANs that one port may introduce; a port that invents more harms only itself."""


class SnoopingOnBridge(Protocol[multicast.Params]):
    """The snooping of a bridge, its ports and its permanent entries.

    permanent: the permanent entries of all ports, present or not.
    changes: topology changes.  vlans: those that are snooped.
    fresh: nothing was restored yet, so a switch may have more entries.
    """

    name = "multicast"
    hears = ("snooped",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self.permanent = PermanentEntries()
        self._names: dict[int, str] = {}
        self._begin(None)

    def _begin(self, snooping: Snooping | None) -> None:
        """Start with no state, or stay off with None."""
        self._snooping = snooping
        self.clock = PausableTime()
        self.counters: Counter[str] = Counter()
        self.changes = TopologyChanges()
        self.fresh = True
        self.vlans = {0, *self._state.params.multicast_vlans}
        self._ports: dict[int, bool] = {}  # whether they forward
        self._introduced: dict[int, set[int]] = {}
        self._full: set[int] = set()

    @property
    def runs(self) -> bool:
        """Whether multicast is snooped."""
        return self._snooping is not None

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports with their permanent entries; forget members behind links that are down."""
        new: list[Port] = []
        down: list[int] = []
        for port in ports:
            name = self._names.get(port.number)
            if name is not None and not self._state.usable(port):
                down.append(port.number)
            if name != port.name:
                new.append(port)
                if name is not None:
                    self.permanent.rename(name, port.name)
                self._names[port.number] = port.name
        effects = self._add(new, now) if new else []
        if self._snooping is not None and down:
            effects += self._carry_out(self._snooping.lose_links(down, self.clock.at(now)))
        return effects

    def _add(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports, which take part once they forward, and administer known ones."""
        if self.params is None:
            return []
        if self._snooping is None:
            self._begin(Snooping(self.params, self._state.address))
            assert self._snooping is not None
        at, added = self.clock.at(now), False
        wanted: list[multicast.Effect] = []
        for port in ports:
            params = _port_params(self._state.params.port(port.name, port.number))
            if port.number in self._ports:
                wanted += self._snooping.set_port_params(port.number, params, at)
            else:
                self._ports[port.number], added = False, True
                wanted += self._snooping.add_port(port.number, at, params)
        if added:
            wanted += self._renew_vlans(self._snooping, at)
        effects = self._carry_out(wanted)
        for port in ports:
            for entry in self.permanent.on(port.name):
                effects += self._keep(self._snooping, entry, port.number, now)
        return effects

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports; their permanent entries wait for ports of the same names."""
        names = {number: self._names.pop(number, None) for number in numbers}
        if self._snooping is None:
            return []
        effects: list[Effect] = []
        for number, name in names.items():
            for entry in self.permanent.on(name) if name is not None else ():
                effects += self._unkeep(self._snooping, entry, number, now)
        gone = [port for port in numbers if port in self._ports]
        if not gone:
            return effects
        at = self.clock.at(now)
        for port in gone:
            del self._ports[port]
            self._introduced.pop(port, None)
            self._full.discard(port)
        wanted = self._snooping.remove_ports(gone, at)
        return effects + self._carry_out(wanted + self._renew_vlans(self._snooping, at))

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Apply changed states of ports: whether each forwards, and is an edge."""
        known = {port: state for port, state in states.items() if port in self._ports}
        if self._snooping is None or not known:
            return []
        self._ports.update((port, forwarding) for port, (forwarding, _) in known.items())
        return self._carry_out(self._snooping.set_port_states(known, self.clock.at(now)))

    def change_topology(self, now: float) -> list[Effect]:
        """Send queries: hosts may be behind other ports."""
        if self._snooping is None:
            return []
        at = self.clock.at(now)
        self.changes.hear(at)
        return self._relearn(self._snooping, at)

    # Parameters

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Start, administer or stop snooping.

        A VLAN whose separate parameters are removed stays snooped.
        """
        params, before = self._state.params, change.before
        effects: list[Effect] = []
        if (self.params, params.multicast_vlans) != (before.multicast, before.multicast_vlans):
            if self._snooping is None:
                effects += self._add([*self._state.ports], now)
            elif self.params is None:
                effects += self._close(self._snooping, before, now)
            else:
                at = self.clock.at(now)
                wanted = self._snooping.set_params(self.params, at)
                vids = before.multicast_vlans.keys() | params.multicast_vlans.keys()
                for vid in sorted(vids | self._vlans_to_query()):
                    self.vlans.add(vid)
                    wanted += self._set_vlan(self._snooping, vid, at)
                effects += self._carry_out(wanted)
        for port, was, new in change.ports:
            snooped = _port_params(new)
            if snooped != _port_params(was) and self._snooping is not None:
                at = self.clock.at(now)
                wanted = self._snooping.set_port_params(port.number, snooped, at)
                effects += self._carry_out(wanted)
        if (self.params is None) is not (before.multicast is None):
            effects.append(LookAgain())  # whether the switch has the flows of snooping, or none
        return effects

    def _close(self, snooping: Snooping, before: BridgeParams, now: float) -> list[Effect]:
        """Take every entry out of the datapath, for good: all multicast floods."""
        assert before.multicast is not None
        off = replace(before.multicast, mcast_snooping=False)
        effects = self._carry_out(snooping.set_params(off, self.clock.at(now)))
        self._begin(None)
        return effects

    def apply_policies(self, now: float) -> list[Effect]:
        """Apply changed VLANs of ports."""
        if self._snooping is None:
            return []
        return self._carry_out(self._renew_vlans(self._snooping, self.clock.at(now)))

    def vlan_params(self, vid: int) -> VlanParams | None:
        """The parameters that apply in a VLAN; None where snooping is off."""
        if self._snooping is None or self.params is None:
            return None
        return self._state.params.multicast_vlans.get(vid, self.params.vlan)

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle IGMP, MLD, PIM and MRD frames; only what this returns is forwarded."""
        return [effect for port, frame in frames for effect in self._hear(port, frame, now)]

    def _hear(self, port: int, frame: bytes, now: float) -> list[Effect]:
        policies = self._state.port_policies
        if self._snooping is None:
            flood = self._state.relay.flood_ports  # the switch does not know yet that it is off
            others = flood - {port} if port in flood else frozenset()
            return sent(policies, others, port, frame)
        at, vid = self.clock.at(now), frame_vid(frame)
        effects: list[Effect] = []
        if vid not in self.vlans and not self._admit(self._snooping, vid, port, at, effects):
            known = self._state.ports.get(port)
            if known is None or _port_params(self._state.params.port(known.name, port)).hosts_only:
                return effects
            ports = {number for number, forwards in self._ports.items() if forwards}
            return [*effects, *sent(policies, ports - {port}, port, frame)]
        return effects + self._carry_out(self._snooping.receive(port, vid, frame, at), frame, port)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        if self._snooping is None or not self.clock.runs:
            return []
        at = self.clock.at(now)
        return self._relearn(self._snooping, at) + self._carry_out(self._snooping.tick(at))

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        if self._snooping is None:
            return None
        soonest, change = self._snooping.next_wakeup(), self.changes.next()
        if change < (inf if soonest is None else soonest):
            soonest = change
        return self.clock.due(soonest)

    def beat(self, now: float) -> None:
        """Note that the controller runs."""
        self.clock.beat(now)

    def pause(self, now: float) -> None:
        """Pause while the switch is disconnected."""
        self.clock.pause(now)

    def resume(self, now: float) -> None:
        """Run again: the switch has reconnected."""
        self.clock.resume(now)

    def _relearn(self, snooping: Snooping, at: float) -> list[Effect]:
        """Send queries because of topology changes, if it is time.

        Until the next queries groups that may have moved are not restricted, so a change that has
        to wait cuts no host off.
        """
        ask, wanted = self.changes.run(at)
        if not ask:
            return [*wanted]
        return [*wanted, *self._carry_out(snooping.topology_change(at, self.changes.wait))]

    # Entries

    def restore_entries(
        self,
        groups: list[SetGroup],
        unregistered: list[SetUnregistered],
        now: float,
        further: bool = False,
    ) -> list[Effect]:
        """Take over the entries that a switch had before this controller started; only once.

        further: it is another one of several switches that are this bridge.
        """
        if self._snooping is None or not (self.fresh or further):
            return []
        at = self.clock.at(now)
        self.fresh = False
        effects: list[Effect] = []
        known = {group.vid for group in groups} | {rest.vid for rest in unregistered}
        for vid in sorted(known - self.vlans):
            self.vlans.add(vid)
            effects += self._carry_out(self._set_vlan(self._snooping, vid, at))
        return effects + self._carry_out(self._snooping.restore(groups, unregistered, at))

    def add_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Forward a group to a port for good; InputError."""
        self.permanent.add(entry)
        port = self._state.ports.named(entry.port)
        if self._snooping is None or port is None:
            return []
        return self._keep(self._snooping, entry, port.number, now)

    def remove_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Undo `add_permanent`; InputError."""
        self.permanent.remove(entry)
        port = self._state.ports.named(entry.port)
        if self._snooping is None or port is None:
            return []
        return self._unkeep(self._snooping, entry, port.number, now)

    def _keep(
        self, snooping: Snooping, entry: PermanentEntry, port: int, now: float
    ) -> list[Effect]:
        at = self.clock.at(now)
        vid, group, _, source, exclude, _ = entry
        wanted = snooping.add_permanent(vid, group, port, at, source, exclude)
        return self._carry_out(wanted + self._snoop(snooping, vid, at))

    def _unkeep(
        self, snooping: Snooping, entry: PermanentEntry, port: int, now: float
    ) -> list[Effect]:
        vid, group, _, source, *_ = entry
        wanted = snooping.remove_permanent(vid, group, port, self.clock.at(now), source)
        return self._carry_out(wanted)

    def join(self, entry: PermanentEntry, port: int, now: float) -> tuple[bool, list[Effect]]:
        """Join a port to a group as if a host had done so; whether it is a member now.

        ValueError where the group or a source cannot have an entry.
        """
        if self._snooping is None:
            return False, []
        at = self.clock.at(now)
        vid, group, _, source, exclude, _ = entry
        wanted = self._snoop(self._snooping, vid, at)
        joined, more = self._snooping.join(vid, group, port, at, source, exclude)
        return joined, self._carry_out(wanted + more)

    def forget(
        self,
        now: float,
        vid: int | None = None,
        group: bytes | None = None,
        port: int | None = None,
        source: bytes | None = None,
    ) -> tuple[int, list[Effect]]:
        """Forget members that match all arguments, or that source of theirs; and how many."""
        if self._snooping is None:
            return 0, []
        count, wanted = self._snooping.forget(self.clock.at(now), vid, group, port, source)
        return count, self._carry_out(wanted)

    # Values

    def status(self, now: float) -> Snapshot | None:
        """The state, for display; None where it is off."""
        snooping = self._snooping
        return None if snooping is None else snooping.snapshot(self.clock.at(now))

    def desired(self, params: BridgeParams) -> tuple[SetGroup | SetUnregistered, ...] | None:
        """The entries of the datapath; None where it is off."""
        snooping = None if params.multicast is None else self._snooping
        return None if snooping is None else tuple(snooping.desired())

    # VLANs

    def _renew_vlans(self, snooping: Snooping, at: float) -> list[multicast.Effect]:
        self.vlans |= self._vlans_to_query()
        vids = sorted(self.vlans)
        return [effect for vid in vids for effect in self._set_vlan(snooping, vid, at)]

    def _snoop(self, snooping: Snooping, vid: int, at: float) -> list[multicast.Effect]:
        """Snoop a VLAN where an entry is set, if that is not done yet."""
        if vid in self.vlans:
            return []
        self.vlans.add(vid)
        return self._set_vlan(snooping, vid, at)

    def _vlans_to_query(self) -> frozenset[int]:
        """Configured VLANs in which the bridge's querier asks, with or without hosts."""
        asks = self.params is not None and self.params.vlan.mcast_querier
        return self._state.port_policies.configured - self.vlans if asks else frozenset()

    def _set_vlan(self, snooping: Snooping, vid: int, at: float) -> list[multicast.Effect]:
        policies = self._state.port_policies
        members = [port for port in self._ports if policies.vlans(port).has(vid)]
        return snooping.set_vlan(vid, members, at, self._state.params.multicast_vlans.get(vid))

    def _admit(
        self, snooping: Snooping, vid: int, port: int, at: float, effects: list[Effect]
    ) -> bool:
        """Snoop a VLAN from the first message in it.

        A port that has introduced too many VLANs gives up one without entries, if there is one.
        """
        mine, fixed = self._introduced.setdefault(port, set()), self._state.params.multicast_vlans
        if len(mine) >= MAX_VLANS:
            spare = (old for old in mine if old not in fixed and snooping.is_idle(old))
            idle = next(spare, None)
            if idle is None:
                self.counters["vlans_refused"] += 1
                if port not in self._full:
                    self._full.add(port)
                    effects.append(_too_many(port))
                return False
            mine.discard(idle)
            self.vlans.discard(idle)
            effects += self._carry_out(snooping.remove_vlan(idle, at))
        if port in self._full:
            self._full.discard(port)
            text = PortNumber(port), " has room for VLANs again"
            effects.append(MCAST_VLANS_CLEARED.event(text, port=port))
        mine.add(vid)
        self.vlans.add(vid)
        effects += self._carry_out(self._set_vlan(snooping, vid, at))
        return True

    def _carry_out(
        self, wanted: Iterable[multicast.Effect], frame: bytes = b"", source: int | None = None
    ) -> list[Effect]:
        """Translate effects.  frame: to be forwarded, as inside the bridge; source: its port."""
        policies = self._state.port_policies
        effects: list[Effect] = []
        for effect in wanted:
            if isinstance(effect, ForwardTo):
                effects += sent(policies, effect.ports, source, frame)
            elif isinstance(effect, SendUntagged):
                tagged_frame = tagged(effect.frame, effect.vid)
                effects += sent(policies, effect.ports, None, tagged_frame)
            else:
                effects.append(effect)
        return effects


def _port_params(params: PortParams) -> multicast.PortParams:
    """The parameters of a port's snooping: first-hop security may allow no router there."""
    if params.first_hop.router or params.trust == "learn":
        return params.multicast
    return replace(params.multicast, hosts_only=True)


def _too_many(port: int) -> Event:
    return MCAST_VLANS.event(
        (
            PortNumber(port),
            f" has brought up multicast in {MAX_VLANS} VLANs, the most one port may: "
            "in others it floods",
        ),
        port,
        {"limit": MAX_VLANS},
    )
