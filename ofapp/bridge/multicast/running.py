"""IGMP and MLD snooping on this bridge: frames and port states in, entries of the datapath out.

On a bridge without VLAN configuration every port is in every VLAN. So a VLAN is snooped from the
first message in it, up to a limit for each port, as hosts can invent VIDs. Untagged frames, VLANs
with separate parameters and those with permanent entries are snooped in any case. So are all
configured VLANs where the bridge is querier: it must ask before any host has sent a report there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf

from ofapp.bridge import multicast
from ofapp.bridge.effects import Effect
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
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.policies import PortPolicies
from ofapp.bridge.ports.sending import frame_vid, sent, tagged

MAX_VLANS = 256
"""Most VLANs that one port may introduce; a port that invents more harms only itself."""


class RunningSnooping:
    """A `Snooping` and its ports.

    vlans: VLANs with separate parameters; mac: the bridge's address, the source of its queries.
    """

    def __init__(
        self,
        params: multicast.Params,
        vlans: Mapping[int, VlanParams],
        mac: int,
        policies: PortPolicies,
    ) -> None:
        self._snooping = Snooping(params, mac)
        self._port_policies = policies
        self.clock = PausableTime()
        self.counters: Counter[str] = Counter()
        self.changes = TopologyChanges()
        """Topology changes."""
        self.fresh = True
        """Nothing was restored yet, so a switch may have more entries."""
        self.vlans = {0, *vlans}
        """The VLANs that are snooped."""
        self._params = params
        self._vlan_params = vlans
        self._ports: dict[int, bool] = {}
        self._introduced: dict[int, set[int]] = {}
        self._full: set[int] = set()

    def put_ports(self, ports: Mapping[int, PortParams], now: float) -> list[Effect]:
        """Add ports, which take part once they forward, and administer known ones."""
        at = self.clock.at(now)
        wanted: list[multicast.Effect] = []
        new = ports.keys() - self._ports.keys()
        for port, params in ports.items():
            if port in new:
                self._ports[port] = False
                wanted += self._snooping.add_port(port, at, params.multicast)
            else:
                wanted += self._snooping.set_port_params(port, params.multicast, at)
        if new:
            wanted += self._renew_vlans(at)
        return self._carry_out(wanted)

    def remove_ports(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Remove ports."""
        gone = [port for port in ports if port in self._ports]
        if not gone:
            return []
        at = self.clock.at(now)
        for port in gone:
            del self._ports[port]
            self._introduced.pop(port, None)
            self._full.discard(port)
        wanted = self._snooping.remove_ports(gone, at)
        return self._carry_out(wanted + self._renew_vlans(at))

    def lose_links(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Forget members behind links that went down: they have to report again."""
        return self._carry_out(self._snooping.lose_links(ports, self.clock.at(now)))

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Set the states of ports by spanning tree: whether they forward, and are edges, with no
        other bridge behind them."""
        known = {port: state for port, state in states.items() if port in self._ports}
        if not known:
            return []
        self._ports.update((port, forwarding) for port, (forwarding, _) in known.items())
        return self._carry_out(self._snooping.set_port_states(known, self.clock.at(now)))

    def set_policies(self, policies: PortPolicies, now: float) -> list[Effect]:
        """Set the policies; the ports' VLANs may have changed."""
        self._port_policies = policies
        return self._carry_out(self._renew_vlans(self.clock.at(now)))

    def topology_change(self, now: float) -> list[Effect]:
        """Relearn quickly after a topology change of spanning tree."""
        at = self.clock.at(now)
        self.changes.hear(at)
        return self._relearn(at)

    def receive(self, port: int, frame: bytes, now: float) -> list[Effect]:
        """An IGMP, MLD, PIM or MRD frame arrived; only what this returns is forwarded."""
        at, vid = self.clock.at(now), frame_vid(frame)
        effects: list[Effect] = []
        if vid not in self.vlans and not self._admit(vid, port, at, effects):
            ports = {number for number, forwards in self._ports.items() if forwards}
            return [*effects, *sent(self._port_policies, ports - {port}, port, frame)]
        return effects + self._carry_out(self._snooping.receive(port, vid, frame, at), frame, port)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        if not self.clock.runs:
            return []
        at = self.clock.at(now)
        return self._relearn(at) + self._carry_out(self._snooping.tick(at))

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        soonest, change = self._snooping.next_wakeup(), self.changes.next()
        if change < (inf if soonest is None else soonest):
            soonest = change
        return self.clock.due(soonest)

    def _relearn(self, at: float) -> list[Effect]:
        """Send queries because of topology changes, if it is time.

        Until the next queries groups that may have moved are not restricted, so a change that has
        to wait cuts no host off.
        """
        ask, wanted = self.changes.run(at)
        if not ask:
            return [*wanted]
        return [*wanted, *self._carry_out(self._snooping.topology_change(at, self.changes.wait))]

    def restore(
        self, groups: list[SetGroup], unregistered: list[SetUnregistered], now: float
    ) -> list[Effect]:
        """Take over the entries that a switch had before this controller started."""
        at = self.clock.at(now)
        self.fresh = False
        effects: list[Effect] = []
        known = {group.vid for group in groups} | {rest.vid for rest in unregistered}
        for vid in sorted(known - self.vlans):
            self.vlans.add(vid)
            effects += self._carry_out(self._set_vlan(vid, at))
        return effects + self._carry_out(self._snooping.restore(groups, unregistered, at))

    def set_params(
        self, params: multicast.Params, vlans: Mapping[int, VlanParams], now: float
    ) -> list[Effect]:
        """Administer the bridge; a VLAN whose separate parameters are removed stays snooped."""
        at = self.clock.at(now)
        before, self._params, self._vlan_params = self._vlan_params, params, vlans
        wanted = self._snooping.set_params(params, at)
        for vid in sorted(before.keys() | vlans.keys() | self._vlans_to_query()):
            self.vlans.add(vid)
            wanted += self._set_vlan(vid, at)
        return self._carry_out(wanted)

    def close(self, now: float) -> list[Effect]:
        """Take every entry out of the datapath, for good: all multicast floods."""
        off = replace(self._params, mcast_snooping=False)
        return self._carry_out(self._snooping.set_params(off, self.clock.at(now)))

    def set_port_params(self, port: int, params: multicast.PortParams, now: float) -> list[Effect]:
        """Administer a port; KeyError for an unknown one."""
        return self._carry_out(self._snooping.set_port_params(port, params, self.clock.at(now)))

    def add_permanent(self, entry: PermanentEntry, port: int, now: float) -> list[Effect]:
        """Forward a group to a port for good; ValueError."""
        at = self.clock.at(now)
        vid, group, _, source, exclude, _ = entry
        wanted = self._snooping.add_permanent(vid, group, port, at, source, exclude)
        return self._carry_out(wanted + self._begin(vid, at))

    def remove_permanent(self, entry: PermanentEntry, port: int, now: float) -> list[Effect]:
        """Undo `add_permanent`; KeyError."""
        vid, group, _, source, *_ = entry
        wanted = self._snooping.remove_permanent(vid, group, port, self.clock.at(now), source)
        return self._carry_out(wanted)

    def join(self, entry: PermanentEntry, port: int, now: float) -> tuple[bool, list[Effect]]:
        """Join as if a host at the port had done so; whether it is a member now.  ValueError."""
        at = self.clock.at(now)
        vid, group, _, source, exclude, _ = entry
        wanted = self._begin(vid, at)
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
        count, wanted = self._snooping.forget(self.clock.at(now), vid, group, port, source)
        return count, self._carry_out(wanted)

    def snapshot(self, now: float) -> Snapshot:
        """The state, for display."""
        return self._snooping.snapshot(self.clock.at(now))

    def vlan_params(self, vid: int) -> VlanParams:
        """The parameters that apply in a VLAN."""
        return self._vlan_params.get(vid, self._params.vlan)

    def desired(self) -> list[SetGroup | SetUnregistered]:
        """All that the datapath should hold."""
        return self._snooping.desired()

    def _renew_vlans(self, at: float) -> list[multicast.Effect]:
        self.vlans |= self._vlans_to_query()
        return [effect for vid in sorted(self.vlans) for effect in self._set_vlan(vid, at)]

    def _begin(self, vid: int, at: float) -> list[multicast.Effect]:
        """Snoop a VLAN where an entry is set, if that is not done yet."""
        if vid in self.vlans:
            return []
        self.vlans.add(vid)
        return self._set_vlan(vid, at)

    def _vlans_to_query(self) -> frozenset[int]:
        """Configured VLANs in which the bridge's querier asks, with or without hosts."""
        asks = self._params.vlan.mcast_querier
        return self._port_policies.configured - self.vlans if asks else frozenset()

    def _set_vlan(self, vid: int, at: float) -> list[multicast.Effect]:
        members = [port for port in self._ports if self._port_policies.vlans(port).has(vid)]
        return self._snooping.set_vlan(vid, members, at, self._vlan_params.get(vid))

    def _admit(self, vid: int, port: int, at: float, effects: list[Effect]) -> bool:
        """Snoop a VLAN from the first message in it.

        A port that has introduced too many VLANs gives up one without entries, if there is one.
        """
        mine = self._introduced.setdefault(port, set())
        if len(mine) >= MAX_VLANS:
            idle = next(
                (
                    old
                    for old in mine
                    if old not in self._vlan_params and self._snooping.is_idle(old)
                ),
                None,
            )
            if idle is None:
                self.counters["vlans_refused"] += 1
                if port not in self._full:
                    self._full.add(port)
                    effects.append(_too_many(port))
                return False
            mine.discard(idle)
            self.vlans.discard(idle)
            effects += self._carry_out(self._snooping.remove_vlan(idle, at))
        if port in self._full:
            self._full.discard(port)
            effects.append(
                MCAST_VLANS_CLEARED.event(
                    (PortNumber(port), " has room for VLANs again"), port=port
                )
            )
        mine.add(vid)
        self.vlans.add(vid)
        effects += self._carry_out(self._set_vlan(vid, at))
        return True

    def _carry_out(
        self, wanted: Iterable[multicast.Effect], frame: bytes = b"", source: int | None = None
    ) -> list[Effect]:
        """Translate effects.  frame: to be forwarded, as inside the bridge; source: its port."""
        effects: list[Effect] = []
        for effect in wanted:
            if isinstance(effect, ForwardTo):
                effects += sent(self._port_policies, effect.ports, source, frame)
            elif isinstance(effect, SendUntagged):
                own = tagged(effect.frame, effect.vid)
                effects += sent(self._port_policies, effect.ports, None, own)
            else:
                effects.append(effect)
        return effects


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
