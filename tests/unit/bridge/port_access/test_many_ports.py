"""A thousand controlled ports of one bridge authenticate again at the same time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.port_access import eapol
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as Controlled
from ofapp.bridge.stp import BridgeParams as TreeParams
from tests.unit.bridge.port_access.controlled import ACCEPT, CHALLENGE, Site

PORTS = 1000
PERIOD = 60
FIRST = 0x020000010000
"""The MAC address before those of the hosts, one on each port."""
MOST = 256
"""Most effects of one input: other bridges and BPDUs wait meanwhile."""
MOST_INVITED = 70
"""Most hosts that begin in a tenth of a second: the switch would delay hellos for more."""
IDENTITY = b"\1"
HELLO = 2.0
TO_BRIDGES = bytes.fromhex("0180c2000000")


class Crowd(Site):
    """Bridge, hosts and server; an answer of either takes 10 ms.

    hellos: when each port has sent a BPDU; largest: most effects of one input.
    invited: requests for an identity, by the tenth of a second.
    """

    def __init__(self) -> None:
        self.hellos: defaultdict[int, list[float]] = defaultdict(list)
        self.invited: Counter[int] = Counter()
        self.largest = 0
        of_port = PortParams(port_access=Controlled(authentication="dot1x", reauth_period=PERIOD))
        edge = replace(of_port, stp=replace(of_port.stp, admin_edge=True))
        access = AccessParams(servers="192.0.2.1")
        super().__init__(
            BridgeParams(port_access=access, ports={"eth*": edge}, stp=TreeParams()), PORTS
        )
        self.bridge.go_on(0.0)

    def done(self, effects: list[Effect]) -> list[Effect]:
        self.largest = max(self.largest, len(effects))
        for effect in effects:
            if isinstance(effect, SendFrame) and effect.frame.startswith(TO_BRIDGES):
                for number in effect.ports:
                    self.hellos[number].append(self.now)
            elif isinstance(effect, SendFrame) and effect.frame[-1:] == IDENTITY:
                self.invited[int(10 * self.now)] += 1
        return super().done(effects)

    def serve(self, seconds: float, until: Callable[[], bool] = lambda: False) -> int:
        """Let time pass, and have hosts and server answer; gives the number of accepted hosts."""
        end, accepted = self.now + seconds, 0
        while self.now < end and not until():
            self.wait(0.01)
            sent, self.sent = self.sent, []
            for number, _, eap in sent:
                if number > PORTS or eap[0] != eapol.REQUEST:
                    continue
                identity = eap[4:5] == b"\1"
                said = b"\1alice" if identity else b"\4\0"
                head = bytes([2, eap[1], 0, 4 + len(said)])
                self.hear(FIRST + number, eapol.EAP, head + said, number)
            asked, self.asked = self.asked, []
            for question in asked:
                answer = ACCEPT if question.state else CHALLENGE
                effects = self.bridge.port_access.answer(question.number, answer, self.now)
                self.done(self.bridge.carry_out(effects, self.now))
                accepted += answer is ACCEPT
        return accepted


def test_a_thousand_ports_authenticate_again_within_ten_seconds_and_hellos_are_on_time() -> None:
    site = Crowd()
    for number in range(1, PORTS + 1):
        site.hear(FIRST + number, eapol.START, number=number)
    assert site.serve(10.0) == PORTS
    admitted = {number: site.admits(number) for number in range(1, PORTS + 1)}
    assert all(each is not None and each.hosts for each in admitted.values())
    site.wait(PERIOD - 5.0, until=lambda: len(site.sent) > 0)
    site.largest = 0
    site.hellos.clear()
    site.invited.clear()
    renewed, begun = 0, site.now
    while renewed < PORTS:
        renewed += site.serve(0.1)
        assert site.now - begun < 10.0, f"{renewed} hosts in 10 s"
        assert {number: site.admits(number) for number in admitted} == admitted, "none is cut off"
    assert site.largest <= MOST
    assert max(site.invited.values()) <= MOST_INVITED
    site.serve(2 * HELLO)
    for number in admitted:
        times = site.hellos[number]
        assert len(times) >= 2
        assert all(later - now <= HELLO + 0.1 for now, later in pairwise(times))
