"""Copies of bridges with cables between them, in virtual time.

A frame between two bridges takes `delay` seconds, which stands for the path through both
controllers. Effects on a switch are carried out at once. Neighbours that are not ours go on with
the hellos that they sent last, until their link goes down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import ClosePort, Effect, Flush, SendFrame
from ofapp.bridge.event import DEBUG, Event
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.lag.lacp.slow import SLOW_PROTOCOLS_ADDRESS
from ofapp.bridge.packet.ethernet import frame_vid, tagged
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.queries import logical_port, switch_ports
from ofapp.bridge.relay.sending import sent
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.bridge.stp.bpdu import BRIDGE_GROUP_ADDRESS
from ofapp.bridge.twin.cable import Cable, SwitchPort
from ofapp.bridge.twin.copied import Brought
from ofapp.bridge.twin.fabric import LINKS, NOTICED, FabricCopy
from ofapp.bridge.twin.neighbours import ANSWER, Hello, Receivers, member_of

DELAY = 0.002
"""Seconds that a BPDU takes from one bridge to the next: two controllers' paths."""

HEARD = {BRIDGE_GROUP_ADDRESS: "bpdu", SLOW_PROTOCOLS_ADDRESS: "lacp"}
"""Kinds of frames that a bridge hears, by destination address."""

TRAP_HELLOS = 2
"""Hello times without a controller after which a switch forwards BPDUs between its open ports."""

ONCE = 1.0
"""Seconds for which a bridge relays an IGMP or MLD message once: queries are repeated later."""

PORTION = 8
"""Events between two pauses of `TwinNetwork.run`."""


class Change(NamedTuple):
    """A change of a port's state.  old, new: None while its link is down; reason: spanning tree's.

    at: virtual time; port: number of the bridge's port.
    """

    at: float
    datapath_id: int
    port: int
    old: PortState | None
    new: PortState | None
    reason: str


class Flushed(NamedTuple):
    """A port whose learned addresses were flushed."""

    at: float
    datapath_id: int
    port: int


class Logged(NamedTuple):
    """An event that a bridge's log would have."""

    at: float
    datapath_id: int
    event: Event


class Disconnected(NamedTuple):
    """A switch without its controller.  lacp: whether its bridge has run LACP before."""

    since: float
    lacp: bool


