"""First come, first served (RFC 6620) through a whole bridge: who gets an IPv6 address, when."""

from dataclasses import replace

import pytest

from ofapp.bridge.effects import ForwardFrame
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.guarded import prober
from ofapp.bridge.first_hop.neighbours import LIFETIME, MOST_CLAIMS
from ofapp.bridge.ports.port import LOCAL_PORT
from tests.support.dhcp_frames import (
    Nd,
    advertisement,
    dad,
    ia_na,
    link_local,
    prefix_option,
    reply6,
    request6,
    router_advertisement,
    router_solicitation,
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
    with_guard,
)

X, Y = "2001:db8::9", "2001:db8::10"
ROUTER = 0x02000000FF01


def announced(vid: int = 0) -> bytes:
    return router_advertisement(ROUTER, prefix_option("2001:db8::", 64), vid=vid).frame


@pytest.fixture
def guarded() -> Guarded:
    guarded = Guarded(guarded_bridge())
    guarded.hear("router", UPLINK, announced())
    return guarded


def claim(guarded: Guarded, port: int, mac: int, text: str, vid: int = 0) -> bool:
    """A host detects duplicates of an address; whether others hear it."""
    return guarded.hear("nd", port, dad(mac, text, vid=vid).frame)


def bind(guarded: Guarded, port: int, mac: int, text: str) -> None:
    assert claim(guarded, port, mac, text)
    guarded.wait(0.6)
    assert guarded.owner(text) == (f"tap{port}", mac)


def answer(guarded: Guarded, port: int, mac: int, text: str) -> None:
    """A host answers a probe."""
    to = link_local(prober(guarded.bridge.datapath_id))
    guarded.hear("answer", port, advertisement(mac, text, dest=to).frame)


def test_a_claim_without_objection_is_a_binding_after_half_a_second(guarded: Guarded) -> None:
    assert claim(guarded, 11, A, X)
    assert guarded.forwarded == [ForwardFrame(11, dad(A, X).frame)]
    assert {*guarded.sent[0].ports} == {UPLINK, LOCAL_PORT}, "only hosts there may object"
    guarded.wait(0.4)
    assert guarded.switch == {}
    guarded.wait(0.1)
    assert guarded.switch == {(11, 0, A): (address(X),)}
    (binding,) = guarded.first_hop.bindings()
    assert (binding.origin, binding.lifetime) == (Origin.ND, LIFETIME)


def test_a_host_behind_a_trusted_port_keeps_its_address(guarded: Guarded) -> None:
    claim(guarded, 11, A, X)
    answer(guarded, UPLINK, B, X)
    guarded.wait(5.0)
    assert guarded.owner(X) is None
    assert guarded.kinds() == ["bindings.conflict"]
    assert claim(guarded, 11, A, Y), "another address is free"


def test_a_guest_cannot_object_to_a_claim(guarded: Guarded) -> None:
    claim(guarded, 11, A, X)
    answer(guarded, 12, B, X)
    assert not claim(guarded, 12, B, X), "nor claim it at the same time"
    guarded.wait(0.5)
    assert guarded.owner(X) == ("tap11", A)


def test_an_address_outside_of_the_link_is_not_claimed(guarded: Guarded) -> None:
    assert not claim(guarded, 11, A, "2001:db8:1::9")
    assert not claim(guarded, 11, A, X, vid=5), "the prefix is that of another VLAN"
    assert guarded.first_hop.counters["nd_off_link"] == 2
    bind(guarded, 11, A, "fe80::1234")


def test_a_prefix_ends_with_its_lifetime(guarded: Guarded) -> None:
    guarded.wait(3601)
    assert not claim(guarded, 11, A, X)
    guarded.hear("router", UPLINK, announced())
    assert claim(guarded, 11, A, X)


def test_prefixes_are_learned_from_trusted_ports_only() -> None:
    guarded = Guarded(guarded_bridge())
    guarded.hear("router", 11, announced())
    assert not claim(guarded, 11, A, X)
    assert guarded.first_hop.status(1.0).prefixes == ()


