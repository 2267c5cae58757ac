"""A bridge with controlled ports, a host that speaks 802.1X, and a server, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import AskServer, Effect, SendFrame
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as Controlled
from ofapp.bridge.port_access.port import Admission
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import access

ALICE, BOB = 0x02000000000A, 0x02000000000B
USER = b"alice"
CLOSED = Admission()
ACCEPT = Answer("accept")
CHALLENGE = Answer("challenge", eap=bytes([1, 7, 0, 6, 4, 0]), state=b"s1")
REJECT = Answer("reject", message="account expired")
SILENT = Answer("silent")


def port(number: int, up: bool = True) -> Port:
    """A port of hosts."""
    return Port(number, f"eth{number}", 0x020000000100 + number, up, 1000)


def params(vlan: int | None = None, **values: object) -> BridgeParams:
    """Ports eth1 to eth9 are controlled, eth10 is not."""
    controlled = Controlled(**{"authentication": "dot1x", **values})  # type: ignore[arg-type]
    of_port = PortParams(port_access=controlled)
    if vlan is not None:
        of_port = replace(of_port, vlans=access(vlan))
    return BridgeParams(
        port_access=AccessParams(servers="192.0.2.1"),
        ports={"eth?": of_port},
        vlan_names={20: "staff"},
    )


class Site:
    """One bridge.  sent: EAP messages to hosts, each with its port and destination."""

    def __init__(
        self,
        of: BridgeParams,
        ports: int = 2,
        begin: Callable[[Bridge], object] = lambda _bridge: None,
    ) -> None:
        """begin: is called with the bridge before it gets its first input."""
        self.now = 0.0
        self.sent: list[tuple[int, int, bytes]] = []
        self.asked: list[AskServer] = []
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.bridge = Bridge(1, of)
        begin(self.bridge)
        local = Port(LOCAL_PORT, "br1", 0x020000000001, True)
        self.done(self.bridge.set_ports([local, port(10), *map(port, range(1, ports + 1))], 0.0))

    def done(self, effects: list[Effect]) -> list[Effect]:
        """Take the effects of an input."""
        self.effects += effects
        for effect in effects:
            if isinstance(effect, SendFrame) and effect.frame[12:14] == eapol.ETHERTYPE:
                to = int.from_bytes(effect.frame[:6], "big")
                (number,) = effect.ports
                self.sent.append((number, to, effect.frame[18:]))
            elif isinstance(effect, AskServer):
                self.asked.append(effect)
            elif isinstance(effect, Event):
                self.events.append(effect)
        return effects

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, timer by timer."""
        end = self.now + seconds
        while not until():
            due = self.bridge.next_wakeup()
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self.done(self.bridge.tick(self.now))
        else:
            return
        self.now = end

    def hear(self, mac: int, kind: int, eap: bytes = b"", number: int = 1) -> None:
        """A host sends an EAPOL frame."""
        header = b"\x01\x80\xc2\0\0\3" + mac.to_bytes(6, "big") + eapol.ETHERTYPE
        body = bytes([1, kind]) + len(eap).to_bytes(2, "big") + eap
        self.done(self.bridge.hear("eapol", [(number, header + body)], self.now))

    def first_frame(self, mac: int, number: int = 1) -> None:
        """A host that is not admitted sends a frame."""
        frame = b"\xff" * 6 + mac.to_bytes(6, "big") + b"\x08\x00" + bytes(46)
        self.done(self.bridge.hear("first_frame", [(number, frame)], self.now))

    def identity(self, mac: int = ALICE, number: int = 1, user: bytes = USER) -> None:
        """The host answers the last request for an identity."""
        identifier = self.sent[-1][2][1]
        eap = bytes([2, identifier]) + (5 + len(user)).to_bytes(2, "big") + b"\x01" + user
        self.hear(mac, eapol.EAP, eap, number)

    def respond(self, mac: int = ALICE, number: int = 1) -> None:
        """The host answers the last request by the same method."""
        identifier = self.sent[-1][2][1]
        self.hear(mac, eapol.EAP, bytes([2, identifier, 0, 6, 4, 0]), number)

    def answer(self, answer: Answer) -> list[Effect]:
        """The server answers the last question."""
        effects = self.bridge.port_access.answer(self.asked[-1].number, answer, self.now)
        return self.done(self.bridge.carry_out(effects, self.now))

    def login(
        self, mac: int = ALICE, number: int = 1, answer: Answer = ACCEPT, user: bytes = USER
    ) -> None:
        """The host goes through 802.1X with one challenge."""
        self.hear(mac, eapol.START, number=number)
        self.identity(mac, number, user)
        self.answer(CHALLENGE)
        self.respond(mac, number)
        self.answer(answer)

    def admits(self, number: int = 1) -> Admission | None:
        """What the switch is to admit on a port."""
        found: Admission | None = self.bridge.desired_port(number).wanted("port_access")
        return found

    def kinds(self) -> list[str]:
        """The kinds of events of access control."""
        names = (event.kind for event in self.events)
        return [name for name in names if name.startswith("port_access.")]
