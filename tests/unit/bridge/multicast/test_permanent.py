"""Permanent entries, a controller restart, and what the API shows."""

import pytest

from ofapp.bridge.multicast import (
    Params,
    PortParams,
    RemoveGroup,
    SetGroup,
    SetUnregistered,
    Snooping,
    SourceInfo,
    VlanParams,
    text,
)
from ofapp.bridge.multicast.message import Query
from tests.unit.bridge.multicast.lan import ALLOW, IS_EX, MAC, TO_EX, V4, V6, Lan, ip

MAC_GROUP = bytes.fromhex("010001c0ffee")
Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])


@both
def test_a_permanent_entry_needs_no_report(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 2, lan.now))
    lan.receive(1, vx.join())
    lan.advance(200.0)
    lan.receive(5, vx.query())
    lan.advance(100.0)
    assert lan.heard_by(vx.group) == {2, 5}
    lan.do(lan.snooping.remove_permanent(1, ip(vx.group), 2, lan.now))
    assert lan.entries == {}


@both
def test_a_permanent_source(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    a, b, _, _ = vx.sources
    for source in (a, b):
        lan.do(lan.snooping.add_permanent(1, ip(vx.group), 2, lan.now, ip(source)))
    lan.receive(3, vx.join())
    assert lan.heard_by(vx.group, a) == {2, 3, 5}
    assert lan.heard_by(vx.group) == {3, 5}
    lan.do(lan.snooping.remove_permanent(1, ip(vx.group), 2, lan.now, ip(a)))
    assert lan.heard_by(vx.group, a) == {3, 5}
    assert lan.heard_by(vx.group, b) == {2, 3, 5}
    lan.do(lan.snooping.set_port_states({2: (False, True)}, lan.now))
    assert lan.heard_by(vx.group, b) == {3, 5}


@both
def test_permanent_all_and_one_source(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 2, lan.now))
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 3, lan.now, ip(vx.sources[0])))
    assert lan.heard_by(vx.group, vx.sources[0]) == {2, 3, 5}
    assert lan.heard_by(vx.group) == {2, 5}


@both
def test_the_vlan_and_the_port_may_come_later(vx: Wire) -> None:
    lan = Lan()
    lan.do(lan.snooping.add_permanent(7, ip(vx.group), 9, lan.now))
    lan.do(lan.snooping.add_permanent(7, ip(vx.other), 9, lan.now))
    lan.do(lan.snooping.add_permanent(8, ip(vx.other), 9, lan.now))
    lan.do(lan.snooping.remove_permanent(7, ip(vx.other), 9, lan.now))
    on = VlanParams(mcast_querier=True)
    lan.do(lan.snooping.set_vlan(7, (1, 9), lan.now, on))
    lan.advance(10.0)
    assert lan.heard_by(vx.group, vid=7) == set()
    lan.do(lan.snooping.add_port(9, lan.now))
    lan.do(lan.snooping.set_port_states({9: (True, True)}, lan.now))
    assert lan.heard_by(vx.group, vid=7) == {9}


@both
def test_permanent_entries_survive_snooping_being_off_and_the_vlan(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 2, lan.now))
    lan.do(lan.snooping.add_permanent(1, MAC_GROUP, 3, lan.now))
    lan.do(lan.snooping.set_params(Params(mcast_snooping=False), lan.now))
    assert lan.entries == {}
    lan.do(lan.snooping.set_params(Params(), lan.now))
    assert lan.entries == {(1, MAC_GROUP, None): {3}}
    lan.do(lan.snooping.remove_vlan(1, lan.now))
    assert lan.entries == {}
    lan.do(lan.snooping.set_vlan(1, lan.everywhere, lan.now))
    lan.restricted(vx)
    assert lan.heard_by(vx.group) == {2, 5}


@pytest.mark.parametrize(
    ("group", "source", "named"),
    [
        ("224.0.0.5", None, "group"),
        ("10.0.0.1", None, "group"),
        ("fe80::1", None, "group"),
        ("ff01::5", None, "group"),
        ("ff02::1", None, "group"),
        ("239.1.1.1", "239.1.1.2", "source"),
        ("239.1.1.1", "fe80::1", "source"),
        ("ff05::1", "::", "source"),
    ],
)
def test_what_cannot_be_permanent(group: str, source: str | None, named: str) -> None:
    snooping = Snooping(Params(), MAC)
    with pytest.raises(ValueError, match=rf"^{named}: "):
        snooping.add_permanent(1, ip(group), 1, 0.0, ip(source) if source else None)
    with pytest.raises(ValueError, match=r"^group: "):
        snooping.add_permanent(1, b"abc", 1, 0.0)
    with pytest.raises(KeyError):
        snooping.remove_permanent(1, ip("239.1.1.1"), 1, 0.0)


