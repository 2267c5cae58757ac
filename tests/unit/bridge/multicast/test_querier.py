"""Our querier and the others': startup, intervals, election, silence, report suppression."""

import pytest

from ofapp.bridge.multicast import Params, QuerierInfo, VlanParams
from ofapp.bridge.multicast.message import Query
from tests.unit.bridge.multicast.lan import V4, V6, Lan, ip

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])
OWN: dict[str, object] = {
    "mcast_querier": True,
    "mcast_querier_address4": V4.own,
    "mcast_querier_address6": V6.own,
}


def general(lan: Lan, vx: Wire) -> list[Query]:
    found = [query for _, query in lan.queries()]
    return [q for q in found if isinstance(q, Query) and q.family is vx.family and q.general]


def info(lan: Lan, vx: Wire) -> QuerierInfo:
    queriers = lan.snooping.snapshot(lan.now).queriers
    return next(q for q in queriers if q.family == vx.family.value)


@both
def test_off_by_default(vx: Wire) -> None:
    lan = Lan()
    lan.advance(1000.0)
    assert lan.queries() == []
    assert info(lan, vx).state == "none"


@both
def test_startup_queries_then_the_query_interval(vx: Wire) -> None:
    lan = Lan(**OWN, mcast_startup_query_count=3, mcast_startup_query_interval=20.0)
    times = []
    while lan.now < 1000.0 + 300.0:
        if general(lan, vx):
            times.append(lan.now - 1000.0)
        lan.advance(1.0)
    assert times == [0.0, 20.0, 40.0, 165.0, 290.0]


@both
def test_what_a_general_query_says(vx: Wire) -> None:
    lan = Lan(**OWN, mcast_query_interval=60.0, mcast_query_response_interval=5.0)
    (query,) = general(lan, vx)
    assert (query.version, query.source) == (vx.new, ip(vx.own))
    assert (query.max_resp, query.qqi, query.qrv) == (5.0, 60.0, 2)
    assert query.sources == ()


