"""IGMP and MLD snooping on a bridge: frames and port states in, entries of the datapath out.

It begins with the first port, LOCAL where there is one: queries need the bridge's address.
Permanent entries stay while it is off.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from math import inf

from ofapp.bridge import multicast
from ofapp.bridge.effects import Effect, LookAgain
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
from ofapp.bridge.multicast.permanent_entries import PermanentEntries, PermanentEntry
from ofapp.bridge.multicast.vlans import SnoopedVlans
from ofapp.bridge.packet.ethernet import frame_vid, tagged
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import Port
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.relay.sending import sent
from ofapp.bridge.state import BridgeState


class SnoopingOnBridge(Protocol[multicast.Params]):
    """The snooping of a bridge, its ports and its permanent entries.

    permanent: the permanent entries of all ports, present or not.
    changes: topology changes.
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
        self._snooped = None if snooping is None else SnoopedVlans(snooping, self._state)
        self.clock = PausableTime()
        self.changes = TopologyChanges()
        self.fresh = True

    @property
    def runs(self) -> bool:
        """Whether multicast is snooped."""
        return self._snooped is not None

    @property
    def vlans(self) -> Set[int]:
        """VIDs that are snooped."""
        return frozenset() if self._snooped is None else self._snooped.vids

    @property
    def vlans_refused(self) -> int:
        """Messages in VLANs beyond the limit of their port."""
        return 0 if self._snooped is None else self._snooped.refused

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
        if self._snooped is not None and down:
            effects += self._carry_out(self._snooped.snooping.lose_links(down, self.clock.at(now)))
        return effects

    def _add(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add ports, which are snooped once they forward, and administer known ones."""
        if self.params is None:
            return []
        if self._snooped is None:
            self._begin(Snooping(self.params, self._state.address))
        vlans = self._snooped
        assert vlans is not None
        at, added = self.clock.at(now), False
        wanted: list[multicast.Effect] = []
        for port in ports:
            params = _port_params(self._state.params.port(port.name, port.number))
            if port.number in vlans.ports:
                wanted += vlans.snooping.set_port_params(port.number, params, at)
            else:
                vlans.ports[port.number], added = False, True
                wanted += vlans.snooping.add_port(port.number, at, params)
        if added:
            wanted += vlans.renew(at)
        effects = self._carry_out(wanted)
        for port in ports:
            for entry in self.permanent.on(port.name):
                effects += self._keep(vlans, entry, port.number, now)
        return effects

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports; their permanent entries wait for ports of the same names."""
        names = {number: self._names.pop(number, None) for number in numbers}
        if (vlans := self._snooped) is None:
            return []
        effects: list[Effect] = []
        for number, name in names.items():
            for entry in self.permanent.on(name) if name is not None else ():
                effects += self._unkeep(vlans, entry, number, now)
        gone = [port for port in numbers if port in vlans.ports]
        if not gone:
            return effects
        at = self.clock.at(now)
        vlans.remove_ports(gone)
        wanted = vlans.snooping.remove_ports(gone, at)
        return effects + self._carry_out(wanted + vlans.renew(at))

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Apply changed states of ports: whether each forwards, and is an edge."""
        if (vlans := self._snooped) is None:
            return []
        known = {port: state for port, state in states.items() if port in vlans.ports}
        if not known:
            return []
        vlans.ports.update((port, forwarding) for port, (forwarding, _) in known.items())
        return self._carry_out(vlans.snooping.set_port_states(known, self.clock.at(now)))

    def change_topology(self, now: float) -> list[Effect]:
        """Send queries: hosts may be behind other ports."""
        if self._snooped is None:
            return []
        at = self.clock.at(now)
        self.changes.hear(at)
        return self._relearn(self._snooped.snooping, at)

    # Parameters

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Start, administer or stop snooping.

        A VLAN whose separate parameters are removed stays snooped.
        """
        params, before = self._state.params, change.before
        effects: list[Effect] = []
        if (self.params, params.multicast_vlans) != (before.multicast, before.multicast_vlans):
            if self._snooped is None:
                effects += self._add([*self._state.ports], now)
            elif self.params is None:
                effects += self._close(self._snooped.snooping, before, now)
            else:
                at = self.clock.at(now)
                wanted = self._snooped.snooping.set_params(self.params, at)
                vids = before.multicast_vlans.keys() | params.multicast_vlans.keys()
                effects += self._carry_out(wanted + self._snooped.set_params(vids, at))
        for port, was, new in change.ports:
            snooped = _port_params(new)
            if snooped != _port_params(was) and self._snooped is not None:
                at = self.clock.at(now)
                wanted = self._snooped.snooping.set_port_params(port.number, snooped, at)
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
        if self._snooped is None:
            return []
        return self._carry_out(self._snooped.renew(self.clock.at(now)))

    def vlan_params(self, vid: int) -> VlanParams | None:
        """The parameters that apply in a VLAN; None where snooping is off."""
        if self._snooped is None or self.params is None:
            return None
        return self._state.params.multicast_vlans.get(vid, self.params.vlan)

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle IGMP, MLD, PIM and MRD frames; only what this returns is forwarded."""
        return [effect for port, frame in frames for effect in self._hear(port, frame, now)]

    def _hear(self, port: int, frame: bytes, now: float) -> list[Effect]:
        policies = self._state.port_policies
        if (vlans := self._snooped) is None:
            flood = self._state.relay.flood_ports  # the switch does not know yet that it is off
            others = flood - {port} if port in flood else frozenset()
            return sent(policies, others, port, frame)
        at, vid = self.clock.at(now), frame_vid(frame)
        admitted, wanted = vlans.admit(vid, port, at)
        effects = self._carry_out(wanted)
        if not admitted:
            known = self._state.ports.get(port)
            if known is None or _port_params(self._state.params.port(known.name, port)).hosts_only:
                return effects
            ports = {number for number, forwards in vlans.ports.items() if forwards}
            return [*effects, *sent(policies, ports - {port}, port, frame)]
        return effects + self._carry_out(vlans.snooping.receive(port, vid, frame, at), frame, port)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        if self._snooped is None or not self.clock.runs:
            return []
        at, snooping = self.clock.at(now), self._snooped.snooping
        return self._relearn(snooping, at) + self._carry_out(snooping.tick(at))

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        if self._snooped is None:
            return None
        soonest, change = self._snooped.snooping.next_wakeup(), self.changes.next()
        if change < (inf if soonest is None else soonest):
            soonest = change
        return self.clock.due(soonest)

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
        if self._snooped is None or not (self.fresh or further):
            return []
        at = self.clock.at(now)
        self.fresh = False
        vids = {group.vid for group in groups} | {rest.vid for rest in unregistered}
        effects = self._carry_out(self._snooped.snoop(vids, at))
        return effects + self._carry_out(self._snooped.snooping.restore(groups, unregistered, at))

    def add_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Forward a group to a port for good.  Raises InputError."""
        self.permanent.add(entry)
        port = self._state.ports.named(entry.port)
        if self._snooped is None or port is None:
            return []
        return self._keep(self._snooped, entry, port.number, now)

    def remove_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Undo `add_permanent`.  Raises InputError."""
        self.permanent.remove(entry)
        port = self._state.ports.named(entry.port)
        if self._snooped is None or port is None:
            return []
        return self._unkeep(self._snooped, entry, port.number, now)

    def _keep(
        self, vlans: SnoopedVlans, entry: PermanentEntry, port: int, now: float
    ) -> list[Effect]:
        at = self.clock.at(now)
        vid, group, _, source, exclude, _ = entry
        wanted = vlans.snooping.add_permanent(vid, group, port, at, source, exclude)
        return self._carry_out(wanted + vlans.snoop([vid], at))

    def _unkeep(
        self, vlans: SnoopedVlans, entry: PermanentEntry, port: int, now: float
    ) -> list[Effect]:
        vid, group, _, source, *_ = entry
        wanted = vlans.snooping.remove_permanent(vid, group, port, self.clock.at(now), source)
        return self._carry_out(wanted)

    def join(self, entry: PermanentEntry, port: int, now: float) -> tuple[bool, list[Effect]]:
        """Join a port to a group as if a host had done so; whether it is a member now.

        ValueError where the group or a source cannot have an entry.
        """
        if self._snooped is None:
            return False, []
        at = self.clock.at(now)
        vid, group, _, source, exclude, _ = entry
        wanted = self._snooped.snoop([vid], at)
        joined, more = self._snooped.snooping.join(vid, group, port, at, source, exclude)
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
        if self._snooped is None:
            return 0, []
        count, wanted = self._snooped.snooping.forget(self.clock.at(now), vid, group, port, source)
        return count, self._carry_out(wanted)

    # Values

    def status(self, now: float) -> Snapshot | None:
        """The state, for display; None where it is off."""
        return (
            None if self._snooped is None else self._snooped.snooping.snapshot(self.clock.at(now))
        )

    def desired(self, params: BridgeParams) -> tuple[SetGroup | SetUnregistered, ...] | None:
        """The entries of the datapath; None where it is off."""
        if params.multicast is None or self._snooped is None:
            return None
        return tuple(self._snooped.snooping.desired())

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
