"""Hosts that appear on another port: what moves their bindings, and what never does."""

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Event, SendFrame, StateChanged
from ofapp.bridge.first_hop.guarded import prober
from ofapp.bridge.state import SharedState
from tests.support.dhcp_frames import (
    Arp,
    Nd,
    advertisement,
    dad,
    ethernet,
    ipv4,
    link_local,
    request,
    udp,
)
from tests.unit.bridge.first_hop.guarded import (
    PARAMS,
    UPLINK,
    A,
    B,
    C,
    Guarded,
    address,
    guarded_bridge,
)

X = "10.0.0.9"
LOCAL = "fe80::9"


@pytest.fixture
def guarded() -> Guarded:
    """A has two addresses on port 11."""
    guarded = Guarded(guarded_bridge())
    assert guarded.lease(11, A, X)
    guarded.hear("nd", 11, dad(A, LOCAL).frame)
    guarded.wait(61.0)  # so the first request is over
    assert guarded.switch == {(11, 0, A): (address(X), address(LOCAL))}
    guarded.events.clear()
    return guarded


def gratuitous(mac: int = A, text: str = X) -> bytes:
    return Arp(mac, text, text).frame()


def data(mac: int = A, text: str = X) -> bytes:
    return ethernet(mac, B, 0x0800, ipv4(text, "10.0.0.1", udp(text, "10.0.0.1", (9, 9), b"")))


def rarp(mac: int = A) -> bytes:
    return ethernet(mac, 0xFFFFFFFFFFFF, 0x8035, bytes(46))


@pytest.mark.parametrize(
    "frame",
    [gratuitous(), data(), rarp(), advertisement(A, LOCAL).frame],
    ids=["gratuitous ARP", "data", "RARP", "unsolicited NA"],
)
class TestAFrameOnAnotherPort:
    def test_moves_nothing_while_the_first_is_up(self, guarded: Guarded, frame: bytes) -> None:
        for _ in range(3):
            guarded.hear("refused", 12, frame)
            guarded.wait(10.0)
        assert guarded.owner(X) == guarded.owner(LOCAL) == ("tap11", A)

    def test_moves_all_after_the_first_went_down(self, guarded: Guarded, frame: bytes) -> None:
        guarded.link(11, up=False)
        guarded.wait(1000.0)
        guarded.hear("refused", 12, frame)
        assert guarded.switch == {(12, 0, A): (address(X), address(LOCAL))}
        assert "bindings.moved" in guarded.kinds()

    def test_moves_all_after_the_first_was_removed(self, guarded: Guarded, frame: bytes) -> None:
        guarded.do(guarded.bridge.remove_port(11, guarded.now))
        assert guarded.switch == {}
        guarded.hear("refused", 12, frame)
        assert guarded.switch == {(12, 0, A): (address(X), address(LOCAL))}

    def test_moves_all_when_the_first_goes_down_shortly_after(
        self, guarded: Guarded, frame: bytes
    ) -> None:
        guarded.hear("refused", 12, frame)
        guarded.wait(4.0)
        guarded.do(guarded.bridge.remove_port(11, guarded.now))
        assert guarded.switch == {(12, 0, A): (address(X), address(LOCAL))}

    def test_is_forgotten_after_a_while(self, guarded: Guarded, frame: bytes) -> None:
        guarded.hear("refused", 12, frame)
        guarded.wait(6.0)
        guarded.link(11, up=False)
        assert guarded.owner(X) == ("tap11", A)


def test_another_host_on_a_port_that_is_down_takes_no_lease(guarded: Guarded) -> None:
    guarded.link(11, up=False)
    guarded.hear("refused", 12, data(mac=B))
    guarded.hear("refused", 12, gratuitous(mac=B))
    assert guarded.owner(X) == ("tap11", A)


def probes(guarded: Guarded, port: int = 11) -> list[SendFrame]:
    return [each for each in guarded.sent if each.ports == {port}]


class TestDhcp:
    """A host asks a server on another port while its first one is up."""

    def test_moves_it_if_it_does_not_answer_on_the_first(self, guarded: Guarded) -> None:
        assert not guarded.lease(12, A, X), "it is asked first"
        assert len(probes(guarded)) == 3, "by both addresses, and the one that hosts mostly have"
        guarded.wait(4.0)
        assert guarded.owner(X) == ("tap11", A), "only a server moves it"
        assert guarded.lease(13, A, X)
        assert guarded.switch == {(13, 0, A): (address(X), address(LOCAL))}
        assert "bindings.moved" in guarded.kinds()

    @pytest.mark.parametrize(
        "reply",
        [
            Arp(A, X, "0.0.0.0", operation=2, target_mac=prober(1)).frame(),
            advertisement(A, LOCAL, dest=link_local(prober(1))).frame,
        ],
    )
    def test_moves_nothing_if_it_answers(self, guarded: Guarded, reply: bytes) -> None:
        for port in (12, 13, 12):
            assert not guarded.lease(port, A, X)
            guarded.hear("answer", 11, reply)
            guarded.wait(10.0)
        assert guarded.owner(X) == ("tap11", A)
        assert guarded.first_hop.counters["host_elsewhere"] == 3

    def test_the_answer_of_another_port_does_not_count(self, guarded: Guarded) -> None:
        guarded.lease(12, A, X)
        guarded.hear("answer", 12, Arp(A, X, "0.0.0.0", operation=2).frame())
        guarded.hear("answer", 11, Arp(B, X, "0.0.0.0", operation=2).frame(mac=B))
        guarded.wait(4.0)
        assert guarded.lease(13, A, X)


