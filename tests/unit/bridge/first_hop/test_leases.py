"""Bindings by DHCP through a whole bridge: made by what the server grants, before it is heard."""

from dataclasses import replace
from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import ForwardFrame, StateChanged
from ofapp.bridge.effects.content import BoundHost
from ofapp.bridge.first_hop.binding import DhcpRequest, Origin
from tests.support.dhcp_frames import (
    Arp,
    Bootp,
    ack,
    decline,
    discover,
    from_client4,
    ia_na,
    ia_pd,
    nak,
    offer,
    option6,
    release,
    renewal,
    reply6,
    request,
    request6,
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

X = "10.0.0.9"


@pytest.fixture
def guarded() -> Guarded:
    return Guarded(guarded_bridge())


def only(bridge: Bridge) -> Any:
    """The only binding."""
    (binding,) = bridge.first_hop.bindings()
    return binding


def test_the_switch_has_the_binding_before_the_host_hears_of_its_address(guarded: Guarded) -> None:
    assert guarded.hear("dhcp", 11, discover(A))
    assert guarded.hear("dhcp_server", UPLINK, offer(A, X))
    assert guarded.hear("dhcp", 11, request(A, X))
    assert guarded.switch == {}
    assert guarded.hear("dhcp_server", UPLINK, ack(A, X))
    assert guarded.effects == [
        BoundHost(11, 0, A, (address(X),)),
        ForwardFrame(UPLINK, ack(A, X)),
        StateChanged("bindings"),
    ]
    binding = only(guarded.bridge)
    assert (binding.port, binding.origin, binding.lifetime) == ("tap11", Origin.DHCP, 3600.0)
    assert guarded.first_hop.seconds_left(binding, guarded.now + 600) == 3000.0


def test_answers_that_arrive_together_follow_all_their_bindings(guarded: Guarded) -> None:
    guarded.hear("dhcp", 11, request(A, X))
    guarded.hear("dhcp", 12, request(B, "10.0.0.10", xid=2))
    answers = [(UPLINK, ack(A, X)), (UPLINK, offer(C, X)), (UPLINK, ack(B, "10.0.0.10", xid=2))]
    effects = guarded.bridge.hear("dhcp_server", answers, 1.0)
    kinds = [type(effect).__name__ for effect in effects]
    assert kinds[:3] == ["ForwardFrame", "BoundHost", "BoundHost"], "an offer needs none"
    assert kinds[3:] == ["ForwardFrame", "ForwardFrame", "StateChanged"]


def test_a_renewal_lasts_longer_and_changes_no_flow(guarded: Guarded) -> None:
    guarded.lease(11, A, X, seconds=100)
    guarded.wait(60)
    assert guarded.hear("dhcp", 11, renewal(A, X))
    assert guarded.hear("dhcp_server", UPLINK, ack(A, X, seconds=100))
    assert not [each for each in guarded.effects if isinstance(each, BoundHost)]
    guarded.wait(90)
    assert guarded.owner(X) == ("tap11", A)
    guarded.wait(10)
    assert guarded.owner(X) is None
    assert guarded.switch == {}
    assert guarded.first_hop.counters["expired"] == 1
    assert [each.address for each in guarded.first_hop.ended(A)] == [address(X)]


def test_a_lease_without_an_end(guarded: Guarded) -> None:
    guarded.lease(11, A, X, seconds=0xFFFFFFFF)
    assert guarded.bridge.next_wakeup() is None
    assert only(guarded.bridge).expires is None


def test_the_end_of_a_lease_is_exact(guarded: Guarded) -> None:
    guarded.lease(11, A, X, seconds=100)
    guarded.lease(12, B, "10.0.0.10", seconds=50)
    assert guarded.bridge.next_wakeup() == 51.0


@pytest.mark.parametrize("message", [release(A, X), decline(A, X)])
def test_only_the_host_itself_gives_its_address_back(guarded: Guarded, message: bytes) -> None:
    guarded.lease(11, A, X)
    assert not guarded.hear("dhcp", 12, message), "another port"
    forged = release(B, X) if message == release(A, X) else decline(B, X)
    assert not guarded.hear("dhcp", 12, forged)
    assert guarded.owner(X) == ("tap11", A)
    assert guarded.hear("dhcp", 11, message)
    assert guarded.owner(X) is None
    assert guarded.switch == {}


def test_a_server_takes_an_address_back(guarded: Guarded) -> None:
    guarded.lease(11, A, X)
    guarded.hear("dhcp", 11, request(A, X, xid=7))
    assert guarded.hear("dhcp_server", UPLINK, nak(A, xid=7))
    assert guarded.owner(X) is None


def test_a_server_gives_an_address_to_another_host(guarded: Guarded) -> None:
    guarded.lease(11, A, X)
    assert not guarded.lease(12, B, X), "A is asked first"
    guarded.wait(4.0)
    assert guarded.lease(12, B, X), "B repeats its request (RFC 2131 4.1)"
    assert guarded.owner(X) == ("tap12", B)
    assert guarded.switch == {(12, 0, B): (address(X),)}
    assert "bindings.moved" in guarded.kinds()


def test_a_host_with_the_client_identifier_of_another_one_gets_nothing(guarded: Guarded) -> None:
    """dnsmasq 2.90 and Kea 2.2 grant it the address of that one [measured]."""
    guarded.lease(11, A, X)
    for _ in range(3):
        assert not guarded.lease(12, B, X)
        guarded.hear("answer", 11, Arp(A, X, "0.0.0.0", operation=2).frame())
        guarded.wait(4.0)
    assert guarded.owner(X) == ("tap11", A)
    assert guarded.switch == {(11, 0, A): (address(X),)}
    assert guarded.kinds().count("bindings.conflict") == 1
    assert guarded.first_hop.counters["conflicts"] == 3
    guarded.wait(60.0)
    assert not guarded.lease(12, B, X)
    assert guarded.kinds().count("bindings.conflict") == 2


def test_an_address_of_a_host_that_is_gone_is_given_at_once(guarded: Guarded) -> None:
    guarded.lease(11, A, X)
    guarded.link(11, up=False)
    assert guarded.lease(12, B, X)
    assert guarded.switch == {(12, 0, B): (address(X),)}


def test_another_network_card_of_the_same_guest_has_its_address_at_once(guarded: Guarded) -> None:
    guarded.lease(11, A, X)
    assert guarded.lease(11, B, X)
    assert guarded.switch == {(11, 0, B): (address(X),)}


def test_vlans_are_apart(guarded: Guarded) -> None:
    guarded.lease(11, A, X, vid=5)
    guarded.lease(12, B, X, vid=6)
    assert guarded.switch == {(11, 5, A): (address(X),), (12, 6, B): (address(X),)}


def test_dhcpv6_addresses_and_prefixes(guarded: Guarded) -> None:
    guarded.hear("dhcp", 11, request6(A))
    answer = reply6(A, ia_na(("2001:db8::9", 300)), ia_pd("2001:db8:5::", 56, 600))
    assert guarded.hear("dhcp_server", UPLINK, answer)
    both = (address("2001:db8::9"), address("2001:db8:5::/56"))
    assert guarded.switch == {(11, 0, A): both}
    guarded.wait(301)
    assert guarded.switch == {(11, 0, A): both[1:]}


def test_a_user_has_the_last_word(guarded: Guarded) -> None:
    guarded.lease(11, A, X)
    guarded.do(guarded.first_hop.add("tap12", 0, B, address(X), Origin.FILE, 2.0))
    assert guarded.switch == {(12, 0, B): (address(X),)}
    assert guarded.kinds() == ["bindings.replaced"]
    assert not guarded.lease(11, A, X), "the answer is dropped"
    assert guarded.owner(X) == ("tap12", B)
    assert guarded.kinds()[1:] == ["bindings.conflict"]
    assert guarded.lease(12, B, X)
    assert only(guarded.bridge).origin is Origin.FILE
    assert guarded.bridge.next_wakeup() is None


def test_a_request_may_come_from_the_hosts_own_address(guarded: Guarded) -> None:
    """With ciaddr 0: a host that had the address before, or that has a second client."""
    message = Bootp(mac=A, xid=7)
    assert not guarded.hear("dhcp", 11, from_client4(message, source=X)), "not bound"
    guarded.lease(11, A, X)
    assert guarded.hear("dhcp", 11, from_client4(message, source=X))
    for ciaddr in ("0.0.0.0", X):
        forged = from_client4(replace(message, ciaddr=ciaddr), source="10.0.0.8")
        assert not guarded.hear("dhcp", 11, forged)
    guarded.lease(12, B, "10.0.0.8")
    assert not guarded.hear("dhcp", 11, from_client4(message, source="10.0.0.8"))
    assert guarded.first_hop.counters["dhcp_source_not_bound"] == 4
    (last, *_) = guarded.first_hop.refused()
    assert last.reason == "dhcp_source_not_bound"


class TestLimits:
    def test_of_a_port(self) -> None:
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=2)))
        assert guarded.lease(11, A, "10.0.0.1")
        assert guarded.lease(11, B, "10.0.0.2")
        assert not guarded.lease(11, C, "10.0.0.3"), "it must not believe that it has an address"
        assert not guarded.lease(11, C, "10.0.0.4")
        assert guarded.lease(11, A, "10.0.0.1"), "a renewal"
        assert guarded.kinds() == ["bindings.full", "bindings.refused"]
        (full,) = guarded.first_hop.full("tap11", 0)
        assert (full.where, full.most, full.refused) == ("port tap11", 2, 2)
        assert guarded.first_hop.counters["refused_port_limit"] == 2
        assert guarded.lease(12, C + 1, "10.0.0.3"), "other ports have room"
        guarded.hear("dhcp", 11, release(B, "10.0.0.2"))
        assert guarded.kinds()[2:] == ["bindings.full.cleared"]
        assert not [*guarded.first_hop.full("tap11", 0)]

    def test_a_client_counts_when_it_asks(self) -> None:
        """A server commits a lease to each client that it hears."""
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=2)))
        assert guarded.lease(11, A, "10.0.0.1")
        assert guarded.hear("dhcp", 11, discover(B))
        assert not guarded.hear("dhcp", 11, discover(C))
        assert not guarded.hear("dhcp", 11, request(C, "10.0.0.3", xid=2))
        assert guarded.first_hop.counters["dhcp_clients_limit"] == 2
        assert guarded.kinds() == ["bindings.full", "bindings.refused"]
        for answer in (discover(A, xid=3), renewal(A, "10.0.0.1", xid=4), discover(B, xid=5)):
            assert guarded.hear("dhcp", 11, answer), "who has asked before may ask again"
        assert guarded.hear("dhcp", 12, discover(C, xid=6)), "other ports have room"

    def test_a_client_without_a_lease_makes_room(self) -> None:
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=1)))
        assert guarded.hear("dhcp", 11, discover(A))
        assert not guarded.hear("dhcp", 11, discover(B, xid=2))
        guarded.wait(59)
        assert not guarded.hear("dhcp", 11, discover(B, xid=3))
        guarded.wait(2)
        assert guarded.kinds()[-1] == "bindings.full.cleared"
        assert guarded.lease(11, B, X)

    def test_one_host_may_be_many_clients(self) -> None:
        """A server leases by option 61, and by DUID and identity association."""
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=2)))

        def asks(number: int) -> bool:
            options = ((61, bytes((1, number))),)
            return guarded.hear("dhcp", 11, from_client4(Bootp(mac=A, xid=number, options=options)))

        assert [asks(number) for number in (1, 2, 3, 2)] == [True, True, False, True]
        many = [option6(3, bytes((0, 0, 0, number)) + bytes(8)) for number in range(3)]
        assert guarded.hear("dhcp", 12, request6(B, many[0]))
        assert not guarded.hear("dhcp", 12, request6(B, *many, xid=2))
        assert guarded.hear("dhcp", 12, request6(B, many[0], xid=3))

    def test_a_restart_knows_the_clients_of_its_bindings(self) -> None:
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=1)))
        assert guarded.lease(11, A, X)
        after = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=1)))
        after.first_hop.restore(guarded.first_hop.dump() | {"passed": 1.0})
        after.first_hop.go_on(1.0)
        assert not after.hear("dhcp", 11, discover(B))
        assert after.lease(11, A, X)
        options = ((61, b"another"),)
        other = from_client4(Bootp(mac=A, xid=9, options=options))
        assert not after.hear("dhcp", 11, other)

    def test_a_binding_of_a_user_is_one_client(self) -> None:
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=1)))
        assert guarded.lease(11, B, "10.0.0.2")
        guarded.do(guarded.first_hop.add("tap11", 0, A, address(X), Origin.FILE, 2.0))
        assert guarded.lease(11, A, X)
        options = ((61, b"another"),)
        assert not guarded.hear("dhcp", 11, from_client4(Bootp(mac=A, xid=9, options=options)))

    def test_declined_addresses_take_room(self) -> None:
        """A server leases another address then, and no host gets the declined one."""
        guarded = Guarded(guarded_bridge(with_guard(PARAMS, max_bindings=2)))
        for number in (1, 2):
            assert guarded.lease(11, A, f"10.0.0.{number}")
            assert guarded.hear("dhcp", 11, decline(A, f"10.0.0.{number}"))
        assert not guarded.hear("dhcp", 11, discover(A, xid=3))
        guarded.wait(601)
        assert guarded.lease(11, A, X)

    def test_of_a_vlan_and_the_bridge(self) -> None:
        params = replace(PARAMS.first_hop, max_bindings=3, max_vlan_bindings=2)
        guarded = Guarded(guarded_bridge(replace(PARAMS, first_hop=params)))
        assert guarded.lease(11, A, "10.0.0.1", vid=5)
        assert guarded.lease(12, B, "10.0.0.2", vid=5)
        assert not guarded.lease(13, C, "10.0.0.3", vid=5)
        assert guarded.lease(13, C, "10.0.0.3", vid=6)
        assert not guarded.lease(13, C, "10.0.0.4", vid=7)
        assert guarded.first_hop.counters["refused_vlan_limit"] == 1
        assert guarded.first_hop.counters["refused_bridge_limit"] == 1
        assert guarded.kinds().count("bindings.full") == 2
        guarded.do(guarded.first_hop.add("tap11", 5, A, address("10.0.0.7"), Origin.API, 2.0))
        raised = replace(PARAMS, first_hop=replace(params, max_bindings=9, max_vlan_bindings=9))
        guarded.do(guarded.bridge.set_params(raised, 3.0))
        assert guarded.kinds()[-2:] == ["bindings.full.cleared", "bindings.full.cleared"]


