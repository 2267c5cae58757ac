"""Fast leave: a stream ends at once, but not for another host known to be behind the port."""

import pytest

from ofapp.bridge.multicast import Params, PortParams, VlanParams
from tests.unit.bridge.multicast.lan import ALLOW, BLOCK, IS_EX, IS_IN, TO_EX, TO_IN, V4, V6, Lan

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])
FAST = PortParams(mcast_fast_leave=True)


def fast(limit: int = 512) -> Lan:
    params = Params(mcast_eht_hosts_limit=limit, vlan=VlanParams(mcast_querier=True))
    lan = Lan(params=params, port_params=FAST)
    lan.advance(60.0)
    lan.sent.clear()
    lan.events.clear()
    return lan


@both
def test_the_only_host_leaves_and_nothing_is_asked(vx: Wire) -> None:
    lan = fast()
    for join, leave in (
        (vx.join(), vx.leave()),
        (vx.report((IS_EX, vx.other, [])), vx.report((TO_IN, vx.other, []))),
    ):
        lan.receive(1, join)
        lan.receive(1, leave)
        assert lan.entries == {}
    assert lan.queries() == []


@both
def test_another_known_host_keeps_it(vx: Wire) -> None:
    lan = fast()
    lan.receive(1, vx.join(host=1))
    lan.receive(1, vx.join(host=2))
    lan.receive(1, vx.leave(host=1))
    assert lan.heard_by(vx.group) == {1}
    assert len(lan.queries()) == 1  # asked as without fast leave
    lan.receive(1, vx.leave(host=2))
    assert lan.entries == {}


@both
def test_a_host_that_fell_silent_protects_nobody(vx: Wire) -> None:
    lan = fast()
    lan.receive(1, vx.join(host=1))
    lan.receive(1, vx.join(host=2))
    lan.advance(200.0)
    lan.receive(1, vx.join(host=1))
    lan.advance(100.0)
    lan.receive(1, vx.leave(host=1))
    assert lan.entries == {}


@both
def test_sources_one_by_one(vx: Wire) -> None:
    lan = fast()
    a, b, c, _ = vx.sources
    lan.receive(1, vx.report((ALLOW, vx.group, [a, b]), host=1))
    lan.receive(1, vx.report((ALLOW, vx.group, [b, c]), host=2))
    lan.receive(1, vx.report((BLOCK, vx.group, [a]), host=1))
    assert [lan.heard_by(vx.group, s) for s in (a, b, c)] == [set(), {1}, {1}]
    lan.receive(1, vx.report((BLOCK, vx.group, [b]), host=1))
    assert [lan.heard_by(vx.group, s) for s in (a, b, c)] == [set(), {1}, {1}]
    lan.receive(1, vx.report((TO_IN, vx.group, []), host=2))
    assert lan.entries == {}


@both
def test_exclude_leaves_and_include_stays(vx: Wire) -> None:
    lan = fast()
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((ALLOW, vx.group, [a]), host=1))
    lan.receive(1, vx.report((TO_EX, vx.group, [b]), host=2))
    assert lan.heard_by(vx.group) == {1}
    lan.receive(1, vx.report((TO_IN, vx.group, []), host=2))
    assert lan.heard_by(vx.group) == set()
    assert [lan.heard_by(vx.group, s) for s in (a, b)] == [{1}, set()]


@both
def test_a_source_every_host_excludes_is_blocked_at_once(vx: Wire) -> None:
    lan = fast()
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((TO_EX, vx.group, []), host=1))
    lan.receive(1, vx.report((TO_EX, vx.group, []), host=2))
    lan.receive(1, vx.report((ALLOW, vx.group, [b]), host=3))
    lan.receive(1, vx.report((BLOCK, vx.group, [a, b]), host=1))
    assert [lan.heard_by(vx.group, s) for s in (a, b)] == [{1}, {1}]
    lan.receive(1, vx.report((BLOCK, vx.group, [a, b]), host=2))
    assert [lan.heard_by(vx.group, s) for s in (a, b)] == [set(), {1}]
    lan.receive(1, vx.report((ALLOW, vx.group, [a]), host=2))
    assert [lan.heard_by(vx.group, s) for s in (a, b)] == [{1}, {1}]


