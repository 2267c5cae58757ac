"""The switches of one controller in virtual time: they hold what they were last told.

Beside `topology.Network`, where effects take effect at once, everything here takes its time: the
controller handles one thing after the other, messages to a switch and back are under way, a
switch carries them out in order.  The controller can be killed at any moment: what it had not yet
sent is lost, and of what was under way each switch gets as much as it happens to.  It comes back
with what is on its disk, the switches connect again one by one, and each is brought in line.

A loop is looked for in what the switches hold, whenever one of them opens a port.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import math
import random
from collections.abc import Callable, Mapping
from functools import partial

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, ClosePort, Effect, SendFrame
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import OwnTrees, PortState, SetPortState
from ofapp.controller.bridges.absentees import Absentees
from ofapp.controller.state.protocols import SPANNING_TREE, StateWriter
from tests.unit.bridge.changes import changed, reaction
from tests.unit.bridge.stp.fabric_switch import Cable, Delays, Disk, Session, Switch

FORWARDING = PortState.FORWARDING


class Fabric:
    """`cables`: pairs of switch numbers."""

    def __init__(
        self, cables: list[tuple[int, int]], seed: int = 0, delays: Delays | None = None
    ) -> None:
        self.now = 0.0
        self.random = random.Random(seed)
        self.delays = delays or Delays()
        self.switches: dict[int, Switch] = {}
        self.cables: list[Cable] = []
        self.bridges: dict[int, Bridge] = {}
        self.sessions: dict[int, Session] = {}
        self.trees = OwnTrees()
        self.disk = Disk()
        self.alive = False
        self.life = 0  # of the controller: nothing of an earlier one happens any more
        self.loops: list[tuple[float, str]] = []
        self.looping_since: float | None = None
        self.looped = 0.0
        self.anew: list[int] = []
        self.log: list[tuple[float, int, str]] = []
        self.last_change = 0.0
        self.work_until = 0.0
        self.worst_backlog = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = itertools.count()
        for one, other in cables:
            ends = []
            for number in (one, other):
                switch = self.switches.setdefault(number, Switch(number))
                ends.append((number, len(switch.cables) + 1))
                switch.cables[len(switch.cables) + 1] = None  # type: ignore[assignment]
            cable = Cable((ends[0], ends[1]))
            self.cables.append(cable)
            for number, port in ends:
                self.switches[number].cables[port] = cable
                self.switches[number].links[port] = True

    # -- time ------------------------------------------------------------------------------------

    def at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (when, next(self._sequence), what))

    def delay(self, kind: str) -> float:
        return self.random.uniform(*getattr(self.delays, kind))

    def run(self, seconds: float) -> Fabric:
        end = self.now + seconds
        while self._heap and self._heap[0][0] <= end:
            self.now, _, what = heapq.heappop(self._heap)
            what()
        self.now = end
        return self

    def work(self, what: Callable[[], None], kind: str = "work") -> None:
        """Have the controller do something when it has done all it has to do before."""
        life = self.life
        self.work_until = max(self.work_until, self.now) + self.delay(kind)
        self.worst_backlog = max(self.worst_backlog, self.work_until - self.now)

        def do() -> None:
            if self.alive and self.life == life:
                what()

        self.at(self.work_until, do)

    # -- the channel -----------------------------------------------------------------------------

    def _arrival(self, switch: Switch) -> float:
        kind = "slow" if self.random.random() < 0.05 else "channel"
        switch.free_at = max(switch.free_at, switch.stalled_until, self.now) + self.delay(kind) / 2
        return switch.free_at

    def to_switch(self, session: Session, what: Callable[[], None]) -> None:
        when = self._arrival(session.switch)

        def do() -> None:
            if when < session.cut_at:
                what()

        self.at(when, do)

    def _heard(self, switch: Switch) -> float:
        """When the controller hears what a switch says now: in order, too."""
        switch.heard_at = max(switch.heard_at, self.now + self.delay("channel"))
        return switch.heard_at

    def do(self, session: Session, what: Callable[[], None]) -> None:
        if self.alive and session.switch.session is session:
            what()

    def to_controller(self, session: Session, what: Callable[[], None]) -> None:
        def arrived() -> None:
            if self.alive and session.switch.session is session:
                self.work(what)

        self.at(self._heard(session.switch), arrived)

    # -- the switch ------------------------------------------------------------------------------

    def carry_out(self, switch: Switch, effect: Effect, sent: float) -> None:
        if isinstance(effect, SetPortState):
            switch.held[effect.port] = effect.state
            self.log.append((self.now, switch.number, f"{effect.port} {effect.state.value}"))
            self._changing(switch, effect.port, sent)
        elif isinstance(effect, ClosePort):
            switch.held.pop(effect.port, None)
            self.log.append((self.now, switch.number, f"{effect.port} closed"))
            self._changing(switch, effect.port, sent)
        elif isinstance(effect, SendFrame):
            for port in effect.ports:
                self._transmit(switch, port, effect.frame)

    def _changing(self, switch: Switch, port: int, sent: float) -> None:
        """What opens, opens at once; what closes lingers in a cache, longer if all is late."""
        late = self.random.uniform(0, 1.5) * (self.now - sent) + self.random.uniform(0, 0.0005)

        def follow() -> None:
            if switch.held.get(port) is FORWARDING:
                switch.passing.add(port)
            else:
                switch.passing.discard(port)
            self._changed(switch, port)

        if switch.held.get(port) is FORWARDING:
            follow()
        else:
            self.at(self.now + late, follow)

    def _transmit(self, switch: Switch, port: int, frame: bytes) -> None:
        cable = switch.cables[port]
        if cable.up:
            number, there = cable.other((switch.number, port))
            self.at(self.now + self.delay("link"), lambda: self._arrive(number, there, frame))

    def _arrive(self, number: int, port: int, frame: bytes) -> None:
        switch = self.switches.get(number)
        if switch is None or not switch.cables[port].up:
            return
        session = switch.session
        if switch.stalled_from + 4 < self.now < switch.stalled_until:
            session = None  # its traps have ended, and no process could renew them
        if session is not None:
            self.at(self._heard(switch), lambda: self._came_in(session, port, frame))
        elif (
            self.now > max(switch.trapped_until, switch.stalled_from + 4) and port in switch.passing
        ):
            for other in sorted(switch.passing):
                if other != port:
                    self._transmit(switch, other, frame)

    def _came_in(self, session: Session, port: int, frame: bytes) -> None:
        """What came while the controller was busy is heard together."""
        session.inbox.append((port, frame))
        if len(session.inbox) == 1 and self.alive:
            self.work(lambda: self._bpdus(session))

    def _bpdus(self, session: Session) -> None:
        frames, session.inbox = session.inbox, []
        if session.switch.session is session:
            session.apply(session.bridge.hear("bpdu", frames, self.now))

    def add_host(self, number: int) -> None:
        """A port without a bridge behind it that speaks spanning tree."""
        switch = self.switches[number]
        port = len(switch.cables) + 1
        switch.cables[port] = Cable(((number, port), (0, 0)))
        switch.links[port] = True
        session = switch.session
        assert session is not None
        self.to_controller(session, lambda: self._port_status(session, port, True))

    def cut(self, cable: Cable) -> None:
        self._set_link(cable, False)

    def restore(self, cable: Cable) -> None:
        self._set_link(cable, True)

    def _set_link(self, cable: Cable, up: bool) -> None:
        cable.up = up
        if up:
            self._check()
        else:
            self._check_over()
        for number, port in cable.ends:
            switch = self.switches[number]

            def notice(switch: Switch = switch, port: int = port) -> None:
                switch.links[port] = up
                session = switch.session
                if session is not None:
                    self.to_controller(session, lambda: self._port_status(session, port, up))

            seen = max(switch.seen.get(port, 0.0), self.now + self.delay("carrier"))
            switch.seen[port] = seen
            self.at(seen, notice)

    def _port_status(self, session: Session, port: int, up: bool) -> None:
        session.apply(session.bridge.put_port(self._port(session.switch, port, up), self.now))

    def _port(self, switch: Switch, port: int, up: bool) -> Port:
        return Port(port, f"s{switch.number}p{port}", switch.number << 16 | port, up, 1000)

    # -- the controller ----------------------------------------------------------------------------

    def start(self, spread: float = 0.1, later: Mapping[int, float] | None = None) -> Fabric:
        """later: the switches that connect after so many seconds."""
        self.alive = True
        self.work_until = self.now
        self.bridges, self.sessions, self.trees = {}, {}, OwnTrees(self.life << 12)
        self.absentees = Absentees(self.bridges, self._apply, self.disk.texts, self.now)
        self.memory = StateWriter(self.disk, self.bridges, self.sessions)  # type: ignore[arg-type]
        self._keep(self.life)
        for switch in self.switches.values():
            wait = (later or {}).get(switch.number, self.random.uniform(0, spread))
            self.at(self.now + wait, partial(self.connect, switch))
        return self

    def kill(self) -> None:
        self.alive = False
        self.life += 1
        for session in self.sessions.values():
            self._end(session)

    def _end(self, session: Session) -> None:
        """The end of a connection: of what is under way some arrives, in order."""
        switch = session.switch
        switch.session = None
        switch.trapped_until = self.now + self.random.uniform(3, 4)
        session.cut_at = self.now + self.random.choice((0.0, 0.001, 0.01, 1.0))

    def restart(self) -> None:
        self.start(self.delays.connect[1])

    def stall(self, number: int, seconds: float) -> None:
        """Let a switch carry out nothing for a while; it forwards, and tells what arrives."""
        switch = self.switches[number]
        if switch.stalled_until <= self.now:
            switch.stalled_from = self.now
        switch.stalled_until = max(switch.stalled_until, self.now + seconds)

    def prioritise(self, number: int, priority: int) -> None:
        """Administer a bridge's priority, as the file has it from now on."""
        switch = self.switches[number]
        switch.params = BridgeParams(stp=StpParams(priority=priority))
        bridge = self.bridges.get(number)
        if bridge is not None and self.alive:
            self._apply(bridge, reaction(bridge, changed(bridge, stp=switch.params.stp), self.now))

    def disconnect(self, number: int, seconds: float) -> None:
        """End a switch's connection; it connects again after a while."""
        switch, session = self.switches[number], self.sessions.pop(number, None)
        if session is None or not self.alive:
            return
        self._end(session)
        session.bridge.pause(self.now)
        self.absentees.gone(session.bridge, self.now)
        life = self.life
        if seconds < math.inf:
            self.at(self.now + seconds, lambda: self.life == life and self.connect(switch))

    def delete(self, number: int) -> None:
        """Delete a bridge in its switch, with all that it holds; the cables stay."""
        switch = self.switches[number]
        switch.links.clear()
        switch.held.clear()
        switch.passing.clear()
        self.disconnect(number, math.inf)
        switch.trapped_until = 0.0

    def make(self, number: int) -> None:
        """Make it again with the same datapath id: its address is another one, it has no ports."""
        switch = self.switches[number]
        switch.made += 1
        self.connect(switch)

    def plug(self, number: int, port: int) -> None:
        """Make a cable's end a port of the bridge."""
        switch, session = self.switches[number], self.switches[number].session
        switch.links[port] = True
        if session is not None:
            self.to_controller(session, lambda: self._port_status(session, port, True))

    def connect(self, switch: Switch) -> None:
        if not self.alive or switch.session is not None:
            return
        bridge = self.bridges.get(switch.number)
        if bridge is None:
            bridge = self.bridges[switch.number] = Bridge(
                switch.number, switch.params, SharedState(self.trees)
            )
            self.absentees.greet(bridge, self.now)
            bridge.stp.set_trace(False)
            if switch.number in self.disk.texts:
                with contextlib.suppress(ValueError):
                    bridge.stp.restore(self.disk.load(switch.number))
        session = switch.session = self.sessions[switch.number] = Session(self, switch, bridge)
        bridge.resume(self.now)
        self.to_switch(session, lambda: self.to_controller(session, lambda: self._look(session)))

    def _look(self, session: Session) -> None:
        """Ask for the ports; then for the flows."""
        switch, bridge = session.switch, session.bridge
        believed = bridge.stp.states() if bridge.stp.settled else None
        fresh = not bridge.stp.runs
        address = 0x020000000000 + (switch.made << 16) + switch.number
        local = Port(LOCAL_PORT, f"br{switch.number}", address, True)
        ports = [self._port(switch, port, up) for port, up in switch.links.items()]
        session.apply(bridge.set_ports([local, *ports], self.now))

        def answer() -> None:
            held = dict(switch.held)
            self.to_controller(
                session,
                lambda: self.work(lambda: self._mend(session, fresh, believed, held), "mend"),
            )

        self.to_switch(session, answer)

    def _mend(
        self,
        session: Session,
        fresh: bool,
        believed: dict[int, PortState] | None,
        held: dict[int, PortState],
    ) -> None:
        switch, bridge = session.switch, session.bridge
        if switch.session is not session:
            return
        if fresh:
            pass
        elif believed is None or believed != {
            port: held.get(port, PortState.DISCARDING) for port in believed
        }:
            self.anew.append(switch.number)
            for effects in bridge.restart_stp(not held, lambda: self.now):
                session.apply(effects)
        wanted = dict(bridge.relay.states)
        wanted.pop(LOCAL_PORT, None)
        session.writes = True
        for port in held.keys() - wanted.keys():
            session.send([ClosePort(port)])
        for port, state in sorted(wanted.items(), key=lambda item: item[1] is FORWARDING):
            if held.get(port) is not state:
                session.send([SetPortState(port, state)])
        unsent, session.unsent = session.unsent, []
        session.apply([Barrier(), *unsent, *bridge.go_on(self.now)])
        self.absentees.back(bridge, self.now)

    def _apply(self, bridge: Bridge, effects: list[Effect]) -> None:
        session = self.sessions.get(bridge.datapath_id)
        if session is not None:
            session.apply(effects)

    def set_timer(self, session: Session) -> None:
        due = session.bridge.next_wakeup()
        if due is None or due == session.wake:
            return
        session.wake = due
        life = self.life

        def tick() -> None:
            if session.wake == due and self.life == life and self.alive:
                self.work(lambda: self._tick(session))

        self.at(max(due, self.now), tick)

    def _tick(self, session: Session) -> None:
        session.wake = None
        if session.switch.session is session:
            session.apply(session.bridge.tick(self.now))

    def _keep(self, life: int) -> None:
        if self.life == life and self.alive:
            self.memory.check()
            self.at(self.now + SPANNING_TREE.delay, lambda: self.work(lambda: self._keep(life)))

    # -- loops -----------------------------------------------------------------------------------

    def _open(self, number: int, port: int) -> bool:
        switch = self.switches.get(number)
        return switch is not None and switch.cables[port].up and port in switch.passing

    def _passes(self, cable: Cable) -> bool:
        return all(self._open(*end) for end in cable.ends)

    def _changed(self, switch: Switch, port: int) -> None:
        self.last_change = self.now
        if port in switch.passing and self.looping_since is None:
            if self._passes(switch.cables[port]):
                self._check()
        else:
            self._check_over()

    def _check_over(self) -> None:
        if self.looping_since is not None and not self.cycle():
            self.looped = max(self.looped, self.now - self.looping_since)
            self.looping_since = None

    def _check(self) -> None:
        if self.looping_since is None and (cycle := self.cycle()):
            self.looping_since = self.now
            self.loops.append((self.now, cycle))

    def cycle(self) -> str:
        """A cable that closes a cycle of forwarding ports; empty when there is none."""
        parent: dict[int, int] = {}

        def find(x: int) -> int:
            while parent.setdefault(x, x) != x:
                parent[x] = parent[parent[x]]
                x = parent[x]
            return x

        for cable in self.cables:
            if self._passes(cable):
                one, other = (find(end[0]) for end in cable.ends)
                if one == other:
                    return f"{cable.ends}"
                parent[one] = other
        return ""

    def settled(self) -> bool:
        """Whether every tree is written down."""
        return all("tree" in json.loads(text) for text in self.disk.texts.values())

    def whole(self) -> bool:
        """Whether the forwarding ports reach what the cables that are up reach."""

        def parts(passes: Callable[[Cable], bool]) -> int:
            left = set(self.switches)
            count = 0
            while left:
                count += 1
                todo = [left.pop()]
                while todo:
                    here = self.switches[todo.pop()]
                    for port, cable in here.cables.items():
                        there = cable.other((here.number, port))[0]
                        if passes(cable) and there in left:
                            left.discard(there)
                            todo.append(there)
            return count

        return parts(self._passes) == parts(lambda cable: cable.up)