def test_a_port_that_only_reports_drops_nothing() -> None:
    learn = replace(PARAMS, ports={"tap*": replace(PARAMS.ports["tap*"], trust="learn")})
    guarded = Guarded(guarded_bridge(learn))
    assert guarded.lease(11, A, X)
    assert guarded.hear("dhcp", 12, release(A, X)), "another host's, which is only counted"
    assert guarded.owner(X) == ("tap11", A)


def test_frames_of_a_port_that_is_not_guarded_any_more_pass(guarded: Guarded) -> None:
    guarded.do(guarded.bridge.set_params(replace(PARAMS, ports={}), 1.0))
    assert guarded.hear("dhcp", 11, request(A, X))
    assert guarded.hear("dhcp_server", UPLINK, ack(A, X))
    assert guarded.owner(X) is None


def test_no_binding_ends_while_the_switch_is_away(guarded: Guarded) -> None:
    guarded.lease(11, A, X, seconds=100)
    guarded.bridge.pause(31.0)
    assert guarded.bridge.next_wakeup() is None
    guarded.bridge.resume(5000.0)
    guarded.bridge.go_on(5001.0)
    assert guarded.bridge.next_wakeup() == 5071.0
    assert guarded.first_hop.seconds_left(only(guarded.bridge), 5001.0) == 70.0


