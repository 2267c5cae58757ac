"""Bridges, and switches without spanning tree, cabled at random.

Frames and the closing of ports take no time, or a random time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from random import Random

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.effects.content import SetPortState
from ofapp.bridge.event import Event
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.loop_protect.frame import destination
from ofapp.bridge.loop_protect.params import BridgeParams as LoopParams
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import PortState

End = tuple[int, int]
"""(node, port); nodes below 100 are bridges, the others switches that forward everything."""
UPLINKS = range(1, 4)
UPLINK = PortParams(trust="uplink")
KEY = SharedState(OwnAgents(b"secret"))
DUMB = 100
SLOW = 0.1
"""Most seconds that a frame takes, and that a port takes to close, where they take time."""


def bridge_of(
    number: int,
    ports: Iterable[int] = range(1, 9),
    settings: Mapping[str, PortParams] | None = None,
    shared: SharedState | None = None,
    **loops: float,
) -> Bridge:
    """A bridge with loop protection and without spanning tree; ports p1 and so on.

    shared: with the other bridges of its controller.
    """
    params = BridgeParams(ports=settings or {}, loop_protect=LoopParams(**loops))  # type: ignore[arg-type]
    made = Bridge(number, params, shared or KEY)
    there = [Port(each, f"p{each}", number << 8 | each, True) for each in ports]
    made.set_ports([*there, Port(LOCAL_PORT, f"br{number}", number << 8, True)], 0.0)
    made.go_on(0.0)
    return made


class Cabling:
    """Bridges, switches and cables.  held: the ports that were held, in their order."""

    def __init__(
        self,
        bridges: Mapping[int, Bridge],
        cables: Iterable[tuple[End, End]],
        delays: Random | None = None,
    ) -> None:
        """delays: draws how long frames and ports take; None: no time."""
        self.bridges = bridges
        self._delays = delays
        self._under_way: list[tuple[float, int, End, bytes]] = []
        self._closing: dict[End, float] = {}
        self.now = 0.0
        self.events: list[tuple[float, int, Event]] = []
        self.heard: list[tuple[End, bytes]] = []
        self._far: dict[End, End] = {}
        self._ports: defaultdict[int, set[int]] = defaultdict(set)
        for one, other in cables:
            self.connect(one, other)

    def connect(self, one: End, other: End) -> None:
        for a, b in ((one, other), (other, one)):
            self._far[a] = b
            self._ports[a[0]].add(a[1])

    def cut(self, one: End) -> None:
        other = self._far.pop(one)
        self._far.pop(other, None)

    @property
    def held(self) -> list[End]:
        return [(node, event.port or 0) for _, node, event in self.of("held")]

    def of(self, kind: str) -> Iterator[tuple[float, int, Event]]:
        return (each for each in self.events if each[2].kind == f"loop_protect.{kind}")

    def run(self, until: float) -> None:
        """Let time pass."""
        while True:
            due = [(each.next_wakeup(), number) for number, each in self.bridges.items()]
            when, number = min((at, number) for at, number in due if at is not None)
            if self._under_way and self._under_way[0][0] <= min(when, until):
                self.now, _, end, frame = heappop(self._under_way)
                self.hear(end, frame)
                continue
            if when > until:
                break
            self.now = max(when, self.now)
            self.carry(number, self.bridges[number].tick(self.now))
        self.now = until

    def carry(self, node: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Event):
                self.events.append((self.now, node, effect))
            if isinstance(effect, SetPortState) and self._delays is not None:
                self._closing[node, effect.port] = self.now + self._delays.uniform(0, SLOW)
            for port in effect.ports if isinstance(effect, SendFrame) else ():
                for end in self.arrivals((node, port), effect.frame):
                    self.heard.append((end, effect.frame))
                    if self._delays is None:
                        self.hear(end, effect.frame)
                        continue
                    at = self.now + self._delays.uniform(0, SLOW)
                    heappush(self._under_way, (at, len(self.heard), end, effect.frame))

    def hear(self, end: End, frame: bytes) -> None:
        effects = self.bridges[end[0]].hear("loop_protect", [(end[1], frame)], self.now)
        self.carry(end[0], effects)

    def arrivals(self, sender: End, frame: bytes) -> list[End]:
        """Where the frame comes back to its bridge."""
        own, found, seen = destination(sender[0]).to_bytes(6, "big"), [], set[End]()
        assert frame[:6] == own
        waiting = [sender]
        while waiting:
            end = self._far.get(waiting.pop())
            if end is None or end in seen:
                continue
            seen.add(end)
            node, port = end
            if node == sender[0]:
                found.append(end)
            elif node >= DUMB:
                waiting += [(node, each) for each in self._ports[node] - {port}]
            elif self.forwards(end):
                ports = (other.number for other in self.bridges[node].ports)
                waiting += [(node, to) for to in ports if to != port and self.forwards((node, to))]
        return found

    def forwards(self, end: End) -> bool:
        """Whether a port of a bridge forwards, or its switch has yet to close it."""
        if self.now < self._closing.get(end, 0.0):
            return True
        return self.bridges[end[0]].relay.states.get(end[1]) is PortState.FORWARDING

    def loops(self, opened: End | None = None) -> list[str]:
        """The cables that close a loop which frames of a bridge take.

        opened: a port that is supposed to forward.
        """
        root: dict[int, int] = {}

        def find(node: int) -> int:
            while root.setdefault(node, node) != node:
                node = root[node]
            return node

        stormy = set[int]()
        found = []
        cables = sorted({tuple(sorted(pair)) for pair in self._far.items()})
        outside = [pair for pair in cables if all(end[0] >= DUMB for end in pair)]
        for one, other in (*outside, *(pair for pair in cables if pair not in outside)):
            ends = [end for end in (one, other) if end[0] < DUMB]
            if not all(end == opened or self.forwards(end) for end in ends):
                continue
            a, b = find(one[0]), find(other[0])
            closes = a == b or bool({a, b} & stormy)
            root[b] = a
            if closes and ends:
                found.append(f"{one} - {other}")
            elif closes:
                stormy.add(a)  # a loop of switches alone: no bridge may lead into it
        return found


def random_cabling(random: Random, delays: Random | None = None) -> Cabling:
    """Up to four bridges in a tree of uplinks, whose other ports are cabled at random."""
    numbers = range(1, random.randint(1, 4) + 1)
    uplinks = {f"p{port}": UPLINK for port in UPLINKS}
    shared = SharedState(OwnAgents(b"secret"))
    bridges = {number: bridge_of(number, settings=uplinks, shared=shared) for number in numbers}
    free = {number: [*UPLINKS] for number in numbers}
    cables: list[tuple[End, End]] = []
    for number in numbers[1:]:
        above = random.choice([each for each in numbers[: number - 1] if free[each]])
        cables.append(((above, free[above].pop()), (number, free[number].pop())))
    switches = range(DUMB, DUMB + random.randint(0, 3))
    ends = [(number, port) for number in numbers for port in range(4, 9)]
    ends += [(switch, port) for switch in switches for port in range(4)]
    random.shuffle(ends)
    for _ in range(random.randint(0, len(ends) // 2)):
        cables.append((ends.pop(), ends.pop()))
    return Cabling(bridges, cables, delays)