# Restart.


def restarted(old: Lan, **vlan: object) -> tuple[Lan, list[object]]:
    """A new controller that finds what the old one left in the switch."""
    new = Lan(len(old.everywhere), now=old.now, **vlan)
    new.entries, new.unregistered = dict(old.entries), dict(old.unregistered)
    groups = [SetGroup(*key, ports) for key, ports in old.entries.items()]
    unregistered = [SetUnregistered(*key, ports) for key, ports in old.unregistered.items()]
    new.changes = 0
    effects = new.do(new.snooping.restore(groups, unregistered, new.now))
    return new, list(effects)


def busy(vx: Wire) -> Lan:
    lan = Lan().restricted(vx)
    a, b, _, _ = vx.sources
    lan.receive(1, vx.join())
    lan.receive(2, vx.report((TO_EX, vx.group, [a]), host=2))
    lan.receive(3, vx.report((ALLOW, vx.group, [a, b]), host=3))
    lan.receive(3, vx.report((ALLOW, vx.other, [a]), host=3))
    lan.advance(200.0)
    return lan


@both
def test_a_restart_changes_nothing_in_the_switch_and_asks(vx: Wire) -> None:
    old = busy(vx)
    new, _ = restarted(old)
    assert new.changes == 0
    assert new.entries == old.entries
    assert new.unregistered == old.unregistered
    ((ports, query),) = new.queries()
    assert isinstance(query, Query)
    assert query.general
    assert ports == {1, 2, 3, 4}


@both
def test_what_was_restored_lasts_a_full_interval_and_goes_if_nobody_answers(vx: Wire) -> None:
    new, _ = restarted(busy(vx))
    a = vx.sources[0]
    new.advance(100.0)
    new.receive(4, vx.query(src=vx.router))
    assert new.heard_by(vx.group, a) == {1, 3, 4, 5}
    new.advance(154.999)
    assert new.heard_by(vx.group, a) == {1, 3, 4, 5}
    assert new.heard_by(vx.other, a) == {3, 4, 5}
    new.advance(5.001)
    assert new.entries == {}


@both
def test_a_restored_member_leaves_as_any(vx: Wire) -> None:
    new, _ = restarted(busy(vx))
    new.receive(5, vx.query(group=vx.group))
    new.receive(1, vx.join())
    new.advance(2.0)
    assert new.heard_by(vx.group) == {1, 5}


@both
def test_any_querier_is_believed_after_a_restart(vx: Wire) -> None:
    new, _ = restarted(busy(vx))
    infos = [q for q in new.snooping.snapshot(new.now).queriers if q.family == vx.family.value]
    assert (infos[0].state, infos[0].address, infos[0].active) == ("other", None, True)
    new.receive(5, vx.query(src=vx.router))
    infos = [q for q in new.snooping.snapshot(new.now).queriers if q.family == vx.family.value]
    assert infos[0].address == vx.router


@both
def test_without_a_querier_it_floods_once_the_old_one_must_have_gone(vx: Wire) -> None:
    new, _ = restarted(busy(vx))
    new.advance(254.9)
    assert new.heard_by(V4.group if vx is V6 else V6.group) == new.everywhere
    assert new.unregistered[1, vx.family] == {5}
    new.advance(0.1)
    assert new.unregistered[1, vx.family] is None


@both
def test_restart_with_our_own_querier(vx: Wire) -> None:
    new, _ = restarted(busy(vx), mcast_querier=True)
    assert new.heard_by(vx.group) == {1, 2, 5}
    asked = [q for _, q in new.queries() if isinstance(q, Query) and q.family is vx.family]
    assert len(asked) == 1
    new.advance(31.25)
    assert len([q for _, q in new.queries() if isinstance(q, Query) and q.family is vx.family]) == 1


@both
def test_entries_that_make_no_sense_any_more_are_removed(vx: Wire) -> None:
    lan = Lan()
    entry = SetGroup(1, ip(vx.group), None, frozenset({1, 2}))
    lan.entries = {entry[:3]: entry.ports}
    stray = SetGroup(9, ip(vx.group), None, frozenset({1}))
    wide = SetUnregistered(1, vx.family, None)
    other = SetUnregistered(9, vx.family, frozenset({1}))
    effects = lan.do(lan.snooping.restore([entry, stray], [wide, other], lan.now))
    assert effects == [RemoveGroup(1, ip(vx.group), None)]


@both
def test_restore_while_snooping_is_off(vx: Wire) -> None:
    old = busy(vx)
    new, _ = restarted(old, mcast_snooping=False)
    assert new.entries == {}