class TestARestart:
    def again(self, guarded: Guarded, passed: float) -> Guarded:
        bridge = Bridge(1, PARAMS)
        data = {**guarded.first_hop.dump(), "passed": passed}
        assert bridge.first_hop.restore(data) == []
        bridge.set_ports([*guarded.bridge.ports], 10.0)
        bridge.resume(10.0)
        bridge.go_on(10.0)
        return Guarded(bridge)

    def test_takes_nothing_away(self, guarded: Guarded) -> None:
        guarded.lease(11, A, X, seconds=1000)
        guarded.lease(12, B, "10.0.0.10", seconds=0xFFFFFFFF)
        again = self.again(guarded, 100.0)
        assert again.wanted() == guarded.switch
        assert again.bridge.next_wakeup() == 910.0, "1000 s, of which 100 s have passed"

    def test_leaves_time_to_renew_what_was_renewed_meanwhile(self, guarded: Guarded) -> None:
        guarded.lease(11, A, X, seconds=1000)
        assert self.again(guarded, 90_000.0).bridge.next_wakeup() == 510.0

    def test_users_win(self, guarded: Guarded) -> None:
        guarded.lease(11, A, X)
        bridge = Bridge(1, PARAMS)
        bridge.first_hop.add("tap12", 0, B, address(X), Origin.FILE, 0.0)
        bridge.first_hop.restore({**guarded.first_hop.dump(), "passed": 0})
        assert only(bridge).mac == B

    @pytest.mark.parametrize("data", [{}, [], {"bindings": {}, "passed": 1}, {"bindings": []}])
    def test_with_a_damaged_document(self, data: Any) -> None:
        with pytest.raises(ValueError, match="binding"):
            guarded_bridge().first_hop.restore(data)

    def test_with_damaged_rows(self, guarded: Guarded) -> None:
        guarded.lease(11, A, X)
        (row,) = guarded.first_hop.dump()["bindings"]
        rows: list[Any] = [
            row,
            None,
            [],
            [*row, 1],
            *([*row[:i], {}, *row[i + 1 :]] for i in range(8)),
        ]
        rows += [
            [*row[:2], 1 << 40, *row[3:]],
            [*row[:3], "zz", *row[4:]],
            [*row[:5], "file", *row[6:]],
        ]
        bridge = Bridge(1, PARAMS)
        (fault,) = bridge.first_hop.restore({"bindings": rows, "passed": 0.0, "prefixes": [1, []]})
        assert fault.startswith(f"{len(rows) - 1} of its bindings")
        assert only(bridge).address == address(X)