class TestAnAddressThatIsBound:
    def test_stays_with_a_host_that_answers(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        assert not claim(guarded, 12, B, X), "held until the owner has answered"
        probes = [each for each in guarded.sent if each.ports == {11}]
        assert len(probes) == 1
        before = len(guarded.forwarded)
        answer(guarded, 11, A, X)
        assert guarded.forwarded[before:] == [ForwardFrame(12, dad(B, X).frame)], (
            "its owner tells the other host that the address is in use"
        )
        guarded.wait(10.0)
        assert guarded.owner(X) == ("tap11", A)
        assert guarded.kinds() == ["bindings.conflict"]

    def test_goes_to_another_host_if_its_owner_is_silent(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        claim(guarded, 12, B, X)
        guarded.wait(2.9)
        assert guarded.owner(X) == ("tap11", A)
        assert len([each for each in guarded.sent if each.ports == {11}]) == 3
        guarded.wait(0.2)
        assert guarded.owner(X) == ("tap12", B)
        assert guarded.switch == {(12, 0, B): (address(X),)}
        assert guarded.kinds() == ["bindings.moved"]

    def test_stays_with_a_host_that_configures_it_again(self, guarded: Guarded) -> None:
        """It answers no probe, and would give the address up, until it has detected duplicates."""
        bind(guarded, 11, A, X)
        claim(guarded, 12, B, X)
        for _ in range(5):
            guarded.wait(2.5)
            assert claim(guarded, 11, A, X)
            assert not claim(guarded, 12, B, X), "A would take this for a duplicate"
        guarded.wait(2.5)
        assert ForwardFrame(12, dad(B, X).frame) not in guarded.forwarded
        answer(guarded, 11, A, X)
        assert guarded.forwarded[-1] == ForwardFrame(12, dad(B, X).frame)
        guarded.wait(5.0)
        assert guarded.owner(X) == ("tap11", A)
        assert claim(guarded, 11, A, X)
        assert not claim(guarded, 12, B, X), "also shortly after its owner has answered"
        guarded.wait(3.1)
        assert guarded.owner(X) == ("tap12", B), "its owner is silent"

    def test_is_not_defended_by_a_third_host(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        claim(guarded, 12, B, X)
        answer(guarded, 13, C, X)
        answer(guarded, UPLINK, C, X)
        guarded.wait(3.1)
        assert guarded.owner(X) == ("tap12", B)

    def test_goes_at_once_if_its_port_is_down(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        guarded.link(11, up=False)
        assert claim(guarded, 12, B, X)
        assert guarded.owner(X) == ("tap12", B)

    def test_goes_at_once_when_its_port_goes_down(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        claim(guarded, 12, B, X)
        guarded.do(guarded.bridge.remove_port(11, guarded.now))
        assert guarded.owner(X) == ("tap12", B)

    def test_by_dhcp_is_not_claimed(self, guarded: Guarded) -> None:
        guarded.hear("dhcp", 11, request6(A))
        guarded.hear("dhcp_server", UPLINK, reply6(A, ia_na((X, 300))))
        assert not claim(guarded, 12, B, X)
        guarded.wait(5.0)
        assert guarded.owner(X) == ("tap11", A)

    def test_follows_from_its_mac_and_is_not_claimed(self, guarded: Guarded) -> None:
        """A host with any binding may use this link-local address, and has not to claim it."""
        bind(guarded, 11, A, X)
        assert not claim(guarded, 12, B, link_local(A))
        guarded.wait(5.0)
        assert guarded.owner(link_local(A)) is None
        assert guarded.kinds() == ["bindings.conflict", "bindings.refused"]
        assert claim(guarded, 12, B, link_local(C)), "no such host"
        assert claim(guarded, 11, A, link_local(A))
        guarded.wait(0.6)
        assert guarded.owner(link_local(A)) is None, "it needs no binding"

    def test_follows_from_its_mac_also_where_a_users_binding_stayed_behind(
        self, guarded: Guarded
    ) -> None:
        """A user's binding does not follow its host, whose old port is down, to another port."""
        guarded.do(guarded.first_hop.add("tap11", 0, A, address(X), Origin.API, guarded.now))
        guarded.link(11, up=False)
        bind(guarded, 12, A, link_local(A))
        bind(guarded, 12, A, Y)
        assert claim(guarded, 12, A, link_local(A))
        assert guarded.kinds() == []

    def test_is_not_asked_for_again_and_again(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        claim(guarded, 12, B, X)
        answer(guarded, 11, A, X)
        asked = len(guarded.sent)
        for _ in range(9):
            guarded.wait(1.0)
            assert claim(guarded, 12, B, X), "its owner answers"
        assert len(guarded.sent) == asked
        guarded.wait(2.0)
        claim(guarded, 12, B, X)
        assert len(guarded.sent) == asked + 1

    def test_is_renewed_as_long_as_its_host_answers(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        for _ in range(3):
            guarded.wait(LIFETIME / 2)
            guarded.hear("router", UPLINK, announced())
            guarded.wait(LIFETIME / 2)
            assert guarded.sent[-1].ports == {11}
            answer(guarded, 11, A, X)
        assert guarded.owner(X) == ("tap11", A)

    def test_is_renewed_by_a_host_that_configures_it_again(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, "fe80::9")
        guarded.wait(LIFETIME)
        assert claim(guarded, 11, A, "fe80::9")
        guarded.wait(10.0)
        assert guarded.owner("fe80::9") == ("tap11", A)

    def test_ends_with_its_prefix(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        asked = len(guarded.sent)
        guarded.wait(LIFETIME + 1.0)
        assert guarded.owner(X) is None
        assert len(guarded.sent) == asked

    def test_ends_if_its_host_is_silent(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, "fe80::9")
        guarded.wait(LIFETIME)
        assert guarded.owner("fe80::9") == ("tap11", A), "it is asked"
        answer(guarded, 11, A, "fe80::9")
        guarded.wait(LIFETIME)
        guarded.wait(4.0)
        assert guarded.owner("fe80::9") is None
        assert guarded.first_hop.counters["expired"] == 1
        assert guarded.bridge.next_wakeup() is None


def test_a_lost_claim_is_found_by_what_is_refused(guarded: Guarded) -> None:
    sample = Nd(kind=135, mac=A, source=X, dest="ff02::1", body=bytes(20)).frame
    guarded.hear("refused", 11, sample)
    assert guarded.forwarded == []
    assert {*guarded.sent[-1].ports} == {UPLINK, LOCAL_PORT}
    guarded.wait(0.6)
    assert guarded.owner(X) == ("tap11", A)
    assert guarded.kinds() == [], "no reason to worry"


def test_temporary_addresses_replace_those_that_were_not_confirmed_longest() -> None:
    guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=3)))
    guarded.hear("router", UPLINK, announced())
    bind(guarded, 11, A, "fe80::9")
    bind(guarded, 11, A, "2001:db8::1")
    bind(guarded, 11, A, "2001:db8::2")
    assert claim(guarded, 11, A, "2001:db8::1"), "confirms it"
    bind(guarded, 11, A, "2001:db8::3")
    assert guarded.owner("2001:db8::2") is None
    assert guarded.owner("2001:db8::1") == guarded.owner("fe80::9") == ("tap11", A)
    assert guarded.first_hop.counters["replaced"] == 1


def test_a_host_with_many_claims_is_limited(guarded: Guarded) -> None:
    passed = [claim(guarded, 11, A, f"2001:db8::{i + 1:x}") for i in range(MOST_CLAIMS + 5)]
    assert passed.count(False) == 5
    assert claim(guarded, 12, B, "2001:db8::ffff"), "other ports are not concerned"
    guarded.wait(1.0)
    assert claim(guarded, 11, A, Y)


def test_router_solicitations_pass_from_addresses_that_the_host_has(guarded: Guarded) -> None:
    assert guarded.hear("nd", 11, router_solicitation(A).frame)
    assert guarded.hear("nd", 11, router_solicitation(A, "::").frame)
    assert not guarded.hear("nd", 11, router_solicitation(A, link_local(B)).frame)
    assert not guarded.hear("nd", 11, router_solicitation(A, "fe80::9").frame)
    claim(guarded, 11, A, "fe80::9")
    assert guarded.hear("nd", 11, router_solicitation(A, "fe80::9").frame)


def test_what_is_malformed_or_forged_is_dropped_and_counted(guarded: Guarded) -> None:
    frame = dad(A, X).frame
    for at in range(14, len(frame)):
        cut = frame[:at]
        assert not guarded.hear("nd", 11, cut)
        for kind in ("router", "answer", "refused", "dhcp", "dhcp_server"):
            guarded.hear(kind, UPLINK, cut)
    bad = bytearray(frame)
    bad[-1] ^= 1
    assert not guarded.hear("nd", 11, bytes(bad))
    assert guarded.first_hop.counters["nd_checksum"] == 1


def test_a_port_whose_neighbour_discovery_is_not_inspected_passes_it() -> None:
    guarded = Guarded(guarded_bridge(with_guard(PARAMS, nd_inspection=False)))
    assert claim(guarded, 11, A, X)
    guarded.wait(1.0)
    assert guarded.owner(X) is None


def test_a_port_that_only_reports_learns_and_forwards_all() -> None:
    learn = replace(PARAMS, ports={"tap*": replace(PARAMS.ports["tap*"], trust="learn")})
    guarded = Guarded(guarded_bridge(learn))
    guarded.hear("router", UPLINK, announced())
    assert claim(guarded, 11, A, X)
    assert claim(guarded, 12, B, X)
    guarded.wait(1.0)
    assert guarded.owner(X) == ("tap11", A)


def test_prefixes_outlive_a_restart(guarded: Guarded) -> None:
    bind(guarded, 11, A, X)
    again = guarded_bridge()
    again.first_hop.restore({**guarded.first_hop.dump(), "passed": 60.0})
    again.resume(10.0)
    again.go_on(10.0)
    after = Guarded(again)
    after.now = 11.0
    assert after.owner(X) == ("tap11", A)
    assert claim(after, 12, B, Y)


def test_the_address_that_follows_from_a_mac_address_is_freed_for_its_host() -> None:
    """Another host had claimed it before its host had any binding."""
    guarded = Guarded(guarded_bridge())
    guarded.hear("nd", 12, dad(B, link_local(A)).frame)
    guarded.wait(1.0)
    assert guarded.owner(link_local(A)) == ("tap12", B)
    assert guarded.lease(11, A, "10.0.0.9")
    assert guarded.owner(link_local(A)) is None
    assert guarded.switch == {(11, 0, A): (address("10.0.0.9"),)} == guarded.wanted()
    assert "bindings.conflict" in guarded.kinds()
    guarded.hear("nd", 12, dad(B, link_local(A)).frame)
    guarded.wait(1.0)
    assert guarded.owner(link_local(A)) is None


class TestAClaimByATrustedHost:
    """A router that comes back finds that a guest has taken its address."""

    def test_wins_over_a_guest_that_came_first(self, guarded: Guarded) -> None:
        bind(guarded, 11, A, X)
        detects = dad(ROUTER, X).frame
        assert not guarded.hear("nd_trusted", UPLINK, detects)
        assert guarded.switch == {}
        guarded.wait(0.4)
        assert guarded.forwarded[-1] == ForwardFrame(UPLINK, detects)
        assert guarded.hear("nd_trusted", UPLINK, detects), "no guest has it any more"
        assert guarded.owner(X) is None
        assert guarded.kinds() == ["bindings.conflict"]
        guarded.wait(5.0)
        assert not claim(guarded, 11, A, X), "the router does not answer while it detects"
        guarded.wait(6.0)
        assert claim(guarded, 11, A, X)
        answer(guarded, UPLINK, ROUTER, X)
        guarded.wait(1.0)
        assert guarded.owner(X) is None

    @pytest.mark.parametrize(
        ("kind", "frame"),
        [
            ("nd_trusted", advertisement(ROUTER, "fe80::1").frame),
            ("router", router_advertisement(ROUTER).but(source="fe80::1").frame),
        ],
    )
    def test_may_be_an_announcement(self, guarded: Guarded, kind: str, frame: bytes) -> None:
        bind(guarded, 11, A, "fe80::1")
        guarded.hear(kind, UPLINK, frame)
        assert guarded.owner("fe80::1") is None

    def test_ends_a_guests_claim(self, guarded: Guarded) -> None:
        assert claim(guarded, 11, A, X)
        guarded.hear("nd_trusted", UPLINK, dad(ROUTER, X).frame)
        guarded.wait(1.0)
        assert guarded.owner(X) is None

    def test_does_not_win_over_a_lease_a_user_or_the_same_host(self, guarded: Guarded) -> None:
        guarded.do(guarded.first_hop.add("tap11", 0, A, address(X), Origin.API, guarded.now))
        bind(guarded, 12, B, Y)
        guarded.hear("nd_trusted", UPLINK, dad(ROUTER, X).frame)
        guarded.hear("nd_trusted", UPLINK, dad(B, Y).frame)
        assert guarded.owner(X) == ("tap11", A)
        assert guarded.owner(Y) == ("tap12", B)