@both
def test_goes_to_every_forwarding_port_of_the_vlan(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.do(lan.snooping.set_port_states({2: (False, True)}, lan.now))
    lan.sent.clear()
    lan.advance(31.25)
    assert {ports for ports, _ in lan.queries()} == {frozenset({1, 3, 4, 5})}


@pytest.mark.parametrize(
    ("vx", "version", "name"),
    [(V4, 2, "igmp"), (V4, 3, "igmp"), (V6, 1, "mld"), (V6, 2, "mld")],
)
def test_configured_version(vx: Wire, version: int, name: str) -> None:
    lan = Lan(mcast_querier=True, **{f"mcast_{name}_version": version})
    assert [query.version for query in general(lan, vx)] == [version]


def test_default_addresses() -> None:
    lan = Lan(mcast_querier=True)
    sources = {query.source for _, query in lan.queries() if isinstance(query, Query)}
    assert sources == {ip("0.0.0.0"), ip("fe80::ff:fe00:fe")}


@both
def test_restricts_a_response_time_after_our_first_query(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.receive(1, vx.join())
    lan.advance(9.999)
    assert lan.heard_by(vx.other) == lan.everywhere
    lan.advance(0.001)
    assert lan.heard_by(vx.other) == set()
    assert lan.heard_by(vx.group) == {1}


@both
def test_a_lower_address_wins(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.sent.clear()
    lan.receive(5, vx.query(src=vx.low_router))
    assert info(lan, vx).state == "other"
    assert info(lan, vx).address == vx.low_router
    lan.advance(250.0)
    assert general(lan, vx) == []


@both
def test_a_higher_address_loses_but_is_a_router(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.receive(5, vx.query(src=vx.router))
    assert info(lan, vx).state == "self"
    lan.sent.clear()
    lan.advance(31.25)
    assert len(general(lan, vx)) == 1
    assert lan.heard_by(vx.other) == {5}


@both
def test_our_own_query_coming_back_changes_nothing(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.receive(5, vx.query(src=vx.own))
    lan.advance(20.0)
    assert info(lan, vx).state == "self"
    assert lan.heard_by(vx.other) == set()


def test_with_the_unspecified_address_every_other_wins() -> None:
    lan = Lan(mcast_querier=True)
    lan.receive(5, V4.query(src="223.0.0.1"))
    assert info(lan, V4).state == "other"


@both
def test_other_querier_present_interval_then_we_take_over(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.receive(5, vx.query(src=vx.low_router))
    lan.advance(100.0)
    lan.receive(5, vx.query(src=vx.low_router))
    lan.sent.clear()
    lan.advance(254.9)
    assert general(lan, vx) == []
    lan.advance(0.1)
    assert len(general(lan, vx)) == 1
    lan.advance(31.25)
    assert len(general(lan, vx)) == 1  # the startup behaviour again
    assert lan.heard_by(vx.other) == set()  # restricted all along: there always was a querier


@both
def test_election_between_two_others(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(4, vx.query(src=vx.low_router))
    assert info(lan, vx).address == vx.low_router
    lan.receive(5, vx.query(src=vx.router))
    assert (info(lan, vx).address, info(lan, vx).port) == (vx.low_router, 4)
    lan.advance(254.9)
    lan.receive(5, vx.query(src=vx.router))
    lan.advance(0.1)
    assert info(lan, vx).state == "none"
    lan.receive(5, vx.query(src=vx.router))
    assert info(lan, vx).address == vx.router


@both
def test_events_tell_of_a_change_and_not_of_each_query(vx: Wire) -> None:
    lan = Lan()
    lan.receive(5, vx.query())
    lan.advance(100.0)
    lan.receive(5, vx.query())
    assert lan.kinds() == ["mcast.querier", "mcast.router"]
    lan.advance(255.0)
    assert sorted(lan.kinds()) == ["mcast.querier", "mcast.router"]


@both
def test_intervals_of_the_querier_are_followed_if_longer(vx: Wire) -> None:
    """RFC 3376 4.1.6, 4.1.7: a querier that asks each 248 s would outlive our 255 s and 260 s."""
    lan = Lan()
    lan.receive(5, vx.query(qqic=0x8F, qrv=3))
    lan.receive(1, vx.join())
    lan.advance(3 * 248.0 - 0.1)
    assert lan.heard_by(vx.group) == {1, 5}
    lan.advance(5.1)
    assert lan.heard_by(vx.other) == lan.everywhere


@both
def test_but_a_forged_interval_is_believed_ten_times_ours_at_most(vx: Wire) -> None:
    lan = Lan()
    lan.receive(5, vx.query(qqic=0xFF, qrv=7))
    lan.receive(1, vx.join())
    lan.advance(2549.0)
    assert lan.heard_by(vx.group) == {1, 5}
    lan.advance(2.0)
    assert lan.heard_by(vx.other) == lan.everywhere


@both
def test_an_old_querier_is_followed(vx: Wire) -> None:
    lan = Lan()
    lan.receive(5, vx.query(version=vx.old))
    lan.advance(10.0)
    assert info(lan, vx).version == vx.old
    assert lan.heard_by(vx.other) == {5}


@both
def test_switching_ours_on_and_off(vx: Wire) -> None:
    lan = Lan()
    on = Params(vlan=VlanParams(**OWN))  # type: ignore[arg-type]
    lan.do(lan.snooping.set_params(on, lan.now))
    lan.advance(10.0)
    assert len(general(lan, vx)) == 1
    assert lan.heard_by(vx.other) == set()
    lan.do(lan.snooping.set_params(on, lan.now))
    lan.advance(0.0)
    assert general(lan, vx) == []
    lan.do(lan.snooping.set_params(Params(), lan.now))
    assert lan.heard_by(vx.other) == lan.everywhere
    lan.advance(300.0)
    assert general(lan, vx) == []


@both
def test_switched_on_beside_another_the_lower_address_asks(vx: Wire) -> None:
    on = Params(vlan=VlanParams(**OWN))  # type: ignore[arg-type]
    for other, state in ((vx.low_router, "other"), (vx.router, "self")):
        lan = Lan()
        lan.receive(5, vx.query(src=other))
        lan.do(lan.snooping.set_params(on, lan.now))
        assert info(lan, vx).state == state
        lan.do(lan.snooping.set_params(Params(), lan.now))
        assert info(lan, vx).state == ("other" if state == "other" else "none")


@both
def test_a_vlan_of_its_own(vx: Wire) -> None:
    lan = Lan()
    own = VlanParams(**OWN)  # type: ignore[arg-type]
    lan.do(lan.snooping.set_vlan(2, (1, 2), lan.now, own))
    assert {(effect.vid, effect.ports) for effect in lan.sent} == {(2, frozenset({1, 2}))}
    lan.do(lan.snooping.set_vlan(2, (1, 2), lan.now))
    assert {q.enabled for q in lan.snooping.snapshot(lan.now).queriers} == {False}


@both
def test_a_late_tick_sends_one_query_and_not_those_missed(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.sent.clear()
    lan.now += 1000.0
    lan.do(lan.snooping.tick(lan.now))
    assert len(general(lan, vx)) == 1


@both
def test_no_query_without_a_port(vx: Wire) -> None:
    lan = Lan(ports=0, **OWN)
    lan.advance(200.0)
    assert lan.queries() == []


# Report suppression.


@both
def test_suppression_off_passes_every_report(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    for port in (1, 2):
        lan.receive(port, vx.join(host=port))
        assert lan.forwarded == {5}


@both
def test_suppression_passes_one_report_a_query(vx: Wire) -> None:
    lan = Lan(mcast_report_suppression=True).restricted(vx)
    passed = []
    for query in (None, vx.query(), vx.query(group=vx.group)):
        if query:
            lan.advance(1.0)
            lan.receive(5, query)
        for port in (1, 2, 3):
            lan.receive(port, vx.join(host=port))
            passed.append(lan.forwarded == {5})
    assert passed == [True, False, False] * 3


@both
def test_suppression_passes_the_last_leave_only(vx: Wire) -> None:
    lan = Lan(mcast_report_suppression=True).restricted(vx)
    lan.receive(1, vx.join(host=1))
    lan.receive(2, vx.join(host=2))
    lan.receive(1, vx.leave(host=1))
    assert lan.forwarded == set()
    lan.receive(5, vx.query(group=vx.group))
    lan.receive(2, vx.join(host=2))
    assert lan.forwarded == {5}
    lan.advance(2.0)
    lan.receive(2, vx.leave(host=2))
    assert lan.forwarded == {5}


@both
def test_suppression_leaves_reports_with_sources_alone(vx: Wire) -> None:
    lan = Lan(mcast_report_suppression=True).restricted(vx)
    for port in (1, 2):
        lan.receive(port, vx.report((4, vx.group, []), host=port))
        assert lan.forwarded == {5}
