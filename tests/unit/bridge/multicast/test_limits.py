"""A hostile host harms its own port, limits are reported and recover, and no work grows with the
number of groups."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.event import Severity
from ofapp.bridge.multicast import Params, PortParams, VlanParams
from ofapp.bridge.multicast.shared import EntryQuota
from tests.unit.bridge.multicast.lan import ALLOW, IS_EX, TO_EX, TO_IN, V4, V6, Lan

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])


def group(vx: Wire, i: int) -> str:
    return (
        f"239.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"
        if vx is V4
        else f"ff05:{i >> 16:x}:{i & 65535:x}::1"
    )


def lan_of(hash_max: int, ports: int = 5, **more: object) -> Lan:
    vlan = VlanParams(mcast_querier=True)
    lan = Lan(ports, params=Params(mcast_hash_max=hash_max, vlan=vlan, **more))  # type: ignore[arg-type]
    lan.advance(60.0)
    lan.events.clear()
    return lan


@both
def test_a_flood_of_joins_leaves_every_other_port_its_part(vx: Wire) -> None:
    lan = lan_of(100)
    for i in range(1000):
        lan.receive(1, vx.report((IS_EX, group(vx, i), [])))
    assert lan.snooping.snapshot(lan.now).entries == len(lan.entries) == 60  # half, and its part
    for port in (2, 3, 4, 5):
        for i in range(10):
            name = group(vx, 10000 * port + i)
            lan.receive(port, vx.report((IS_EX, name, [])))
            assert lan.heard_by(name) == {port}
    assert len(lan.entries) == 100
    lan.receive(2, vx.report((IS_EX, group(vx, 77777), [])))
    assert len(lan.entries) == 100
    assert lan.snooping.snapshot(lan.now).counters[1]["limit_hash_max"] == 940


@both
def test_it_is_reported_once_and_so_is_the_recovery(vx: Wire) -> None:
    lan = lan_of(100)
    for i in range(200):
        lan.receive(1, vx.report((IS_EX, group(vx, i), [])))
    (event,) = lan.events
    assert (event.kind, event.port, event.severity) == (
        "mcast.limit.reached",
        1,
        Severity.WARNING,
    )
    assert event.data["limit"] == "mcast_hash_max"
    lan.advance(1.0)
    assert lan.kinds() == ["mcast.limit.reached"]
    lan.advance(259.0)
    assert lan.kinds() == ["mcast.limit.recovered"]
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    assert lan.heard_by(vx.group) == {1}


@both
def test_what_was_refused_gets_in_once_there_is_room(vx: Wire) -> None:
    lan = lan_of(2, ports=1)
    for i in range(3):
        lan.receive(1, vx.report((IS_EX, group(vx, i), [])))
    assert lan.heard_by(group(vx, 2)) == set()
    lan.receive(1, vx.report((TO_IN, group(vx, 0), [])))
    lan.advance(2.0)
    lan.receive(1, vx.report((IS_EX, group(vx, 2), [])))
    assert lan.heard_by(group(vx, 2)) == {1}


@both
def test_sources_are_entries_too(vx: Wire) -> None:
    lan = lan_of(40)
    for i in range(100):
        lan.receive(1, vx.report((ALLOW, group(vx, i), list(vx.sources))))
    assert len(lan.entries) <= 24
    assert lan.snooping.snapshot(lan.now).entries <= 24
    lan.receive(2, vx.report((ALLOW, group(vx, 999), list(vx.sources[:3]))))
    assert lan.heard_by(group(vx, 999), vx.sources[2]) == {2}


@both
def test_a_charge_passes_on_when_its_port_leaves(vx: Wire) -> None:
    lan = lan_of(100)
    a, b, _, _ = vx.sources
    for port in (1, 2):
        lan.receive(port, vx.report((ALLOW, vx.group, [a, b])))
    assert lan.snooping.snapshot(lan.now).entries == 3
    lan.receive(1, vx.report((TO_IN, vx.group, [])))
    lan.advance(2.0)
    assert lan.heard_by(vx.group, a) == {2}
    assert lan.snooping.snapshot(lan.now).entries == 3
    lan.receive(2, vx.report((TO_IN, vx.group, [a])))
    lan.advance(2.0)
    assert lan.snooping.snapshot(lan.now).entries == 2
    lan.do(lan.snooping.remove_port(2, lan.now))
    assert lan.snooping.snapshot(lan.now).entries == 0


@both
def test_a_lower_limit_keeps_what_is_there(vx: Wire) -> None:
    lan = lan_of(100)
    for i in range(50):
        lan.receive(1, vx.report((IS_EX, group(vx, i), [])))
    vlan = VlanParams(mcast_querier=True)
    lan.do(lan.snooping.set_params(Params(mcast_hash_max=10, vlan=vlan), lan.now))
    assert len(lan.entries) == 50
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    assert lan.heard_by(vx.group) == set()


@both
def test_groups_per_port(vx: Wire) -> None:
    lan = lan_of(1000)
    lan.do(lan.snooping.set_port_params(1, PortParams(mcast_max_groups=8), lan.now))
    for i in range(20):
        lan.receive(1, vx.report((IS_EX, group(vx, i), [])))
        lan.receive(2, vx.report((IS_EX, group(vx, i), [])))
    assert len(lan.entries) == 20
    assert sum(1 in ports for ports in lan.entries.values()) == 8
    assert lan.kinds() == ["mcast.limit.reached"]
    lan.receive(1, vx.report((TO_IN, group(vx, 0), [])))
    lan.advance(2.0)
    assert lan.kinds() == ["mcast.limit.recovered"]
    lan.receive(1, vx.report((IS_EX, group(vx, 19), [])))
    assert lan.heard_by(group(vx, 19)) == {1, 2}


@both
def test_sources_per_group(vx: Wire) -> None:
    lan = lan_of(1000, mcast_max_sources=3)
    lan.receive(1, vx.report((ALLOW, vx.group, list(vx.sources))))
    assert [lan.heard_by(vx.group, s) for s in vx.sources] == [{1}, {1}, {1}, set()]
    lan.receive(2, vx.report((ALLOW, vx.group, [vx.sources[3]])))
    assert lan.heard_by(vx.group, vx.sources[3]) == {2}
    lan.receive(1, vx.report((ALLOW, vx.group, [vx.sources[3], vx.sources[0]])))
    assert lan.heard_by(vx.group, vx.sources[3]) == {2}
    assert lan.kinds() == ["mcast.limit.reached"]
    lan.receive(1, vx.report((TO_EX, vx.group, list(vx.sources))))
    assert [1 in lan.heard_by(vx.group, s) for s in vx.sources] == [True, True, True, True]
    lan.receive(1, vx.report((TO_IN, vx.group, [])))
    lan.advance(2.0)
    assert lan.kinds() == ["mcast.limit.recovered"]


@both
def test_sources_that_fit_are_not_refused(vx: Wire) -> None:
    lan = lan_of(1000, mcast_max_sources=4)
    for _ in range(3):
        lan.receive(1, vx.report((ALLOW, vx.group, list(vx.sources))))
        lan.receive(1, vx.report((IS_EX, vx.group, list(vx.sources))))
    assert lan.events == []


@both
def test_recovery_waits_for_some_slack(vx: Wire) -> None:
    """An eighth below the limit; a port that stays at it would otherwise be reported for ever."""
    lan = lan_of(1000)
    lan.do(lan.snooping.set_port_params(1, PortParams(mcast_max_groups=16), lan.now))
    for i in range(17):
        lan.receive(1, vx.report((IS_EX, group(vx, i), [])))
    lan.receive(1, vx.report((TO_IN, group(vx, 0), [])))
    lan.advance(2.0)
    assert lan.kinds() == ["mcast.limit.reached"]
    lan.receive(1, vx.report((TO_IN, group(vx, 1), [])))
    lan.advance(2.0)
    assert lan.kinds() == ["mcast.limit.recovered"]


@both
def test_the_source_limit_recovers_with_the_last_group_that_passed_it(vx: Wire) -> None:
    lan = lan_of(1000, mcast_max_sources=3)
    for i in range(2):
        for _ in range(2):
            lan.receive(1, vx.report((ALLOW, group(vx, i), list(vx.sources))))
    assert lan.kinds() == ["mcast.limit.reached"]
    lan.receive(1, vx.report((TO_IN, group(vx, 0), [])))
    lan.advance(2.0)
    assert lan.kinds() == []
    lan.receive(1, vx.report((TO_IN, group(vx, 1), [])))
    lan.advance(2.0)
    assert lan.kinds() == ["mcast.limit.recovered"]


@both
def test_charges_above_a_ports_own_part_move_too(vx: Wire) -> None:
    lan = lan_of(20)  # own parts of 2, and 10 for the first that come
    for i in range(6):
        for port in (1, 2):
            lan.receive(port, vx.report((IS_EX, group(vx, i), [])))
    lan.do(lan.snooping.remove_port(1, lan.now))
    assert lan.snooping.snapshot(lan.now).entries == 6
    lan.do(lan.snooping.remove_port(2, lan.now))
    assert lan.snooping.snapshot(lan.now).entries == 0


@given(st.integers(1, 200), st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=300))
def test_quota_never_passes_its_limit_and_keeps_every_part(
    limit: int, moves: list[tuple[int, bool]]
) -> None:
    quota = EntryQuota(limit)
    for port in range(6):
        quota.add_port(port)
    used = dict.fromkeys(range(6), 0)
    for port, join in moves:
        if join:
            accepted = quota.charge(port)
            assert accepted or used[port] >= limit // 12
            used[port] += accepted
        elif used[port]:
            quota.release(port)
            used[port] -= 1
        assert quota.total == sum(used.values()) <= limit
        assert [quota.used(port) for port in range(6)] == list(used.values())


def test_quota_of_a_bridge_without_ports() -> None:
    assert EntryQuota(10).total == 0


# Cost.


def _time(lan: Lan, port: int, frames: list[bytes]) -> float:
    start = time.process_time()
    for frame in frames:
        lan.snooping.receive(port, 1, frame, lan.now)
    return (time.process_time() - start) / len(frames)


@both
def test_a_report_costs_no_more_with_many_groups(vx: Wire) -> None:
    costs = []
    for groups in (10, 4000):
        lan = lan_of(100_000)
        for i in range(groups):
            lan.snooping.receive(1, 1, vx.report((IS_EX, group(vx, i), [])), lan.now)
        frames = [vx.report((TO_EX, group(vx, 50000 + i), [])) for i in range(300)]
        frames += [vx.report((TO_IN, group(vx, 50000 + i), [])) for i in range(300)]
        costs.append(min(_time(lan, 2, frames) for _ in range(3)))
    assert costs[1] < 5 * costs[0] + 50e-6


@both
def test_the_heap_does_not_grow_with_joins_and_leaves(vx: Wire) -> None:
    lan = lan_of(1000)
    fast = PortParams(mcast_fast_leave=True)
    lan.do(lan.snooping.set_port_params(1, fast, lan.now))
    join, leave = vx.report((TO_EX, vx.group, [])), vx.report((TO_IN, vx.group, []))
    for _ in range(2000):
        lan.snooping.receive(1, 1, join, lan.now)
        lan.snooping.receive(1, 1, leave, lan.now)
    assert len(lan.snooping._shared.timers) < 100
