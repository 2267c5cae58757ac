"""LLDP in virtual time: bridges with cables between them, and frames as others make them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.event import Event
from ofapp.bridge.lldp import BridgeParams, NeighbourStatus, OwnAgents
from ofapp.bridge.lldp.pdu import ETHERTYPE, NEAREST_BRIDGE
from ofapp.bridge.lldp.tlv import Type, tlv
from ofapp.bridge.params.params import BridgeParams as Params
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState

End = tuple[int, int]
"""(bridge, port)."""
HEADER = NEAREST_BRIDGE + b"\x02\x00\x00\x00\x00\x77" + ETHERTYPE


def pdu(
    *more: bytes, chassis: bytes = b"\x07them", port: bytes = b"\x05e1", ttl: int = 120
) -> bytes:
    """A frame of another host."""
    parts = [
        tlv(Type.CHASSIS_ID, chassis),
        tlv(Type.PORT_ID, port),
        tlv(Type.TTL, ttl.to_bytes(2, "big")),
        *more,
        tlv(Type.END, b""),
    ]
    return HEADER + b"".join(parts)


class Lab:
    """Bridges 1 and so on with ports 1 to 3, whose LLDP runs; frames take no time.

    sent: what each port has sent that leads nowhere, or of all ports (`tap`), with the time.
    """

    def __init__(
        self,
        count: int = 2,
        cables: Iterable[tuple[End, End]] = (),
        agents: Sequence[OwnAgents] = (),
        **params: object,
    ):
        """agents: of each bridge's controller, where they have not all the same one."""
        self.now = 0.0
        self.shared = SharedState(OwnAgents(b"secret"))
        self.far = {a: b for one, other in cables for a, b in ((one, other), (other, one))}
        self.sent: list[tuple[float, End, bytes]] = []
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.bridges: dict[int, Bridge] = {}
        settings = Params(lldp=BridgeParams(), **params)  # type: ignore[arg-type]
        for number in range(1, count + 1):
            own = SharedState(agents[number - 1]) if agents else self.shared
            bridge = Bridge(number, settings, own)
            self.bridges[number] = bridge
            self.carry(number, bridge.set_ports(ports_of(number), 0.0))

    def carry(self, sender: int, effects: list[Effect]) -> None:
        """Frames arrive, and so do the answers to them."""
        self.effects += effects
        self.events += [effect for effect in effects if isinstance(effect, Event)]
        for effect in effects:
            for port in effect.ports if isinstance(effect, SendFrame) else ():
                self.sent.append((self.now, (sender, port), effect.frame))
                far = self.far.get((sender, port))
                if far is not None:
                    self.hear(far, effect.frame)

    def hear(self, at: End, frame: bytes) -> None:
        """A frame arrives."""
        self.carry(at[0], self.bridges[at[0]].hear("lldp", [(at[1], frame)], self.now))

    def until(self, end: float) -> None:
        """Let time pass."""
        while True:
            due = [
                (when, n)
                for n, own in self.bridges.items()
                if (when := own.next_wakeup()) is not None
            ]
            if not due or min(due)[0] > end:
                break
            when, number = min(due)
            self.now = max(self.now, when)
            self.carry(number, self.bridges[number].tick(self.now))
        self.now = end

    def configure(self, number: int, **params: object) -> None:
        """Other parameters of a bridge."""
        bridge = self.bridges[number]
        self.carry(number, bridge.set_params(replace(bridge.params, **params), self.now))  # type: ignore[arg-type]

    def neighbours(self, at: End) -> list[NeighbourStatus]:
        """Who is known there."""
        agents = self.bridges[at[0]].lldp.status(self.now)
        return [one for agent in agents if agent.number == at[1] for one in agent.neighbours]

    def counters(self, at: End) -> dict[str, int]:
        """What is counted there, without zeros."""
        (agent,) = (own for own in self.bridges[at[0]].lldp.status(self.now) if own.number == at[1])
        return {what: count for what, count in agent.counters.items() if count}

    def times(self, at: End) -> list[float]:
        """When a port has sent."""
        return [when for when, end, _ in self.sent if end == at]

    def kinds(self) -> list[str]:
        """Of LLDP's events."""
        return [event.kind for event in self.events if event.kind.startswith("lldp")]


def ports_of(number: int) -> list[Port]:
    """LOCAL, and three ports."""
    own = 0x020000000000 | number << 8
    local = Port(LOCAL_PORT, f"br{number}", own, True)
    return [local, *(Port(n, f"p{n}", own | n, True) for n in (1, 2, 3))]


def port_params(**lldp: bool) -> PortParams:
    """A port's, with these of LLDP."""
    own = PortParams()
    return replace(own, lldp=replace(own.lldp, **lldp))