@both
def test_restore_respects_configuration(vx: Wire) -> None:
    """Ports that are gone, forbidden as router ports, or in the flood set by configuration."""
    lan = Lan(4, mcast_querier=True)
    lan.do(lan.snooping.set_port_params(3, PortParams(mcast_flood_unregistered=True), lan.now))
    lan.do(lan.snooping.set_port_params(4, PortParams(mcast_router=0), lan.now))
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 2, lan.now))
    lan.everywhere = frozenset(range(1, 5))
    groups = [
        SetGroup(1, ip(vx.group), None, frozenset({1, 2, 3, 4, 8})),
        SetGroup(1, ip(vx.flooded), None, frozenset({1})),
        SetGroup(1, ip(vx.other), None, frozenset({3, 4, 8})),
    ]
    held = [SetUnregistered(1, vx.family, frozenset({3, 4, 8}))]
    lan.entries = {entry[:3]: entry.ports for entry in groups}
    lan.unregistered = {held[0][:2]: held[0].ports}
    lan.do(lan.snooping.restore(groups, held, lan.now))
    assert lan.entries == {(1, ip(vx.group), None): {1, 2}}
    assert lan.unregistered[1, vx.family] == {3}


@both
def test_restore_stays_within_the_limits(vx: Wire) -> None:
    lan = Lan(1, params=Params(mcast_hash_max=1, vlan=VlanParams(mcast_querier=True)))
    groups = [SetGroup(1, ip(g), None, frozenset({1})) for g in (vx.group, vx.other)]
    held = [SetUnregistered(1, vx.family, frozenset())]
    lan.entries = {entry[:3]: entry.ports for entry in groups}
    lan.unregistered = {held[0][:2]: held[0].ports}
    lan.do(lan.snooping.restore(groups, held, lan.now))
    assert lan.entries == {(1, ip(vx.group), None): {1}}


@both
def test_desired_is_what_the_datapath_holds(vx: Wire) -> None:
    lan = busy(vx)
    desired = lan.snooping.desired()
    groups = {e[:3]: e.ports for e in desired if isinstance(e, SetGroup)}
    restricted = {e[:2]: e.ports for e in desired if isinstance(e, SetUnregistered)}
    assert groups == lan.entries
    assert restricted == {k: v for k, v in lan.unregistered.items() if v is not None}


# What is shown.


@both
def test_snapshot(vx: Wire) -> None:
    lan = Lan(port_params=PortParams(mcast_fast_leave=True)).restricted(vx)
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((ALLOW, vx.group, [a])))
    lan.receive(1, vx.report((TO_EX, vx.group, [a, b])))
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 2, lan.now, ip(a)))
    lan.do(lan.snooping.add_permanent(1, ip(vx.group), 3, lan.now))
    lan.advance(10.0)
    shown = lan.snooping.snapshot(lan.now)
    learned, one, everything = shown.members
    assert (learned.vid, learned.group, learned.port) == (1, vx.group, 1)
    assert (learned.mode, learned.timer, learned.permanent) == ("exclude", 250.0, False)
    assert learned.sources == (SourceInfo(a, 250.0, False), SourceInfo(b, 0.0, True))
    assert learned.hosts == ("02:00:00:00:00:01",)
    assert (one.port, one.permanent, one.mode) == (2, True, "include")
    assert one.sources == (SourceInfo(a, 0.0, False),)
    assert (everything.port, everything.mode, everything.sources) == (3, "exclude", ())
    (router,) = shown.routers
    assert (router.port, router.permanent, router.timer) == (5, False, 235.0)
    assert router.routers == (vx.router,)
    querier = next(q for q in shown.queriers if q.family == vx.family.value)
    assert (querier.state, querier.address, querier.port) == ("other", vx.router, 5)
    assert (querier.timer, querier.version, querier.enabled) == (235.0, vx.new, False)
    name = "igmp_v3" if vx is V4 else "mld_v2"
    assert shown.counters[1] == {f"rx_{name}_report": 2}
    assert shown.counters[5] == {f"rx_{name}_query": 1}
    assert (shown.entries, shown.hash_max) == (3, 4096)


@both
def test_snapshot_of_our_own_querier(vx: Wire) -> None:
    lan = Lan(mcast_querier=True)
    lan.do(lan.snooping.set_port_params(2, PortParams(mcast_router=2), lan.now))
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    lan.advance(1.0)
    shown = lan.snooping.snapshot(lan.now)
    querier = next(q for q in shown.queriers if q.family == vx.family.value)
    assert (querier.state, querier.enabled, querier.active) == ("self", True, False)
    assert querier.timer == 30.25
    assert {(r.port, r.permanent, r.routers) for r in shown.routers} == {(2, True, ())}
    assert shown.counters[1][f"tx_{'igmp_v3' if vx is V4 else 'mld_v2'}_query"] == 1
    assert text(ip(vx.group)) == shown.members[0].group
