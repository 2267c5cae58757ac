"""A fabric in virtual time: switches that carry effects out, cables, hosts and other bridges.

Effects are carried out at once, and confirmed.  Frames are followed through what switches hold.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    NOTICES,
    ClosePort,
    Effect,
    Flush,
    ForFabric,
    InstallDestination,
    InstallEntry,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    RemoveStatic,
    Reprogram,
    SendFrame,
    SetFlood,
)
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import (
    FABRIC_PORT,
    Colour,
    DesiredFabric,
    FlushRemote,
    Part,
    PutRemote,
    RemoveRemote,
    SetFabric,
    SetShared,
)
from ofapp.bridge.event import Event
from ofapp.bridge.fabric.address import PROBE_TYPE
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.member.member import MemberBridge
from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.common.portions import AT_ONCE
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep
from ofapp.openflow.switch.switch_bridge import SwitchBridge

FORWARDING, DISCARDING = PortState.FORWARDING, PortState.DISCARDING
End = tuple[int, int]
"""(member, port of its switch)."""
Host = tuple[int, int]
BPDU = bytes.fromhex("0180c2000000")
GROUP = Any


@dataclass
class Switch:
    """What a member's switch holds, in its port numbers.

    full: it refuses versions that it does not hold.
    off: it has no power, and the controller has not noticed yet.
    """

    number: int
    links: dict[int, bool]
    edges: dict[int, bool]
    connected: bool = False
    full: bool = False
    off: bool = False
    states: dict[int, PortState] = field(default_factory=dict)
    sources: dict[Host, tuple[int, int]] = field(default_factory=dict)  # port, serial
    destinations: dict[Host, tuple[int, int]] = field(default_factory=dict)
    remotes: dict[Host, int] = field(default_factory=dict)
    statics: dict[tuple[int | None, int], int | None] = field(default_factory=dict)
    flooded: frozenset[int] = frozenset()
    lags: dict[int, DesiredLag] = field(default_factory=dict)
    groups: dict[GROUP, frozenset[int] | None] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    use: int | None = None
    fabric: DesiredFabric | None = None
    shared: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.flooded and not self.parts

    def restart(self) -> None:
        """Lose all flows."""
        fresh = Switch(self.number, self.links, self.edges)
        for name in (
            "states",
            "sources",
            "destinations",
            "remotes",
            "statics",
            "groups",
            "parts",
            "lags",
            "shared",
        ):
            setattr(self, name, getattr(fresh, name))
        self.flooded, self.use, self.fabric = frozenset(), None, None

    def ports(self) -> list[Port]:
        local = Port(LOCAL_PORT, "br0", 0x020000000000 | self.number, True)
        links = [
            Port(n, f"eth{n}", 0x020000010000 | self.number << 8 | n, up)
            for n, up in self.links.items()
        ]
        edges = [
            Port(n, f"vnet{n}", 0x020000020000 | self.number << 8 | n, up)
            for n, up in self.edges.items()
        ]
        return [local, *links, *edges]

    def carry_out(self, effect: Effect, view: MemberBridge) -> None:
        match effect:
            case InstallEntry(port, vid, mac, serial):
                self.sources[vid, mac] = self.destinations[vid, mac] = (port, serial)
                self.remotes.pop((vid, mac), None)
            case InstallDestination(port, vid, mac, serial):
                self.destinations[vid, mac] = (port, serial)
                self.remotes.pop((vid, mac), None)
            case RemoveSource(port, vid, mac, serial):
                known = self.sources.get((vid, mac), (0, 0))
                if known[0] == port and serial in (0, known[1]):
                    del self.sources[vid, mac]
            case RemoveDestination(vid, mac, serial):
                if self.destinations.get((vid, mac), (0, 0))[1] == serial:
                    del self.destinations[vid, mac]
            case Flush(port, vid):
                for table in (self.sources, self.destinations):
                    for host in [h for h, (p, _) in table.items() if port in (None, p)]:
                        del table[host]
            case PutRemote(vid, mac, member, moved):
                if not moved or (vid, mac) in self.remotes:
                    self.remotes[vid, mac] = member
                    self.destinations.pop((vid, mac), None)
            case RemoveRemote(vid, mac):
                self.remotes.pop((vid, mac), None)
            case FlushRemote(member):
                for host in [h for h, m in self.remotes.items() if member in (None, m)]:
                    del self.remotes[host]
            case SetPortState(port, state):
                self.states[port] = state
            case ClosePort(port):
                self.states.pop(port, None)
            case SetFlood(ports):
                self.flooded = ports
            case DesiredLag() as lag:
                self.lags[lag.number] = lag
            case PutStatic(mac, vid, port):
                self.statics[vid, mac] = port
            case RemoveStatic(mac, vid):
                self.statics.pop((vid, mac), None)
            case SetGroup() | SetUnregistered():
                self.groups[effect[:-1]] = effect.ports
            case RemoveGroup():
                self.groups.pop(tuple(effect), None)
            case SetFabric(desired):
                self.set_fabric(desired)
            case SetShared(lag, members):
                self.shared.pop(lag, None)
                if members is not None:
                    self.shared[lag] = members
            case Reprogram():
                self.program(view)

    def set_fabric(self, desired: DesiredFabric) -> None:
        content = desired.content
        kept = {version: part for version, part in self.parts.items() if version in content.kept}
        self.parts = kept | dict(content.parts)
        if content.use is not None:
            self.use = content.use
        if content.silent or self.use not in self.parts:
            self.use = None
        self.fabric = desired

    def program(self, view: MemberBridge) -> None:
        """Hold what the view desires, besides learned addresses."""
        desired = view.desired_as_of_now()(AT_ONCE)
        self.states = {
            port.number: port.state
            for port in desired.ports
            if port.number != FABRIC_PORT and port.state is not None
        }
        self.flooded = desired.flooded
        self.statics = {(static.vid, static.mac): static.port for static in desired.statics}
        self.lags = {lag.number: lag for lag in desired.lags}
        if desired.snoops:
            self.groups = {entry[:-1]: entry.ports for entry in desired.entries}
        self.set_fabric(desired.protocols["fabric"])
        self.shared = dict(desired.protocols["fabric"].shared)


class Network:
    """A fabric of members; each has edge ports from 11, and link ports from 1 without those.

    around: other bridges, by the cables to edge ports.
    flow: which of several hops of equal cost frames take.
    """

    def __init__(
        self,
        members: int,
        cables: Iterable[tuple[int, int]],
        params: BridgeParams | None = None,
        edges: int = 2,
    ) -> None:
        self.now = 100.0
        self.bridge_params = params or BridgeParams()
        each = tuple(MemberParams(f"s{at}", at, ("eth*",)) for at in range(1, members + 1))
        self.params = FabricParams("fabric", 7, each)
        self.cables: dict[End, End] = {}
        self.switches = {
            at: Switch(at, {}, {10 + n: True for n in range(1, edges + 1)})
            for at in range(1, members + 1)
        }
        for one, other in cables:
            self.cable(one, other)
        self.stored: str | None = None
        self.around: dict[End, tuple[Bridge, int]] = {}
        self.events: list[Event] = []
        self.frames: deque[tuple[End, bytes]] = deque()
        self.delivered: Counter[End] = Counter()
        self.flow = 0
        self.start()

    def cable(self, one: int, other: int) -> tuple[End, End]:
        ends = []
        for member in (one, other):
            switch = self.switches[member]
            port = next(n for n in count(1) if n not in switch.links and n not in switch.edges)
            switch.links[port] = True
            ends.append((member, port))
        self.cables[ends[0]], self.cables[ends[1]] = ends[1], ends[0]
        return ends[0], ends[1]

    def fabric_number(self, member: int, port: int) -> int:
        """The bridge's number of a member's port."""
        name = f"s{member}/vnet{port}"
        known = self.bridge.ports.named(name)
        assert known is not None
        return known.number

    # The controller

    def start(self) -> None:
        """Start a controller with what an earlier one has stored."""
        stored = None if self.stored is None else json.loads(self.stored)
        shared = SharedState()
        self.bridge = Bridge(1, self.bridge_params, shared)
        self.fabric = Fabric(self.params, self.bridge, OwnAgents(b"a secret key"), stored)
        for switch in self.switches.values():
            switch.connected = False

    def handle(self, effects: Iterable[Effect]) -> None:
        """Carry out effects of the fabric, and what members have to hold then."""
        plain: list[Effect] = []
        for effect in effects:
            if isinstance(effect, ForFabric):
                plain += effect.effects
            else:
                plain.append(effect)
        self.events += [effect for effect in plain if isinstance(effect, Event)]
        for step in self.fabric.steps(plain):
            for member, each in step.items():
                for effect in each:
                    assert type(effect) not in NOTICES
                    self.to_switch(member, effect)
        while changed := self.fabric.contents(self.now):
            self.stored = json.dumps(self.fabric.dump())
            for member, content in changed:
                switch = self.switches[member]
                if switch.off:
                    continue
                if switch.full and not content.parts.keys() <= switch.parts.keys():
                    self.handle(self.fabric.refuse(member, self.now))
                    continue
                self.to_switch(member, self.fabric.fabric_effect(member))
                self.handle(self.fabric.confirm(member, content, self.now))

    def to_switch(self, member: int, effect: Effect) -> None:
        switch = self.switches[member]
        if not switch.connected or switch.off:
            return
        view = self.fabric.view(member)
        if isinstance(effect, SendFrame):
            for port in effect.ports:
                self.frames.append(((member, port), effect.frame))
            if effect.bpdu:
                view.stp.bpdus_left([(port, effect.bpdu) for port in effect.ports], self.now)
        else:
            switch.carry_out(effect, view)

    def connect(self, *members: int) -> None:
        for member in members or self.switches:
            if not self.switches[member].connected:
                self._connect(member)

    def _connect(self, member: int) -> None:
        """What a session and its reconciler do."""
        switch, view = self.switches[member], self.fabric.view(member)
        bridge: SwitchBridge = view
        was_empty = switch.is_empty
        bridge.stp.hear_of_leaving()
        bridge.resume(self.now)
        believed = bridge.stp.states()
        ports = switch.ports()
        self.handle(bridge.remove_ports(bridge.not_among(ports), self.now))
        self.handle(bridge.retain(ports, self.now))
        self.handle(bridge.put_ports(ports, self.now))
        if believed is not None:
            actual = {port: switch.states.get(port, DISCARDING) for port in believed}
            if not bridge.stp.settled_on(believed, actual):
                for effects in bridge.restart_stp(was_empty, lambda: self.now):
                    self.handle(effects)
        groups = [SetGroup(*key, to) for key, to in switch.groups.items() if len(key) == 3]
        rest = [SetUnregistered(*key, to) for key, to in switch.groups.items() if len(key) == 2]
        self.handle(bridge.multicast.restore_entries(groups, rest, self.now))  # type: ignore[arg-type]
        bridge.ports.complete = True
        self.program(member)
        switch.connected = True
        self.handle(bridge.go_on(self.now))
        self.sweep(member, Occasion.RESTARTED if was_empty else Occasion.CONNECTED)

    def program(self, member: int) -> None:
        """Program a member's switch as a whole."""
        self.switches[member].program(self.fabric.view(member))

    def sweep(self, member: int, occasion: Occasion) -> None:
        switch, view = self.switches[member], self.fabric.view(member)
        sweep = Sweep(view, 1, occasion, self.now)
        for (vid, mac), (port, serial) in [*switch.sources.items()]:
            half = HeldHalf(port, vid, mac, serial, 0)
            self._handle_of(member, sweep.source(half, self.now))
        for (vid, mac), (port, serial) in [*switch.destinations.items()]:
            half = HeldHalf(port, vid, mac, serial, 0)
            self._handle_of(member, sweep.destination(half, self.now))
        self._handle_of(member, sweep.finish(self.now))

    def _handle_of(self, member: int, effects: Iterable[Effect]) -> None:
        """Handle effects of a member's session: those that are no notices are for its switch."""
        for effect in effects:
            if isinstance(effect, ForFabric):
                self.handle([effect])
            else:
                self.to_switch(member, effect)

    def disconnect(self, *members: int) -> None:
        for member in members:
            self.switches[member].connected = False
            self.handle(self.fabric.disconnected(member, self.now))

    def power_off(self, member: int, noticed: bool = True) -> None:
        """Switch a member off: it forwards nothing, and its cables have no carrier.

        noticed: its connection ends at once; else `disconnect` ends it.
        """
        switch = self.switches[member]
        switch.restart()
        switch.off = not noticed
        if noticed:
            self.disconnect(member)
        for port in switch.links:
            self.set_link(*self.cables[member, port], up=False)

    def set_link(self, member: int, port: int, up: bool) -> None:
        switch = self.switches[member]
        (switch.links if port in switch.links else switch.edges)[port] = up
        if switch.connected:
            changed = [each for each in switch.ports() if each.number == port]
            self.handle(self.fabric.view(member).put_ports(changed, self.now))

    # Time

    def run(self, seconds: float) -> Network:
        end = self.now + seconds
        self.carry_frames()
        while True:
            bridges = {id(bridge): bridge for bridge, _ in self.around.values()}.values()
            due = [self.fabric.next_wakeup(), *(each.next_wakeup() for each in bridges)]
            soonest = min((at for at in due if at is not None), default=end)
            if soonest > end:
                break
            self.now = max(self.now + 1e-6, soonest)
            self.handle(self.fabric.tick(self.now))
            for bridge in bridges:
                self.handle_around(bridge, bridge.tick(self.now))
            self.carry_frames()
            if self.now >= end:
                break
        self.now = end
        return self

    def carry_frames(self) -> None:
        while self.frames:
            end, frame = self.frames.popleft()
            if end in self.around:
                bridge, port = self.around[end]
                self.handle_around(bridge, bridge.hear("bpdu", [(port, frame)], self.now))
            elif end in self.cables:
                member, port = self.cables[end]
                up = self.switches[member].links[port] and self.switches[end[0]].links[end[1]]
                there = self.switches[member]
                if up and there.connected and not there.off:
                    assert int.from_bytes(frame[12:14], "big") == PROBE_TYPE
                    view = self.fabric.view(member)
                    self.handle(view.hear("probe", [(port, frame)], self.now))

    # Other bridges around

    def attach(self, bridge: Bridge, *ends: End) -> None:
        """Cable the ports of another bridge, from 1, to edge ports of members."""
        for port, end in enumerate(ends, 1):
            self.around[end] = (bridge, port)
        ports = [Port(LOCAL_PORT, "other", bridge.datapath_id, True)]
        ports += [
            Port(n, f"port{n}", bridge.datapath_id + n, True) for n in range(1, len(ends) + 1)
        ]
        self.handle_around(bridge, bridge.set_ports(ports, self.now))
        self.handle_around(bridge, bridge.go_on(self.now))

    def handle_around(self, bridge: Bridge, effects: Iterable[Effect]) -> None:
        ends = {port: end for end, (other, port) in self.around.items() if other is bridge}
        for effect in effects:
            if isinstance(effect, SendFrame):
                for port in effect.ports & ends.keys():
                    member, number = ends[port]
                    if self.switches[member].connected:
                        view = self.fabric.view(member)
                        self.handle(view.hear("bpdu", [(number, effect.frame)], self.now))

    # Frames of hosts

    def send(self, member: int, port: int, src: int, dst: int) -> Counter[End]:
        """Send a frame in at an edge port; returns by which edge ports it leaves, and how often."""
        self.delivered = Counter()
        switch, view = self.switches[member], self.fabric.view(member)
        lags = [lag for lag, each in switch.lags.items() if port in each.collecting]
        port = lags[0] if lags else port
        if switch.states.get(port) is not FORWARDING:
            return self.delivered
        self._forward(switch, port, dst, entered=None)
        if switch.connected and switch.sources.get((0, src), (0, 0))[0] != port:
            self.handle(view.addresses.learn([(port, 0, src)], self.now))
        self.now += 2.0  # more than frames in flight
        return self.delivered

    def _forward(self, switch: Switch, port: int, dst: int, entered: int | None) -> None:
        out = switch.destinations.get((0, dst), (0, 0))[0]
        out = switch.statics.get((0, dst), switch.statics.get((None, dst), out)) or out
        if out:
            self._leave(switch, out, port)
        elif entered is None and (0, dst) in switch.remotes:
            self._cross(switch, switch.remotes[0, dst], dst)
        else:
            if entered is None and switch.connected:
                frame = dst.to_bytes(6, "big") + bytes(8)
                view = self.fabric.view(switch.number)
                heard = view.hear("remote", [(port, frame)], self.now)
            else:
                heard = []
            for to in switch.flooded:
                if to == FABRIC_PORT and entered is None:
                    self._by_tree(switch, dst)
                elif to != FABRIC_PORT and not self._is_shared(switch, to, entered):
                    self._leave(switch, to, port)
            self.handle(heard)

    def _leave(self, switch: Switch, out: int, port: int) -> None:
        if out in (port, FABRIC_PORT) or switch.states.get(out) is not FORWARDING:
            return
        ports = switch.lags[out].distributing if out in switch.lags else (out,)
        if ports:
            self.delivered[switch.number, ports[0]] += 1

    def _is_shared(self, switch: Switch, to: int, entered: int | None) -> bool:
        """Whether another member sends flooded frames of that member to an aggregation."""
        return entered in switch.shared.get(to, ())

    def _cross(self, switch: Switch, to: int, dst: int) -> None:
        """Send around failed links, as the switches do: green, then red or blue."""
        if switch.use is not None and self._arrives(switch.number, to, switch.use):
            self._forward(self.switches[to], FABRIC_PORT, dst, entered=switch.number)

    def _arrives(self, at: int, to: int, version: int) -> bool:
        colour = Colour.GREEN
        while at != to:
            links = self.switches[at].links
            part = self.switches[at].parts.get(version)
            if part is None or to not in part.towards:
                return False
            ways = [*part.towards[to].choices(colour, lambda hop, up=links: up[hop.port])]
            if not ways:
                return False
            colour, hop = ways[self.flow % len(ways)]
            at = hop.member
            if not self._admits(at, hop.entry):
                return False
        return True

    def _admits(self, member: int, port: int) -> bool:
        fabric = self.switches[member].fabric
        return fabric is not None and port in fabric.admitted

    def _by_tree(self, switch: Switch, dst: int) -> None:
        version, root = switch.use, switch.number
        waiting: list[tuple[int, int | None]] = [(root, None)]
        while waiting and version is not None:
            at, entry = waiting.pop()
            part = self.switches[at].parts.get(version)
            branch = part and part.trees.get(root)
            if not branch or branch.entry != entry:
                continue
            if at != root:
                self._forward(self.switches[at], FABRIC_PORT, dst, entered=root)
            for hop in branch.hops:
                if self.switches[at].links[hop.port]:
                    waiting += [(hop.member, hop.entry)] * self._admits(hop.member, hop.entry)
                elif self._arrives(at, hop.member, version):  # a detour to the next member
                    part = self.switches[hop.member].parts.get(version)
                    next_branch = part and part.trees.get(root)
                    waiting += [(hop.member, next_branch.entry)] if next_branch else []
            for leaf in branch.leaves:
                if self._arrives(at, leaf, version):
                    self._forward(self.switches[leaf], FABRIC_PORT, dst, entered=root)


RSTP = BridgeParams(stp=stp.BridgeParams())


def neighbour(address: int, priority: int = 32768) -> Bridge:
    """Return an independent RSTP bridge."""
    params = replace(stp.BridgeParams(), priority=priority)
    return Bridge(address, BridgeParams(stp=params), SharedState())