class TwinNetwork:
    """Bridges by datapath id, and cables between their switches' ports.

    now: virtual time, in seconds; changes, flushed, events: what has happened since they were
    emptied.
    params: parameters of bridges, with the sections that their copies do not run.
    brought: what hosts have brought to ports of bridges.
    hellos: those of neighbours that are not ours.
    unknown: ports to bridges of other owners that are silent, and not in the network.
    snooped: VLANs with multicast groups that are predicted; left_out: how many are not.
    receivers: hosts that are members of multicast groups.
    coming: (VID, MAC address) of hosts that send as soon as their port forwards.
    fabrics: fabrics, by the datapath id of their bridge.  Their link ports have numbers of it, too.
    """

    def __init__(self, now: float, delay: float = DELAY) -> None:
        self.now = now
        self.bridges: dict[int, Bridge] = {}
        self.params: dict[int, BridgeParams] = {}
        self.brought: dict[int, Brought] = {}
        self.fabrics: dict[int, FabricCopy] = {}
        self.cables: set[Cable] = set()
        self.changes: list[Change] = []
        self.flushed: list[Flushed] = []
        self.events: list[Logged] = []
        self.hellos: list[Hello] = []
        self.unknown: list[SwitchPort] = []
        self.snooped: frozenset[int] = frozenset()
        self.left_out = 0
        self.receivers = Receivers()
        self.coming: dict[SwitchPort, list[tuple[int, int]]] = {}
        self._delay = delay
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._due: dict[int, float] = {}
        self._states: dict[tuple[int, int], PortState] = {}
        self._far: dict[SwitchPort, SwitchPort] = {}
        self._disconnected: dict[int, Disconnected] = {}
        self._passed: dict[tuple[int, bytes], float] = {}
        self._unreported: dict[SwitchPort, bool] = {}

    def close(self) -> None:
        """Forget what is to happen and which trees run: both refer back to what has them."""
        self._events.clear()
        for bridge in self.bridges.values():
            bridge.pause(self.now)

    # Building

    def add(
        self, bridge: Bridge, effects: Iterable[Effect], fabric: FabricCopy | None = None
    ) -> None:
        """Add a bridge that has just been made, with its first effects.  fabric: its fabric."""
        self.bridges[bridge.datapath_id] = bridge
        if fabric is not None:
            self.fabrics[bridge.datapath_id] = fabric
            for each in fabric.cables():
                self.connect(each)
        self.apply(bridge, effects)

    def connect(self, cable: Cable) -> None:
        """Connect two ports that have no cable yet."""
        self.cables.add(cable)
        self._far |= {cable.a: cable.b, cable.b: cable.a}

    def repeat(self, hello: Hello) -> None:
        """Let a neighbour go on with its hellos while its link is up."""
        bridge = self.bridges.get(hello.at.datapath_id)
        port = None if bridge is None else bridge.port_at(hello.at.port)
        if port is None or not port.up or hello.at in self._far:
            return  # it has no link, or another neighbour
        self.arrive(hello.at, hello.frame)
        self._at(self.now + hello.period, partial(self.repeat, hello))

    # Switches

    @property
    def is_changed(self) -> bool:
        """Whether ports have changed, or plans of fabrics: since `changes` was emptied."""
        return bool(self.changes) or any(each.replanned for each in self.fabrics.values())

    def forget(self) -> None:
        """Take note that the changes so far are known."""
        self.changes.clear()
        for fabric in self.fabrics.values():
            fabric.replanned = False

    def switches(self) -> dict[int, int]:
        """Datapath ids of all switches with power, and of the bridge that each is or is part of."""
        alone = {number: number for number in self.bridges if number not in self.fabrics}
        members = ((at, number) for number, each in self.fabrics.items() for at in each.members())
        return {**alone, **dict(members)}

    def switch_at(self, datapath_id: int, port: int) -> int:
        """Datapath id of the switch that has a port of a bridge."""
        fabric = self.fabrics.get(datapath_id)
        return datapath_id if fabric is None else fabric.switch_at(port)

    def forwards(self, datapath_id: int, port: int) -> bool:
        """Whether a port of a bridge forwards."""
        return self._states.get((datapath_id, port)) is PortState.FORWARDING

    # Changes

    def set_link(self, at: SwitchPort, up: bool) -> None:
        """Set the link of one port of a switch up or down; KeyError without such a port."""
        bridge, fabric = self.bridges[at.datapath_id], self.fabrics.get(at.datapath_id)
        port = bridge.port_at(at.port)
        if port is None and at.port < LINKS:
            raise KeyError(at)
        if at.datapath_id in self._disconnected:
            self._unreported[at] = up
        elif fabric is not None:
            self.apply(bridge, fabric.set_link(at.port, up, self.now))
        elif port is not None and port.up is not up:
            self.apply(bridge, bridge.put_port(replace(port, up=up, live=up), self.now))

    def set_links(self, cable: Cable, up: bool) -> None:
        """Set the link at both ends of a cable, as far as their switches are there."""
        for end in cable:
            if end.datapath_id in self.bridges:
                self.set_link(end, up)

    def disconnect(self, cable: Cable) -> None:
        """Take a cable out: both its ends lose their link."""
        self.cables.discard(cable)
        for end in cable:
            self._far.pop(end, None)
        self.set_links(cable, up=False)

    def remove(self, datapath_id: int) -> None:
        """Let a switch lose its power: its bridge, or its part of a fabric, and its cables."""
        owner = self.switches()[datapath_id]
        bridge, fabric = self.bridges[owner], self.fabrics.get(owner)
        ended = [
            each for each in self.cables for end in each if self.switch_at(*end) == datapath_id
        ]
        for key in [key for key in self._states if key[0] == owner]:
            if fabric is None or fabric.is_at(key[1], datapath_id):
                self._note(*key, self._states.pop(key), None, "the switch is off")
        if fabric is None:
            del self.bridges[owner]
            self._disconnected.pop(owner, None)
            bridge.pause(self.now)
            self._due.pop(owner, None)
        else:
            member = fabric.members()[datapath_id]
            fabric.off.add(member)
            self._at(self.now + NOTICED, partial(self._give_up, owner, member))
        for each in ended:
            self.disconnect(each)

    def _give_up(self, datapath_id: int, member: int) -> None:
        """Note that a member of a fabric has been silent for so long that it has no power."""
        effects = self.fabrics[datapath_id].disconnect([member], self.now)
        self.apply(self.bridges[datapath_id], effects)

    def disconnect_switch(self, datapath_id: int, seconds: float) -> None:
        """Disconnect a switch from its controller for a time: it forwards as it did last."""
        bridge = self.bridges[datapath_id]
        fabric = self.fabrics.get(datapath_id)
        self._disconnected[datapath_id] = Disconnected(self.now, bridge.lags.clock.runs)
        if fabric is None:
            bridge.pause(self.now)
        else:
            self.apply(bridge, fabric.disconnect_all(self.now))
        self._at(self.now + seconds, partial(self._reconnect, datapath_id))

    def _reconnect(self, datapath_id: int) -> None:
        """Let a bridge go on, with the links that its ports have by now."""
        former = self._disconnected.pop(datapath_id, None)
        if former is None:
            return  # it has failed meanwhile
        bridge, fabric = self.bridges[datapath_id], self.fabrics.get(datapath_id)
        changed = [at for at in self._unreported if at.datapath_id == datapath_id]
        links = {at.port: self._unreported.pop(at) for at in changed}
        if fabric is not None:
            for effects in fabric.reconnect(links, self.now):
                self.apply(bridge, effects)
            return
        bridge.resume(self.now)
        ports = [
            replace(each, up=up, live=up) if (up := links.get(each.number)) is not None else each
            for each in switch_ports(bridge)
        ]
        self.apply(bridge, bridge.set_ports(ports, self.now))
        running = [bridge.stp, bridge.lags] if former.lacp else [bridge.stp]
        for protocol in running:
            self.apply(bridge, bridge.carry_out(protocol.go_on(self.now), self.now))

    def set_params(self, datapath_id: int, params: BridgeParams) -> None:
        """Apply other parameters to a bridge."""
        bridge = self.bridges[datapath_id]
        self.apply(bridge, bridge.set_params(params, self.now))

    def content(self, datapath_id: int) -> dict[int, Desired]:
        """The desired state of a bridge, as number 0, and of its fabric's members by number.

        A switch without its controller keeps what it had last.
        """
        params, fabric = self.params.get(datapath_id), self.fabrics.get(datapath_id)
        whole = {0: self.bridges[datapath_id].desired(params)}
        return whole if fabric is None else whole | fabric.desired(params)

    def set_fabric(self, datapath_id: int, params: FabricParams) -> None:
        """Apply other parameters to the fabric of a bridge."""
        effects = self.fabrics[datapath_id].fabric.set_params(params, self.now)
        self.apply(self.bridges[datapath_id], effects)

    # Time

    def run(self, until: float) -> Iterator[None]:
        """Let time pass; pauses after each portion of events, and after each instant of changes."""
        work = 0
        while self._events and self._events[0][0] <= until:
            at, _, act = heappop(self._events)
            if at > self.now and self.is_changed:
                yield
            self.now = max(at, self.now)
            act()
            work += 1
            if work % PORTION == 0:
                yield
        self.now = max(until, self.now)
        yield

    def _at(self, instant: float, act: Callable[[], None]) -> None:
        heappush(self._events, (instant, next(self._order), act))

    def _tick(self, datapath_id: int, instant: float) -> None:
        if self._due.get(datapath_id) != instant:
            return  # another instant has replaced this one
        del self._due[datapath_id]
        bridge = self.bridges[datapath_id]
        self.apply(bridge, self.fabrics.get(datapath_id, bridge).tick(self.now))

    # Frames

    def arrive(self, at: SwitchPort, frame: bytes) -> None:
        """Let a BPDU or LACPDU arrive at a port of a switch, if its link is up."""
        bridge = self.bridges.get(at.datapath_id)
        port = None if bridge is None else bridge.port_at(at.port)
        if bridge is not None and at.port >= LINKS:
            if at.datapath_id not in self._disconnected and at in self._far:
                heard = self.fabrics[at.datapath_id].hear(at.port, frame, self.now)
                self.apply(bridge, heard)
            return
        if bridge is None or port is None or not port.up:
            return
        if at.datapath_id in self._disconnected:
            self._pass_on(bridge, at, frame)
            return
        logical, kind = logical_port(bridge, at.port), HEARD.get(frame[:6])
        if kind == "lacp":
            self.apply(bridge, bridge.hear(kind, [(at.port, frame)], self.now))
        elif kind and logical is not None and bridge.stp.traps(logical.number):
            self.apply(bridge, bridge.hear(kind, [(logical.number, frame)], self.now))
        elif not kind and logical is not None:
            self._relay_multicast(bridge, logical.number, frame)

    def _relay_multicast(self, bridge: Bridge, number: int, frame: bytes) -> None:
        """Relay an IGMP or MLD message by snooping, or flood it; in a loop it passes once."""
        vid = bridge.port_policies.vlans(number).classify(frame_vid(frame))
        passed, states = (bridge.datapath_id, frame), bridge.relay.states
        if vid is None or states.get(number) is not PortState.FORWARDING:
            return
        if self.now < self._passed.get(passed, 0.0):
            return
        self._passed[passed] = self.now + ONCE
        inside = frame if frame_vid(frame) else tagged(frame, vid)
        if bridge.multicast.runs:
            effects = bridge.hear("snooped", [(number, inside)], self.now)
        else:
            flood = {port for port, state in states.items() if state is PortState.FORWARDING}
            effects = sent(bridge.port_policies, flood - {number}, number, inside)
        self.apply(bridge, effects)

    def _answer(self, at: SwitchPort, query: bytes) -> None:
        """Let the hosts at a port answer a query."""
        bridge = self.bridges.get(at.datapath_id)
        port = None if bridge is None else logical_port(bridge, at.port)
        if bridge is None or port is None or not port.up or at in self._far:
            return
        if at.datapath_id in self._disconnected:
            return
        vid = bridge.port_policies.vlans(port.number).classify(frame_vid(query))
        for report in self.receivers.reports(at, query, vid):
            self.apply(bridge, bridge.hear("snooped", [(port.number, report)], self.now))

    def _pass_on(self, bridge: Bridge, at: SwitchPort, frame: bytes) -> None:
        """Forward a BPDU as a switch does that has missed its controller for two hello times."""
        missed = self.now - self._disconnected[at.datapath_id].since
        logical, states = logical_port(bridge, at.port), bridge.relay.states
        hello = 2.0 if bridge.params.stp is None else bridge.params.stp.hello_time
        source = None if logical is None else states.get(logical.number)
        if HEARD.get(frame[:6]) != "bpdu" or missed < TRAP_HELLOS * hello or logical is None:
            return
        if source is not PortState.FORWARDING:
            return
        for number, state in states.items():
            member = member_of(bridge, number)
            if state is source and number != logical.number and member is not None:
                self.transmit(SwitchPort(bridge.datapath_id, member), frame)

    def transmit(self, source: SwitchPort, frame: bytes) -> None:
        """Send a frame over the cable at a port of a switch, if there is a cable."""
        far = self._far.get(source)
        if far:
            self._at(self.now + self._delay, partial(self.arrive, far, frame))
        elif source in self.receivers and frame[:6] not in HEARD:
            self._at(self.now + ANSWER, partial(self._answer, source, frame))

    def _send(self, bridge: Bridge, effect: SendFrame) -> None:
        """Send a frame out of ports, and report BPDUs that have left."""
        for number in effect.ports:
            member = number if number >= LINKS else member_of(bridge, number)
            if member is not None:
                self.transmit(SwitchPort(bridge.datapath_id, member), effect.frame)
        if effect.bpdu:
            bridge.stp.bpdus_left([(each, effect.bpdu) for each in effect.ports], self.now)

    # Effects

    def apply(self, bridge: Bridge, effects: Iterable[Effect]) -> None:
        """Carry out effects of a bridge, and note when it wakes up next."""
        datapath_id = bridge.datapath_id
        fabric = self.fabrics.get(datapath_id)
        if fabric is not None:
            effects = fabric.carry_out(effects, self.now)
        for effect in effects:
            if isinstance(effect, SetPortState):
                self._moved(bridge, effect.port, effect.state)
            elif isinstance(effect, ClosePort):
                self._moved(bridge, effect.port, None)
            elif isinstance(effect, SendFrame):
                self._send(bridge, effect)
            elif isinstance(effect, Flush) and effect.port is not None:
                self.flushed.append(Flushed(self.now, datapath_id, effect.port))
            elif isinstance(effect, Event) and effect.severity is not DEBUG:
                self.events.append(Logged(self.now, datapath_id, effect))
        due = (fabric or bridge).next_wakeup()
        if due is not None and due < self._due.get(datapath_id, float("inf")):
            self._due[datapath_id] = due
            self._at(due, partial(self._tick, datapath_id, due))

    def _moved(self, bridge: Bridge, port: int, new: PortState | None) -> None:
        fabric = self.fabrics.get(bridge.datapath_id)
        old = self._states.get((bridge.datapath_id, port))
        if old is new or (fabric is not None and fabric.is_off(port)):
            return
        if new is None:
            del self._states[bridge.datapath_id, port]
        else:
            self._states[bridge.datapath_id, port] = new
        status = bridge.stp.status(self.now, [port]) if bridge.stp.runs else None
        known = status.ports if status is not None else ()
        down = "its link is down" if new is None else "no spanning tree"
        reason = next((each.reason for each in known if new is not None), down)
        self._note(bridge.datapath_id, port, old, new, reason)
        if new is PortState.FORWARDING:
            for vid, mac in self.coming.pop(SwitchPort(bridge.datapath_id, port), ()):
                self.apply(bridge, bridge.first_hop.appear(port, vid, mac, self.now))

    def _note(
        self,
        datapath_id: int,
        port: int,
        old: PortState | None,
        new: PortState | None,
        reason: str,
    ) -> None:
        self.changes.append(Change(self.now, datapath_id, port, old, new, reason))
