"""What people set and take away by hand: members that age, members forgotten, sources excluded."""

import pytest

from ofapp.bridge.multicast import PortParams
from tests.unit.bridge.multicast.lan import ALLOW, IS_EX, V4, V6, Lan, ip

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])


def join(lan: Lan, vx: Wire, port: int, source: str | None = None, *exclude: str) -> bool:
    packed = None if source is None else ip(source)
    joined, effects = lan.snooping.join(
        lan.vid, ip(vx.group), port, lan.now, packed, map(ip, exclude)
    )
    lan.do(effects)
    return joined


def forget(lan: Lan, **where: object) -> int:
    count, effects = lan.snooping.forget(lan.now, **where)  # type: ignore[arg-type]
    lan.do(effects)
    return count


@both
def test_a_member_by_hand_gets_the_group_and_ages(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    assert join(lan, vx, 2)
    assert lan.heard_by(vx.group) == {2, 5}
    lan.advance(200.0)
    lan.receive(5, vx.query())
    lan.advance(59.9)
    assert lan.heard_by(vx.group) == {2, 5}
    lan.advance(0.2)
    assert lan.entries == {}


@both
def test_a_member_by_hand_of_one_source_or_of_all_but_some(vx: Wire) -> None:
    a, b, *_ = vx.sources
    lan = Lan().restricted(vx)
    assert join(lan, vx, 2, a)
    assert join(lan, vx, 3, None, b)
    assert lan.heard_by(vx.group, a) == {2, 3, 5}
    assert lan.heard_by(vx.group, b) == {5}
    assert lan.heard_by(vx.group) == {3, 5}


@both
def test_a_host_that_leaves_ends_it_and_a_limit_holds(vx: Wire) -> None:
    lan = Lan(port_params=PortParams(mcast_max_groups=1)).restricted(vx)
    lan.receive(2, vx.report((IS_EX, vx.other, [])))
    assert not join(lan, vx, 2)
    assert join(lan, vx, 3)
    with pytest.raises(KeyError):
        join(lan, vx, 77)
    with pytest.raises(ValueError, match="group"):
        lan.snooping.join(lan.vid, ip(vx.flooded), 1, lan.now)
    with pytest.raises(ValueError, match="source"):
        join(lan, vx, 3, None, vx.group)


@both
def test_members_are_forgotten_until_they_report_again(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    for port in (1, 2):
        lan.receive(port, vx.report((IS_EX, vx.group, []), (IS_EX, vx.other, [])))
    assert forget(lan, group=ip(vx.group), port=1) == 1
    assert lan.heard_by(vx.group) == {2, 5}
    assert forget(lan, port=2, vid=9) == 0
    assert forget(lan, port=2, vid=lan.vid) == 2
    assert lan.heard_by(vx.group) == {5}
    assert forget(lan) == 1
    assert lan.entries == {}
    lan.receive(1, vx.join())
    assert lan.heard_by(vx.group) == {1, 5}


@both
def test_one_source_of_a_member_is_forgotten(vx: Wire) -> None:
    a, b, *_ = vx.sources
    lan = Lan().restricted(vx)
    lan.receive(1, vx.report((ALLOW, vx.group, [a, b])))
    assert forget(lan, source=ip(vx.sources[3])) == 0
    assert forget(lan, source=ip(a)) == 1
    assert (lan.heard_by(vx.group, a), lan.heard_by(vx.group, b)) == ({5}, {1, 5})
    assert forget(lan, source=ip(b)) == 1
    assert lan.entries == {}
    lan.receive(1, vx.report((IS_EX, vx.group, [a])))
    assert lan.heard_by(vx.group, a) == {5}
    assert forget(lan, source=ip(a)) == 1
    assert lan.heard_by(vx.group, a) == {1, 5}


@both
def test_a_permanent_entry_of_all_but_some_sources(vx: Wire) -> None:
    a, b, c, _ = vx.sources
    lan = Lan().restricted(vx)
    add = lan.snooping.add_permanent
    lan.do(add(lan.vid, ip(vx.group), 2, lan.now, None, (ip(a), ip(b))))
    lan.do(add(lan.vid, ip(vx.group), 3, lan.now))
    assert lan.heard_by(vx.group, a) == {3, 5}
    assert lan.heard_by(vx.group, c) == {2, 3, 5}
    (info, _) = lan.snooping.snapshot(lan.now).members
    assert [(s.address, s.blocked) for s in info.sources] == [(a, True), (b, True)]
    assert info.mode == "exclude"
    # It is replaced, and its own source stands beside it.
    lan.do(add(lan.vid, ip(vx.group), 2, lan.now, None, (ip(a),)))
    assert (lan.heard_by(vx.group, a), lan.heard_by(vx.group, b)) == ({3, 5}, {2, 3, 5})
    lan.do(add(lan.vid, ip(vx.group), 2, lan.now, ip(a)))
    assert lan.heard_by(vx.group, a) == {2, 3, 5}
    assert forget(lan) == 0
    lan.do(lan.snooping.remove_permanent(lan.vid, ip(vx.group), 2, lan.now, ip(a)))
    lan.do(lan.snooping.remove_permanent(lan.vid, ip(vx.group), 2, lan.now))
    assert lan.heard_by(vx.group) == {3, 5}
    with pytest.raises(ValueError, match="source"):
        add(lan.vid, ip(vx.group), 2, lan.now, None, (ip(vx.group),))
