"""Queries from 0.0.0.0 (and ::): of proxies, and of bridges that have no address to ask from."""

import pytest

from ofapp.bridge.multicast import (
    Params,
    PortParams,
    QuerierInfo,
    SetUnregistered,
    VlanParams,
)
from tests.unit.bridge.multicast.lan import TO_EX, V4, V6, Lan

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])


def info(lan: Lan, vx: Wire) -> QuerierInfo:
    queriers = lan.snooping.snapshot(lan.now).queriers
    return next(q for q in queriers if q.family == vx.family.value)


def proxied(vx: Wire, port: int = 5, **vlan: object) -> Lan:
    """A bridge with a querier at an unspecified address only, and that restricts."""
    lan = Lan(**vlan)
    lan.receive(port, vx.query(src=vx.none))
    lan.advance(10.0)
    lan.sent.clear()
    return lan


def reach(lan: Lan, vx: Wire) -> set[int]:
    """Where a report of port 1 goes."""
    lan.receive(1, vx.report((TO_EX, vx.group, [])))
    return set(lan.forwarded)


@both
def test_restricts_after_the_time_that_hosts_have_to_answer(vx: Wire) -> None:
    lan = Lan()
    lan.receive(5, vx.query(src=vx.none))
    lan.receive(1, vx.join())
    lan.advance(9.9)
    assert lan.heard_by(vx.other) == lan.everywhere
    lan.advance(0.1)
    assert lan.heard_by(vx.group) == {1, 5}
    assert lan.heard_by(vx.other) == {5}
    querier = info(lan, vx)
    assert (querier.state, querier.address, querier.port) == ("other", vx.none, 5)
    assert lan.kinds() == ["mcast.querier"]


@both
def test_who_asks_is_no_router_but_gets_reports_and_streams(vx: Wire) -> None:
    lan = proxied(vx)
    assert lan.snooping.snapshot(lan.now).routers == ()
    assert info(lan, vx).proxies == (5,)
    for frame in (vx.report((TO_EX, vx.group, [])), vx.join(), vx.leave()):
        lan.receive(1, frame)
        assert lan.forwarded == {5}
    assert lan.heard_by(vx.other) == {5}


@both
def test_every_port_where_somebody_asks_so_is_one(vx: Wire) -> None:
    lan = proxied(vx)
    lan.kinds()
    for _ in range(3):
        lan.receive(4, vx.query(src=vx.none))
        lan.receive(5, vx.query(src=vx.none))
    assert reach(lan, vx) == {4, 5}
    assert lan.kinds() == []  # none is better than the other
    lan.advance(200.0)
    lan.receive(4, vx.query(src=vx.none))
    lan.advance(60.0)
    assert reach(lan, vx) == {4}
    assert info(lan, vx).proxies == (4,)


@both
def test_ends_when_nobody_asks_any_more(vx: Wire) -> None:
    lan = proxied(vx)
    lan.advance(245.0)
    assert lan.heard_by(vx.other) == lan.everywhere
    assert info(lan, vx).state == "none"


@both
def test_a_better_querier_takes_over_and_is_the_only_router(vx: Wire) -> None:
    lan = proxied(vx)
    lan.receive(4, vx.query(src=vx.router))
    assert (info(lan, vx).address, info(lan, vx).proxies) == (vx.router, ())
    lan.receive(5, vx.query(src=vx.none))
    assert reach(lan, vx) == {4}
    lan.advance(200.0)
    lan.receive(5, vx.query(src=vx.none))
    # It goes, and who is left is heard with his next query.
    lan.advance(60.0)
    assert lan.heard_by(vx.other) == lan.everywhere
    lan.receive(5, vx.query(src=vx.none))
    lan.advance(10.0)
    assert lan.heard_by(vx.other) == {5}


@both
def test_a_port_that_is_never_a_router_port_is_no_such_port_either(vx: Wire) -> None:
    lan = proxied(vx)
    lan.do(lan.snooping.set_port_params(5, PortParams(mcast_router=0), lan.now))
    lan.receive(5, vx.query(src=vx.none))
    assert reach(lan, vx) == set()
    assert lan.heard_by(vx.other) == set()
    assert info(lan, vx).proxies == ()


@both
def test_a_port_that_leaves_the_vlan_or_closes_is_none(vx: Wire) -> None:
    lan = proxied(vx)
    lan.do(lan.snooping.set_port_states({5: (False, True)}, lan.now))
    assert reach(lan, vx) == set()
    # It comes back: who asks there is not asked himself, lest Linux believes he has lost.
    lan.sent.clear()
    lan.do(lan.snooping.set_port_states({5: (True, True)}, lan.now))
    assert lan.sent == []
    assert reach(lan, vx) == {5}
    lan.do(lan.snooping.set_vlan(lan.vid, {1, 2, 3, 4}, lan.now))
    assert reach(lan, vx) == set()


@both
def test_a_topology_change_is_asked_about_but_not_of_who_asks(vx: Wire) -> None:
    lan = proxied(vx)
    lan.do(lan.snooping.topology_change(lan.now))
    assert [ports for ports, _ in lan.queries()] == [{1, 2, 3, 4}]


def test_two_that_ask_from_no_address_both_ask_and_hear_each_others_members() -> None:
    lan = Lan(mcast_querier=True)
    lan.receive(5, V4.query(src=V4.none))
    lan.advance(10.0)
    assert (info(lan, V4).state, info(lan, V4).proxies) == ("self", (5,))
    assert reach(lan, V4) == {5}
    assert lan.heard_by(V4.group) == {1, 5}


def test_with_an_address_of_our_own_theirs_counts_no_more() -> None:
    for before, after in (
        ({"mcast_querier": True}, {"mcast_querier": True, "mcast_querier_address4": V4.own}),
        ({}, {"mcast_querier": True, "mcast_querier_address4": V4.own}),
    ):
        lan = proxied(V4, **before)
        assert reach(lan, V4) == {5}
        own = Params(vlan=VlanParams(**after))  # type: ignore[arg-type]
        lan.do(lan.snooping.set_params(own, lan.now))
        assert (info(lan, V4).state, info(lan, V4).address) == ("self", V4.own)
        lan.receive(5, V4.query(src=V4.none))
        assert reach(lan, V4) == set()


@both
def test_after_a_restart_a_proxy_is_somebody_who_asks(vx: Wire) -> None:
    lan = Lan()
    held = SetUnregistered(lan.vid, vx.family, frozenset({5}))
    lan.do(lan.snooping.restore([], [held], lan.now))
    lan.unregistered[lan.vid, vx.family] = frozenset({5})
    for _ in range(4):
        lan.receive(5, vx.query(src=vx.none))
        lan.advance(100.0)
        assert lan.heard_by(vx.other) == {5}
    assert lan.snooping.snapshot(lan.now).routers == ()