def test_a_lease_that_is_not_known_is_bound_when_it_is_renewed(guarded: Guarded) -> None:
    assert guarded.hear("dhcp", 11, renewal(A, X))
    assert guarded.owner(X) is None
    assert guarded.hear("dhcp_server", UPLINK, ack(A, X))
    assert guarded.owner(X) == ("tap11", A)
    assert not guarded.hear("dhcp", 12, renewal(B, X)), "it is another host's"
    assert guarded.first_hop.counters["dhcp_source_not_bound"] == 1


def test_requests_that_no_server_answers_are_known(guarded: Guarded) -> None:
    for guarded.now in (1.0, 4.0):
        guarded.hear("dhcp", 11, discover(A))
    assert [*guarded.first_hop.unanswered(A)] == [
        DhcpRequest("tap11", 0, A, "discover", 2, 1.0, 4.0)
    ]
    guarded.hear("dhcp_server", UPLINK, offer(A, X))
    assert not [*guarded.first_hop.unanswered(A)]
    guarded.hear("dhcp", 11, request(A, X, xid=2))
    guarded.do(guarded.bridge.remove_port(11, 5.0))
    assert not [*guarded.first_hop.unanswered(A)]


def test_a_guest_is_no_server_also_if_the_switch_does_not_know_it_yet(guarded: Guarded) -> None:
    guarded.hear("dhcp", 11, request(A, X))
    assert not guarded.hear("dhcp_server", 12, ack(A, X))
    assert guarded.owner(X) is None
    assert guarded.first_hop.counters["dhcp_server_not_allowed"] == 1
