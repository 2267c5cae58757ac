"""A network of spanning trees in virtual time, and a small language to write one down.

    A B=4096 C          bridges; a priority after "=", else 32768; addresses in order of naming
    A.1 - B.1           a point-to-point link between port 1 of A and port 1 of B
    A.2 - C.1 cost=5    its path cost on all its ports; also delay=0.001 (seconds)
    A.3 = B.3 = C.3     a shared segment
    A.4 @               a port whose frames come back to it
    A.5 !               a port without a neighbour

What the simulator takes for granted: frames on one LAN arrive in order and none is lost while the
LAN is up at both ends; delays are far below the hello time; effects take effect at once, one after
another.  The data plane is looked at after every single effect: a loop is a cycle of bridges and
LANs through ports that forward at that instant.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ofapp.bridge.event import Event
from ofapp.bridge.stp import (
    BridgeParams,
    Effect,
    FlushPort,
    Link,
    PortParams,
    PortRole,
    PortState,
    SendBpdu,
    SetPortState,
    SpanningTree,
    path_cost,
)
from ofapp.bridge.stp.bpdu import BpduType
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import PointToPoint
from tests.unit.bridge.stp.lans import Bridge, Lan, LoopError

DELAY = 0.0001


class Network:
    """Bridges, LANs and a clock. `seed` shuffles start-up and link detection times."""

    def __init__(self, text: str = "", seed: int | None = None, **defaults: object) -> None:
        self.now = 0.0
        self.own = OwnTrees()
        self.bridges: dict[str, Bridge] = {}
        self.lans: list[Lan] = []
        self.events: list[Event] = []
        self.keep_events = False
        self.frames: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.flushed: list[tuple[float, str, int]] = []
        self.changes: list[tuple[float, str, int, PortState]] = []
        self.steps = 0
        self.last_change = 0.0
        self.defaults = defaults
        self.random = None if seed is None else random.Random(seed)
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = itertools.count()
        self._noticed: dict[tuple[str, int], float] = {}
        for line in text.splitlines():
            self._parse(line.split("#")[0].split())

    # -- the language ----------------------------------------------------------------------------

    def _parse(self, words: list[str]) -> None:
        if not words:
            return
        options = dict(w.split("=") for w in words if w.startswith(("cost=", "delay=")))
        ports = [w for w in words if "." in w and "=" not in w]
        if not ports:
            for word in words:
                name, _, priority = word.partition("=")
                self.add_bridge(name, priority=int(priority or 32768))
            return
        self.add_lan(
            [(w.split(".")[0], int(w.split(".")[1])) for w in ports],
            shared="=" in words,
            loopback="@" in words,
            delay=float(options.get("delay", DELAY)),
            cost=int(options["cost"]) if "cost" in options else None,
        )

    def add_bridge(
        self, name: str, *, legacy: bool = False, foreign: bool = False, **params: object
    ) -> Bridge:
        """legacy: an 802.1D-1998 bridge, which knows nothing of RST BPDUs.

        foreign: not one of the controller whose bridges all the others are.
        """
        merged = {**self.defaults, **params}
        if legacy:
            merged["force_version"] = 0
        bridge = Bridge(
            name,
            BridgeParams(**merged),  # type: ignore[arg-type]
            0x0200_0000_0000 + len(self.bridges) + 1,
            legacy,
            foreign or legacy,
        )
        self.bridges[name] = bridge
        return bridge

    def add_lan(
        self,
        members: list[tuple[str, int]],
        *,
        shared: bool = False,
        loopback: bool = False,
        delay: float = DELAY,
        cost: int | None = None,
        params: PortParams | None = None,
    ) -> Lan:
        lan = Lan(f"lan{len(self.lans)}", shared, delay, loopback, members=members)
        self.lans.append(lan)
        for name, number in members:
            bridge = self.bridges[name]
            bridge.lans[number] = lan
            bridge.port_params[number] = params or PortParams(
                path_cost=cost,
                point_to_point=PointToPoint.FORCE_FALSE if shared else PointToPoint.AUTO,
            )
        return lan

    def lan(self, port: str) -> Lan:
        """The LAN of a port written as ``A.1``."""
        name, number = port.split(".")
        return self.bridges[name].lans[int(number)]

    # -- things that happen -----------------------------------------------------------------------

    def start(self, spread: float = 0.0) -> Network:
        """Switch every bridge on, `spread` seconds apart at most; returns the network."""
        for bridge in self.bridges.values():
            self.at(self.now + self._jitter(spread), lambda b=bridge: self.boot(b.name))
        return self

    def boot(self, name: str) -> None:
        """Switch a bridge on: it knows nothing, and its ports come up."""
        bridge = self.bridges[name]
        bridge.alive = True
        own = None if bridge.foreign else self.own
        bridge.tree = SpanningTree(bridge.params, bridge.address, own)
        bridge.tree.join()
        bridge.tree.trace = self.keep_events
        bridge.states = {}
        bridge.linked = {}
        for lan in bridge.lans.values():
            self._detect(lan)
        for number, lan in bridge.lans.items():
            bridge.linked[number] = self._carrier(lan)
            self.act(
                name,
                lambda t, n=number: t.add_port(
                    n,
                    bridge.port_params[n],
                    Link(bridge.linked[n], full_duplex=not bridge.lans[n].shared),
                    self.now,
                ),
            )

    def kill(self, name: str) -> None:
        """Switch a bridge off: nothing passes through it, point-to-point neighbours see that."""
        bridge = self.bridges[name]
        if not bridge.alive:
            return
        bridge.alive = False
        if bridge.tree is not None:
            bridge.tree.leave()
        bridge.tree = None
        bridge.states = {}
        bridge.linked = {}
        for lan in bridge.lans.values():
            self._detect(lan)

    def vanish(self, name: str) -> None:
        """Switch a bridge off while the links to it stay up: neighbours see only its silence."""
        bridge = self.bridges[name]
        assert bridge.tree is not None
        bridge.tree.leave()
        bridge.alive = False
        bridge.tree = None
        bridge.states = {}

    def cut(self, lan: Lan) -> None:
        if lan.up:
            lan.up = False
            self._detect(lan)

    def mend(self, lan: Lan) -> None:
        if not lan.up:
            lan.up = True
            # this opens paths at once, should ports still think that they are up
            self.check_loops()
            self._detect(lan)

    def administer(self, name: str, **changes: object) -> None:
        """Change parameters of a bridge, running or not."""
        bridge = self.bridges[name]
        bridge.params = replace(bridge.params, **changes)  # type: ignore[arg-type]
        if bridge.tree is not None:
            self.act(name, lambda t: t.set_bridge_params(bridge.params, self.now))

    def administer_port(self, name: str, number: int, **changes: object) -> None:
        """Change parameters of a port, running or not."""
        bridge = self.bridges[name]
        params = replace(bridge.port_params[number], **changes)  # type: ignore[arg-type]
        bridge.port_params[number] = params
        if bridge.tree is not None:
            self.act(name, lambda t: t.set_port_params(number, params, self.now))

    def _carrier(self, lan: Lan) -> bool:
        if lan.shared or lan.loopback or len(lan.members) == 1:
            return lan.up
        return lan.up and all(self.bridges[name].alive for name, _ in lan.members)

    def _detect(self, lan: Lan) -> None:
        """Let the bridges of a LAN notice its carrier, each at its own time."""
        carrier = self._carrier(lan)
        if not lan.shared:
            lan.epoch += 1
        for name, number in lan.members:

            def notice(name: str = name, number: int = number) -> None:
                bridge = self.bridges[name]
                if bridge.linked.get(number, carrier) is carrier:
                    return
                bridge.linked[number] = carrier
                link = Link(carrier, full_duplex=not lan.shared)
                self.act(name, lambda t: t.set_link(number, link, self.now))

            if self.random is None:
                notice()
            else:
                # never before what happened earlier
                when = max(self.now + self._jitter(0.01), self._noticed.get((name, number), 0))
                self._noticed[name, number] = when
                self.at(when, notice)

    def _jitter(self, spread: float) -> float:
        return self.random.uniform(0, spread) if self.random else 0.0

    def at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (when, next(self._sequence), what))

    def act(self, name: str, call: Callable[[SpanningTree], list[Effect]]) -> list[Effect]:
        """Do something to a bridge's tree and carry out the effects."""
        bridge = self.bridges[name]
        assert bridge.tree is not None
        self.steps += 1
        effects = call(bridge.tree)
        for effect in effects:
            self._carry_out(bridge, effect)
        wake = bridge.tree.next_wakeup()
        if wake is not None and wake != bridge.wake:
            assert wake > self.now
            bridge.wake = wake
            self.at(wake, lambda: self._tick(name, wake))
        return effects

    def _tick(self, name: str, wake: float) -> None:
        bridge = self.bridges[name]
        if bridge.tree is not None and bridge.wake == wake:
            bridge.wake = None
            self.act(name, lambda t: t.tick(self.now))

    def _carry_out(self, bridge: Bridge, effect: Effect) -> None:
        if isinstance(effect, SetPortState):
            bridge.states[effect.port] = effect.state
            self.last_change = self.now
            self.changes.append((self.now, bridge.name, effect.port, effect.state))
            if effect.state is PortState.FORWARDING:
                self._check_new_path(bridge, effect.port)
        elif isinstance(effect, SendBpdu):
            self._transmit(bridge, effect)
        elif isinstance(effect, FlushPort):
            self.flushed.append((self.now, bridge.name, effect.port))
        elif self.keep_events:
            self.events.append(effect)

    def _transmit(self, sender: Bridge, effect: SendBpdu) -> None:
        lan = sender.lans[effect.port]
        kind = BpduType(effect.frame[20])
        self.frames[kind.name] += 1
        self.sent[sender.name] += 1
        if not lan.up:
            return
        epoch = lan.epoch
        for name, number in lan.members:
            if (name, number) == (sender.name, effect.port) and not lan.loopback:
                continue
            if kind is BpduType.RST and self.bridges[name].legacy:
                continue

            def arrive(name: str = name, number: int = number) -> None:
                receiver = self.bridges[name]
                if (
                    lan.up
                    and lan.epoch == epoch
                    and receiver.tree is not None
                    and receiver.linked.get(number)
                ):
                    self.act(name, lambda t: t.receive(number, effect.frame, self.now))

            self.at(self.now + lan.delay, arrive)

    # -- time -------------------------------------------------------------------------------------

    def run(self, seconds: float) -> Network:
        """Let `seconds` pass."""
        end = self.now + seconds
        while self._heap and self._heap[0][0] <= end:
            self.now, _, what = heapq.heappop(self._heap)
            what()
        self.now = end
        return self

    # -- the data plane ------------------------------------------------------------------

    def forwards(self, name: str, number: int) -> bool:
        bridge = self.bridges[name]
        return (
            bridge.alive
            and bridge.lans[number].up
            and bridge.states.get(number) is PortState.FORWARDING
        )

    def _check_new_path(self, bridge: Bridge, number: int) -> None:
        """A port has opened: is there another way from its bridge to its LAN?"""
        lan = bridge.lans[number]
        if not lan.up:
            return
        if lan.loopback:
            raise LoopError(f"{bridge.name}.{number} forwards to itself at {self.now:.4f}")
        seen = {bridge.name}
        todo = [bridge]
        while todo:
            here = todo.pop()
            for port, out in here.lans.items():
                if (here is bridge and port == number) or not self.forwards(here.name, port):
                    continue
                if out is lan:
                    raise LoopError(
                        f"{bridge.name}.{number} closes a loop with {here.name}.{port}"
                        f" at {self.now:.4f} s"
                    )
                for name, other in out.members:
                    if name not in seen and self.forwards(name, other):
                        seen.add(name)
                        todo.append(self.bridges[name])

    def check_loops(self) -> None:
        """The whole data plane, not just what changed."""
        edges = [
            (name, number)
            for name, bridge in self.bridges.items()
            for number in bridge.lans
            if self.forwards(name, number)
        ]
        parent: dict[str, str] = {}

        def find(x: str) -> str:
            while parent.setdefault(x, x) != x:
                x = parent[x]
            return x

        for name, number in edges:
            a, b = find(f"bridge {name}"), find(self.bridges[name].lans[number].name)
            if a == b:
                raise LoopError(f"{name}.{number} is part of a loop at {self.now:.4f} s")
            parent[a] = b

    # -- the outcome ------------------------------------------------------------------------------

    def role(self, port: str) -> PortRole:
        name, number = port.split(".")
        tree = self.bridges[name].tree
        assert tree is not None
        return tree.port(int(number)).role

    def state(self, port: str) -> PortState:
        name, number = port.split(".")
        return self.bridges[name].states[int(number)]

    def roles(self) -> dict[str, str]:
        """``{"A.1": "designated", …}`` of the bridges that are on."""
        return {
            f"{name}.{number}": self.role(f"{name}.{number}").value
            for name, bridge in self.bridges.items()
            if bridge.alive
            for number in bridge.lans
        }

    def components(self) -> list[set[str]]:
        """Names of the bridges that are physically connected to each other."""
        left = {name for name, bridge in self.bridges.items() if bridge.alive}
        found = []
        while left:
            component = {left.pop()}
            todo = list(component)
            while todo:
                for lan in self.bridges[todo.pop()].lans.values():
                    if lan.up:
                        for name, _ in lan.members:
                            if name in left:
                                left.discard(name)
                                component.add(name)
                                todo.append(name)
            found.append(component)
        return found

    def check_converged(self) -> None:
        """One root a component, least cost paths to it, a tree that reaches everything."""
        for component in self.components():
            self._check_component(component)
        self.check_loops()

    def _check_component(self, component: set[str]) -> None:
        def identifier(name: str) -> int:
            bridge = self.bridges[name]
            return bridge.params.priority << 48 | bridge.address

        root = min(component, key=identifier)
        costs = self._costs(root)
        lans: list[Lan] = []
        open_ports = 0
        for name in component:
            bridge = self.bridges[name]
            assert bridge.tree is not None
            status = bridge.tree.snapshot()
            assert status.root == identifier(root), f"{name} has another root than {root}"
            assert status.root_path_cost == costs[name], f"{name} is not on its best path"
            roles = Counter(p.role for p in status.ports)
            assert roles[PortRole.ROOT] == (name != root), (
                f"{name} has {roles[PortRole.ROOT]} root ports"
            )
            for port in status.ports:
                lan = bridge.lans[port.port]
                assert port.state is bridge.states[port.port]
                if not lan.loopback:
                    wanted = port.role in (PortRole.ROOT, PortRole.DESIGNATED)
                    is_open = port.state is PortState.FORWARDING
                    assert is_open is wanted, f"{name}.{port.port} {port.role} {port.state}"
                    open_ports += is_open
                    if self._carrier(lan) and lan not in lans:
                        lans.append(lan)
                else:
                    assert port.state is PortState.DISCARDING
        for lan in lans:
            designated = [
                (name, number)
                for name, number in lan.members
                if self.bridges[name].alive and self.role(f"{name}.{number}") is PortRole.DESIGNATED
            ]
            assert len(designated) == 1, f"{lan.name} has designated ports {designated}"
        # A connected graph without cycles; check_loops sees to the second.
        assert open_ports == len(component) + len(lans) - 1

    def _costs(self, root: str) -> dict[str, int]:
        costs = {root: 0}
        heap = [(0, root)]
        while heap:
            cost, here = heapq.heappop(heap)
            if cost > costs[here]:
                continue
            for lan in self.bridges[here].lans.values():
                if not lan.up or not self._carrier(lan):
                    continue
                for name, number in lan.members:
                    other = self.bridges[name]
                    if not other.alive:
                        continue
                    step = cost + (other.port_params[number].path_cost or path_cost(1000))
                    if step < costs.get(name, 1 << 60):
                        costs[name] = step
                        heapq.heappush(heap, (step, name))
        return costs