@both
def test_an_answer_about_sources_is_no_change_of_mode(vx: Wire) -> None:
    """RFC 3376 5.2: a host in EXCLUDE mode answers a source query with MODE_IS_INCLUDE."""
    lan = fast()
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((TO_EX, vx.group, []), host=1))
    lan.receive(1, vx.report((TO_EX, vx.group, [a]), host=2))
    assert len(lan.queries()) == 1
    lan.receive(1, vx.report((IS_IN, vx.group, [a]), host=1))
    lan.receive(1, vx.report((TO_IN, vx.group, []), host=2))
    assert [lan.heard_by(vx.group, s) for s in (None, a, b)] == [{1}, {1}, {1}]


@both
def test_more_hosts_than_can_be_tracked_are_asked_as_usual(vx: Wire) -> None:
    lan = fast(limit=2)
    for host in (1, 2, 3):
        lan.receive(1, vx.join(host=host))
    assert lan.kinds() == ["mcast.limit.reached"]
    lan.receive(1, vx.leave(host=1))
    assert lan.heard_by(vx.group) == {1}
    assert len(lan.queries()) == 1
    lan.advance(2.0)
    assert lan.entries == {}
    assert lan.kinds() == ["mcast.limit.recovered"]


@both
def test_a_full_table_still_lets_a_stranger_leave(vx: Wire) -> None:
    lan = fast(limit=1)
    lan.receive(1, vx.join(host=1))
    lan.receive(1, vx.leave(host=2))
    assert lan.heard_by(vx.group) == {1}
    lan.receive(1, vx.leave(host=1))
    assert lan.entries == {}


@both
def test_switching_it_on_and_off(vx: Wire) -> None:
    lan = fast()
    lan.do(lan.snooping.set_port_params(1, PortParams(), lan.now))
    lan.receive(1, vx.join())
    lan.do(lan.snooping.set_port_params(1, FAST, lan.now))
    lan.do(lan.snooping.set_port_params(1, FAST, lan.now))
    lan.receive(1, vx.leave())
    assert lan.entries == {}
    lan.receive(1, vx.join())
    lan.do(lan.snooping.set_port_params(1, PortParams(), lan.now))
    lan.receive(1, vx.leave())
    assert lan.heard_by(vx.group) == {1}


def test_igmpv1_hosts_make_it_wait() -> None:
    lan = fast()
    lan.receive(1, V4.join_v1(host=1))
    lan.receive(1, V4.join(host=2))
    lan.receive(1, V4.leave(host=2))
    assert lan.heard_by(V4.group) == {1}


@both
def test_the_host_limit_recovers_with_slack(vx: Wire) -> None:
    lan = fast(limit=8)
    for host in range(1, 9):
        lan.receive(1, vx.join(host=host))
    lan.receive(1, vx.join(vx.other, host=1))
    lan.receive(1, vx.report((TO_EX, vx.other, []), (TO_IN, vx.other, [])))
    lan.advance(2.0)
    assert lan.kinds() == ["mcast.limit.reached"]
    for host in range(1, 9):
        lan.receive(1, vx.leave(host=host))
    assert lan.kinds() == ["mcast.limit.recovered"]


@both
def test_blocking_a_source_nobody_asked_for(vx: Wire) -> None:
    lan = fast()
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((TO_EX, vx.group, [a])))
    lan.receive(1, vx.report((BLOCK, vx.group, [b])))
    assert [lan.heard_by(vx.group, s) for s in (None, a, b)] == [{1}, set(), set()]
    lan.receive(1, vx.report((IS_EX, vx.group, []), host=2))
    lan.receive(1, vx.report((BLOCK, vx.group, [a]), host=3))
    assert lan.heard_by(vx.group) == {1}


@both
def test_excluded_sources_without_room_are_forwarded(vx: Wire) -> None:
    vlan = VlanParams(mcast_querier=True)
    lan = Lan(1, params=Params(mcast_hash_max=1, vlan=vlan), port_params=FAST)
    lan.advance(60.0)
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((TO_EX, vx.group, [a])))
    lan.receive(1, vx.report((BLOCK, vx.group, [b])))
    assert [lan.heard_by(vx.group, s) for s in (None, a, b)] == [{1}, {1}, {1}]
    assert len(lan.entries) == 1
