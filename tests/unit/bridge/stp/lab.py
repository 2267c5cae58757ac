"""One spanning tree on a bench: hear BPDUs, let time pass, look at what comes out."""

from dataclasses import replace

from ofapp.bridge.event import Event
from ofapp.bridge.stp import (
    BridgeParams,
    Effect,
    FlushPort,
    Link,
    PointToPoint,
    PortParams,
    PortState,
    SendBpdu,
    SetPortState,
    SpanningTree,
)
from ofapp.bridge.stp.bpdu import Bpdu, BpduRole, BpduType, decode, encode
from ofapp.bridge.stp.vectors import PriorityVector, Times, bridge_identifier

ADDRESS = 0x0200_0000_0050
UP = Link(True)
DOWN = Link(False)
OWN_ID = bridge_identifier(32768, ADDRESS)
BETTER = bridge_identifier(4096, 0x0200_0000_0001)
BETTER_STILL = bridge_identifier(0, 0x0200_0000_0002)
WORSE = bridge_identifier(61440, 0x0200_0000_0099)
TIMES = Times(0, 20, 15, 2)
D, L, F = PortState.DISCARDING, PortState.LEARNING, PortState.FORWARDING
SILENT = PortParams(auto_edge=False)
EDGE = PortParams(admin_edge=True)
SHARED = PortParams(point_to_point=PointToPoint.FORCE_FALSE, auto_edge=False)


def rst(
    root: int = BETTER,
    cost: int = 0,
    bridge: int | None = None,
    port: int = 0x8001,
    *,
    times: Times = TIMES,
    role: BpduRole = BpduRole.DESIGNATED,
    **flags: bool,
) -> Bpdu:
    vector = PriorityVector(root, cost, root if bridge is None else bridge, port)
    return Bpdu(BpduType.RST, vector, times, role, version=2, **flags)


def agreement(cost: int = 20000, **flags: bool) -> Bpdu:
    """What a worse bridge below says when it has blocked its other ports."""
    return rst(OWN_ID, cost, WORSE, role=BpduRole.ROOT, agreement=True, **flags)


def config(**kwargs: object) -> Bpdu:
    return replace(rst(**kwargs), type=BpduType.CONFIG, version=0)  # type: ignore[arg-type]


TCN = Bpdu(BpduType.TCN)


class Lab:
    """`ports` ports, numbered from 1, with their links up."""

    def __init__(self, ports: int = 2, params: PortParams | None = None, **bridge: object) -> None:
        self.now = 100.0
        self.tree = SpanningTree(BridgeParams(**bridge), ADDRESS)  # type: ignore[arg-type]
        self.log: list[tuple[float, Effect]] = []
        for number in range(1, ports + 1):
            self.do(self.tree.add_port(number, params or PortParams(), UP, self.now))

    def do(self, effects: list[Effect]) -> list[Effect]:
        self.log.extend((self.now, effect) for effect in effects)
        return effects

    def hear(self, port: int, bpdu: Bpdu) -> list[Effect]:
        return self.do(self.tree.receive(port, encode(bpdu, 0x0200_0000_AAAA), self.now))

    def link(self, port: int, link: Link) -> list[Effect]:
        return self.do(self.tree.set_link(port, link, self.now))

    def wait(self, seconds: float) -> list[Effect]:
        """Let time pass, ticking exactly when the tree asks for it."""
        end = self.now + seconds
        effects: list[Effect] = []
        while (wake := self.tree.next_wakeup()) is not None and wake <= end:
            assert wake > self.now
            self.now = wake
            effects += self.do(self.tree.tick(wake))
        self.now = end
        return effects

    def wait_hearing(self, seconds: float, port: int, bpdu: Bpdu) -> None:
        """Let time pass while the neighbour says the same again and again."""
        for _ in range(int(seconds / 1.5) + 1):
            self.hear(port, bpdu)
            self.wait(1.5)

    def state(self, port: int) -> PortState:
        return self.tree.port(port).state

    def role(self, port: int) -> str:
        return self.tree.port(port).role.value

    def sent(self, port: int, effects: list[Effect] | None = None) -> list[Bpdu]:
        chosen = [e for _, e in self.log] if effects is None else effects
        return [decode(e.frame) for e in chosen if isinstance(e, SendBpdu) and e.port == port]

    def sent_at(self, port: int) -> list[float]:
        return [t for t, e in self.log if isinstance(e, SendBpdu) and e.port == port]

    def events(self, kind: str) -> list[Event]:
        return [e for _, e in self.log if isinstance(e, Event) and e.kind == kind]


def states(effects: list[Effect]) -> list[tuple[int, PortState]]:
    return [(e.port, e.state) for e in effects if isinstance(e, SetPortState)]


def flushed(effects: list[Effect]) -> list[int]:
    return [e.port for e in effects if isinstance(e, FlushPort)]


def ring_member() -> Lab:
    """Root port 1, forwarding designated ports 2 and 3, all told and quiet."""
    lab = Lab(3, SILENT)
    lab.hear(1, rst(BETTER))
    for port in (2, 3):
        lab.hear(port, rst(BETTER, 30000, WORSE, port, role=BpduRole.ROOT, agreement=True))
    lab.wait_hearing(9, 1, rst(BETTER))
    assert [lab.state(p) for p in (1, 2, 3)] == [F, F, F]
    return lab