def test_a_port_that_claims_to_be_many_hosts_leaves_room_for_a_migrated_guest() -> None:
    """Two guests ask for leases as 300 hosts that are behind the uplink."""
    guarded = Guarded(guarded_bridge(taps=4))
    assert guarded.lease(11, A, X)
    guarded.wait(61.0)
    others = [0x020000001000 + number for number in range(300)]
    uplink = [(UPLINK, 0, mac) for mac in others]
    guarded.do(guarded.bridge.learning.learn(uplink, guarded.now))
    for number, mac in enumerate(others):
        assert not guarded.hear("dhcp", 13 + number % 2, request(mac, "10.0.0.77"))
    assert guarded.first_hop.counters["host_tests_limit"] > 0
    assert not guarded.lease(12, A, X)
    guarded.wait(4.0)
    assert guarded.lease(12, A, X)
    assert guarded.owner(X) == ("tap12", A)


def test_the_address_of_a_router_is_not_bound(guarded: Guarded) -> None:
    """A guest uses the MAC address of a router behind the uplink, to get its frames."""
    guarded.bridge.learning.learn([(UPLINK, 0, C)], guarded.now)
    assert not guarded.lease(12, C, "10.0.0.20")
    assert not guarded.hear("nd", 12, dad(C, "fe80::77").frame)
    assert probes(guarded, UPLINK), "it is asked"
    reply = advertisement(C, link_local(C), dest=link_local(prober(1))).frame
    guarded.hear("answer", UPLINK, reply)
    guarded.wait(10.0)
    assert guarded.owner("10.0.0.20") is guarded.owner("fe80::77") is None


def test_a_host_that_came_from_behind_the_uplink_is_bound_when_it_is_not_there_any_more(
    guarded: Guarded,
) -> None:
    guarded.bridge.learning.learn([(UPLINK, 0, C)], guarded.now)
    packet = Nd(kind=135, mac=C, source="fe80::77", dest="ff02::1", body=bytes(20)).frame
    guarded.hear("refused", 12, packet)
    guarded.wait(3.5)
    guarded.hear("refused", 12, packet)
    guarded.wait(1.0)
    assert guarded.owner("fe80::77") == ("tap12", C)


def test_the_address_of_the_bridge_is_never_bound(guarded: Guarded) -> None:
    own = guarded.bridge.address
    assert not guarded.lease(12, own, "10.0.0.20")
    guarded.wait(10.0)
    assert not guarded.lease(13, own, "10.0.0.20")


def test_what_a_move_reports(guarded: Guarded) -> None:
    guarded.link(11, up=False)
    guarded.events.clear()
    guarded.hear("refused", 12, rarp())
    (moved,) = [each for each in guarded.effects if isinstance(each, Event)]
    assert moved.data["from_port"] == "tap11"
    assert moved.data["addresses"] == [X, LOCAL]


class TestAnotherBridge:
    """A virtual machine migrates to another hypervisor, whose bridge has the same controller."""

    def two(self) -> tuple[Guarded, Guarded]:
        shared = SharedState()
        here, there = (Guarded(guarded_bridge(shared=shared, number=number)) for number in (1, 2))
        assert here.lease(11, A, X, seconds=1000)
        return here, there

    def test_takes_the_bindings_along(self) -> None:
        here, there = self.two()
        there.now = 101.0
        there.hear("refused", 12, rarp())
        assert there.switch == {}, "its first port is up"
        here.link(11, up=False)
        there.hear("refused", 12, rarp())
        assert there.switch == {(12, 0, A): (address(X),)}
        assert there.events[-1].data["from_bridge"] == "br1"
        assert there.bridge.next_wakeup() == 1001.0
        here.wait(1.0)
        assert here.switch == {}
        assert StateChanged("bindings") in here.effects
        assert not [*here.first_hop.bindings()]

    def test_not_if_the_port_is_up_again(self) -> None:
        here, there = self.two()
        here.link(11, up=False)
        here.link(11, up=True)
        there.hear("refused", 12, rarp())
        assert there.switch == {}

    def test_also_from_a_bridge_that_was_restored(self) -> None:
        here, _ = self.two()
        shared = SharedState()
        again = Bridge(1, PARAMS, shared)
        again.first_hop.restore({**here.first_hop.dump(), "passed": 0.0})
        there = Guarded(guarded_bridge(shared=shared, number=2))
        there.hear("refused", 12, data())
        assert there.owner(X) == ("tap12", A)

    def test_not_from_one_that_is_forgotten(self) -> None:
        here, there = self.two()
        here.link(11, up=False)
        here.first_hop.leave()
        there.hear("refused", 12, rarp())
        assert there.switch == {}
