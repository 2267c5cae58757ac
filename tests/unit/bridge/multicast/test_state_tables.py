"""Each row of the router state tables (RFC 3376 6.4.1, 6.4.2 and RFC 3810 7.4.1, 7.4.2), each way a
timer can run out (RFC 3376 6.2.3, 6.3, 6.5; RFC 3810 7.2.3, 7.3, 7.5), and the queries that follow,
with reports from the wire, for both families."""

from dataclasses import dataclass, field

import pytest

from ofapp.bridge.multicast.message import Query
from tests.unit.bridge.multicast.lan import (
    ALLOW,
    BLOCK,
    IS_EX,
    IS_IN,
    TO_EX,
    TO_IN,
    V4,
    V6,
    Lan,
    ip,
)

Wire = type[V4] | type[V6]
GMI, LMQT, AGED = 260.0, 2.0, 160.0  # AGED: what is left of a timer set 100 s ago


@dataclass(frozen=True)
class Row:
    """One row. Sources are letters; `timers` are what each then has left, "Y" for a zero timer."""

    start: tuple[str, ...]  # (A,) in INCLUDE mode, (X, Y) in EXCLUDE mode
    record: int
    listed: str
    mode: str
    timers: dict[str, float | str]
    group_timer: float
    asked: list[str] = field(default_factory=list)  # sources of each query; "" a Q(G)


ROWS = {
    "INCLUDE(A) IS_IN(B)": Row(("ab",), IS_IN, "bc", "include", {"a": AGED, "b": GMI, "c": GMI}, 0),
    "INCLUDE(A) IS_EX(B)": Row(("ab",), IS_EX, "bc", "exclude", {"b": AGED, "c": "Y"}, GMI),
    "INCLUDE(A) ALLOW(B)": Row(("ab",), ALLOW, "bc", "include", {"a": AGED, "b": GMI, "c": GMI}, 0),
    "INCLUDE(A) BLOCK(B)": Row(("ab",), BLOCK, "bc", "include", {"a": AGED, "b": LMQT}, 0, ["b"]),
    "INCLUDE(A) TO_EX(B)": Row(("ab",), TO_EX, "bc", "exclude", {"b": LMQT, "c": "Y"}, GMI, ["b"]),
    "INCLUDE(A) TO_IN(B)": Row(
        ("ab",), TO_IN, "bc", "include", {"a": LMQT, "b": GMI, "c": GMI}, 0, ["a"]
    ),
    "EXCLUDE(X,Y) IS_IN(A)": Row(
        ("ab", "c"), IS_IN, "bcd", "exclude", {"a": AGED, "b": GMI, "c": GMI, "d": GMI}, AGED
    ),
    "EXCLUDE(X,Y) IS_EX(A)": Row(
        ("ab", "c"), IS_EX, "bcd", "exclude", {"b": AGED, "c": "Y", "d": GMI}, GMI
    ),
    "EXCLUDE(X,Y) ALLOW(A)": Row(
        ("ab", "c"), ALLOW, "bcd", "exclude", {"a": AGED, "b": GMI, "c": GMI, "d": GMI}, AGED
    ),
    "EXCLUDE(X,Y) BLOCK(A)": Row(
        ("ab", "c"),
        BLOCK,
        "bcd",
        "exclude",
        {"a": AGED, "b": LMQT, "c": "Y", "d": LMQT},  # d took the group timer, then was asked
        AGED,
        ["bd"],
    ),
    "EXCLUDE(X,Y) TO_EX(A)": Row(
        ("ab", "c"), TO_EX, "bcd", "exclude", {"b": LMQT, "c": "Y", "d": LMQT}, GMI, ["bd"]
    ),
    "EXCLUDE(X,Y) TO_IN(A)": Row(
        ("ab", "c"),
        TO_IN,
        "bcd",
        "exclude",
        {"a": LMQT, "b": GMI, "c": GMI, "d": GMI},
        LMQT,
        ["a", ""],
    ),
}


def listed(vx: Wire, letters: str) -> list[str]:
    return [vx.sources["abcd".index(letter)] for letter in letters]


def letters(vx: Wire, sources: tuple[bytes, ...]) -> str:
    return "".join(sorted("abcd"[[ip(s) for s in vx.sources].index(source)] for source in sources))


def started(vx: Wire, start: tuple[str, ...], querier: bool = True) -> Lan:
    """A bridge that restricts, port 1 in the state, reached 100 s ago."""
    if querier:
        lan = Lan(mcast_querier=True, mcast_querier_address4=V4.own, mcast_querier_address6=V6.own)
        lan.advance(200.0)  # past startup; the next general query is 106 s away
    else:
        lan = Lan().restricted(vx)
    lan.receive(1, vx.report((ALLOW, vx.group, listed(vx, start[0]))))
    if len(start) == 2:
        # INCLUDE(X) and IS_EX(X,Y) make EXCLUDE(X,Y)
        lan.receive(1, vx.report((IS_EX, vx.group, listed(vx, start[0] + start[1]))))
    lan.advance(100.0)
    lan.sent.clear()
    return lan


def state(vx: Wire, lan: Lan) -> tuple[str, dict[str, float | str], float] | None:
    """Mode, timers by letter, group timer; None when there is no membership."""
    infos = [m for m in lan.snooping.snapshot(lan.now).members if m.group == vx.group]
    if not infos:
        return None
    (info,) = infos
    timers: dict[str, float | str] = {
        "abcd"[vx.sources.index(source.address)]: "Y" if source.blocked else source.timer
        for source in info.sources
    }
    return info.mode, timers, info.timer


@pytest.mark.parametrize("vx", [V4, V6])
@pytest.mark.parametrize("name", list(ROWS))
def test_row(vx: Wire, name: str) -> None:
    row = ROWS[name]
    lan = started(vx, row.start)
    lan.receive(1, vx.report((row.record, vx.group, listed(vx, row.listed))))
    assert state(vx, lan) == (row.mode, row.timers, row.group_timer)
    asked = lan.queries()
    for ports, query in asked:
        assert isinstance(query, Query)
        assert ports == {1}
        assert (query.group, query.suppress, query.max_resp) == (ip(vx.group), False, 1.0)
    assert [letters(vx, query.sources) for _, query in asked] == row.asked  # type: ignore[attr-defined]


@pytest.mark.parametrize("vx", [V4, V6])
@pytest.mark.parametrize("name", list(ROWS))
def test_row_when_another_is_the_querier_asks_nothing(vx: Wire, name: str) -> None:
    """RFC 3376 6.6.1: a non-querier waits for the querier's word before it lowers a timer."""
    row = ROWS[name]
    lan = started(vx, row.start, querier=False)
    lan.receive(1, vx.report((row.record, vx.group, listed(vx, row.listed))))
    found = state(vx, lan)
    assert found is not None
    assert found[0] == row.mode
    assert found[1].keys() == row.timers.keys()
    assert LMQT not in (*found[1].values(), found[2])
    assert lan.queries() == []


@pytest.mark.parametrize("vx", [V4, V6])
@pytest.mark.parametrize("name", list(ROWS))
def test_row_forwards_what_the_state_says(vx: Wire, name: str) -> None:
    """RFC 3376 6.3, by looking up each source as the datapath would."""
    row = ROWS[name]
    lan = started(vx, row.start)
    lan.receive(1, vx.report((row.record, vx.group, listed(vx, row.listed))))
    for letter in "abcd":
        wanted = row.timers.get(letter) != "Y" if row.mode == "exclude" else letter in row.timers
        (source,) = listed(vx, letter)
        assert (1 in lan.heard_by(vx.group, source)) == wanted, letter
    assert (1 in lan.heard_by(vx.group)) == (row.mode == "exclude")
    assert not lan.heard_by(vx.group) - {1}


# Timers running out.


@pytest.mark.parametrize("vx", [V4, V6])
def test_include_source_timer_runs_out(vx: Wire) -> None:
    """The source goes, and with the last one the membership; not a moment before."""
    lan = started(vx, ("a",))
    lan.receive(1, vx.report((ALLOW, vx.group, listed(vx, "b"))))
    lan.advance(AGED - 0.001)
    assert lan.heard_by(vx.group, vx.sources[0]) == {1}
    lan.advance(0.001)
    assert lan.heard_by(vx.group, vx.sources[0]) == set()
    assert state(vx, lan) == ("include", {"b": 100.0}, 0)
    lan.advance(100.0)
    assert state(vx, lan) is None
    assert lan.entries == {}


@pytest.mark.parametrize("vx", [V4, V6])
def test_exclude_source_timer_runs_out_moves_it_to_the_exclude_list(vx: Wire) -> None:
    lan = started(vx, ("a", "b"))
    lan.receive(1, vx.report((IS_EX, vx.group, listed(vx, "ab"))))  # refreshes the group alone
    lan.advance(AGED)
    assert state(vx, lan) == ("exclude", {"a": "Y", "b": "Y"}, 100.0)
    assert lan.heard_by(vx.group, vx.sources[0]) == set()
    assert lan.heard_by(vx.group, vx.sources[2]) == {1}


@pytest.mark.parametrize("vx", [V4, V6])
def test_exclude_group_timer_runs_out_with_sources_becomes_include(vx: Wire) -> None:
    lan = started(vx, ("a", "b"))
    lan.receive(1, vx.report((ALLOW, vx.group, listed(vx, "c"))))
    lan.advance(AGED)
    assert state(vx, lan) == ("include", {"c": 100.0}, 0)
    assert lan.heard_by(vx.group, vx.sources[2]) == {1}
    assert lan.heard_by(vx.group) == set()


@pytest.mark.parametrize("vx", [V4, V6])
def test_exclude_group_timer_runs_out_without_sources_ends_it(vx: Wire) -> None:
    lan = started(vx, ("", "b"))
    lan.advance(AGED - 0.001)
    assert state(vx, lan) is not None
    lan.advance(0.001)
    assert state(vx, lan) is None
    assert lan.entries == {}


# The queries after a leave (RFC 3376 6.6.3.1, 6.6.3.2).


@pytest.mark.parametrize("vx", [V4, V6])
def test_group_query_is_repeated_and_the_group_goes(vx: Wire) -> None:
    lan = started(vx, ("", ""))
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    lan.receive(1, vx.report((TO_IN, vx.group, [])))
    assert len(lan.queries()) == 1
    lan.advance(0.999)
    assert lan.queries() == []
    lan.advance(0.001)
    assert len(lan.queries()) == 1
    assert lan.heard_by(vx.group) == {1}
    lan.advance(1.0)
    assert lan.queries() == []
    assert lan.entries == {}


@pytest.mark.parametrize("vx", [V4, V6])
def test_group_query_answered_is_repeated_with_the_s_flag(vx: Wire) -> None:
    """6.6.3.1: so that other routers do not lower a timer that was just answered for."""
    lan = started(vx, ("", ""))
    lan.receive(1, vx.report((IS_EX, vx.group, []), host=1))
    lan.receive(1, vx.report((TO_IN, vx.group, []), host=1))
    lan.receive(1, vx.report((IS_EX, vx.group, []), host=2))
    lan.advance(1.0)
    assert [query.suppress for _, query in lan.queries()] == [False, True]  # type: ignore[attr-defined]
    lan.advance(100.0)
    assert lan.heard_by(vx.group) == {1}


@pytest.mark.parametrize("vx", [V4, V6])
def test_leaves_in_a_row_do_not_multiply_queries(vx: Wire) -> None:
    lan = started(vx, ("", ""))
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    for _ in range(50):
        lan.receive(1, vx.report((TO_IN, vx.group, [])))
    lan.advance(5.0)
    assert len(lan.queries()) == 2
    assert lan.entries == {}


@pytest.mark.parametrize("vx", [V4, V6])
def test_source_query_splits_into_answered_and_doubtful(vx: Wire) -> None:
    """6.6.3.2: two queries, one with the S flag for what was answered, one without."""
    lan = started(vx, ("abc",))
    lan.receive(1, vx.report((BLOCK, vx.group, listed(vx, "ab"))))
    lan.queries()
    lan.receive(1, vx.report((IS_IN, vx.group, listed(vx, "a")), host=2))
    lan.advance(1.0)
    asked = [(letters(vx, q.sources), q.suppress) for _, q in lan.queries()]  # type: ignore[attr-defined]
    assert asked == [("b", False), ("a", True)]
    lan.advance(1.0)
    assert lan.heard_by(vx.group, vx.sources[1]) == set()
    assert lan.heard_by(vx.group, vx.sources[0]) == {1}
    assert lan.queries() == []


@pytest.mark.parametrize("vx", [V4, V6])
def test_pending_group_query_holds_back_the_answered_sources(vx: Wire) -> None:
    """6.6.3.2: with a group query pending, the one with the S flag is not sent."""
    lan = started(vx, ("ab", ""))
    lan.receive(1, vx.report((TO_IN, vx.group, [])))
    lan.receive(1, vx.report((IS_IN, vx.group, listed(vx, "a")), host=2))
    lan.queries()
    lan.advance(1.0)
    asked = [letters(vx, query.sources) for _, query in lan.queries()]  # type: ignore[attr-defined]
    assert asked == ["b", ""]
    lan.advance(1.0)
    assert state(vx, lan) == ("include", {"a": 258.0}, 0)


@pytest.mark.parametrize("vx", [V4, V6])
def test_queries_stop_when_another_becomes_the_querier(vx: Wire) -> None:
    lan = started(vx, ("ab",))
    lan.receive(1, vx.report((IS_EX, vx.other, [])))
    lan.receive(1, vx.report((TO_IN, vx.other, []), (BLOCK, vx.group, listed(vx, "a"))))
    assert len(lan.queries()) == 2
    lan.receive(5, vx.query(src=vx.low_router))
    lan.advance(5.0)
    assert lan.queries() == []


@pytest.mark.parametrize("vx", [V4, V6])
def test_last_member_count_and_interval(vx: Wire) -> None:
    lan = Lan(mcast_querier=True, mcast_last_member_count=3, mcast_last_member_interval=0.5)
    lan.advance(200.0)
    lan.receive(1, vx.report((TO_EX, vx.group, [])))
    lan.sent.clear()
    lan.receive(1, vx.report((TO_IN, vx.group, [])))
    lan.advance(1.499)
    assert [query.max_resp for _, query in lan.queries()] == [0.5] * 3  # type: ignore[attr-defined]
    assert lan.heard_by(vx.group) == {1}
    lan.advance(0.001)
    assert lan.entries == {}


@pytest.mark.parametrize("vx", [V4, V6])
def test_a_source_that_is_gone_is_not_asked_about_again(vx: Wire) -> None:
    lan = started(vx, ("ab",))
    lan.receive(1, vx.report((BLOCK, vx.group, listed(vx, "a"))))
    lan.receive(1, vx.report((IS_EX, vx.group, []), host=2))
    assert len(lan.queries()) == 1
    lan.advance(5.0)
    assert lan.queries() == []


@pytest.mark.parametrize("vx", [V4, V6])
@pytest.mark.parametrize("kind", [IS_IN, ALLOW])
def test_records_without_sources_refresh_nothing(vx: Wire, kind: int) -> None:
    lan = started(vx, ("", ""))
    lan.receive(1, vx.report((kind, vx.group, [])))
    assert state(vx, lan) == ("exclude", {}, AGED)


# Queries of another querier (RFC 3376 6.6.1).


@pytest.mark.parametrize("vx", [V4, V6])
def test_group_query_of_the_querier_lowers_the_group_timer_on_all_ports(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    for port in (1, 2):
        lan.receive(port, vx.report((IS_EX, vx.group, []), host=port))
    lan.receive(5, vx.query(group=vx.group))
    lan.receive(2, vx.report((IS_EX, vx.group, []), host=2))
    lan.advance(1.999)
    assert lan.heard_by(vx.group) == {1, 2, 5}
    lan.advance(0.001)
    assert lan.heard_by(vx.group) == {2, 5}


@pytest.mark.parametrize("vx", [V4, V6])
def test_source_query_of_the_querier_lowers_those_sources(vx: Wire) -> None:
    lan = started(vx, ("ab",), querier=False)
    lan.receive(5, vx.query(group=vx.group, sources=vx.sources[:1]))
    assert state(vx, lan) == ("include", {"a": LMQT, "b": AGED}, 0)


@pytest.mark.parametrize("vx", [V4, V6])
def test_group_query_does_not_touch_include_mode(vx: Wire) -> None:
    lan = started(vx, ("ab",), querier=False)
    lan.receive(5, vx.query(group=vx.group))
    assert state(vx, lan) == ("include", {"a": AGED, "b": AGED}, 0)


@pytest.mark.parametrize("vx", [V4, V6])
def test_the_s_flag_keeps_timers(vx: Wire) -> None:
    lan = started(vx, ("ab",), querier=False)
    lan.receive(5, vx.query(group=vx.group, sources=vx.sources[:1], suppress=True))
    assert state(vx, lan) == ("include", {"a": AGED, "b": AGED}, 0)


@pytest.mark.parametrize("vx", [V4, V6])
def test_a_query_for_a_group_nobody_joined_is_passed_on(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(5, vx.query(group=vx.group))
    assert lan.forwarded == {1, 2, 3, 4}
    assert lan.entries == {}


# Older hosts (RFC 3376 7.3.2, RFC 3810 8.3.2).


@pytest.mark.parametrize("vx", [V4, V6])
def test_old_host_makes_block_and_the_list_of_to_ex_be_ignored(vx: Wire) -> None:
    lan = started(vx, ("", ""))
    lan.receive(1, vx.join(host=2))
    lan.receive(1, vx.report((BLOCK, vx.group, listed(vx, "a"))))
    lan.receive(1, vx.report((TO_EX, vx.group, listed(vx, "ab"))))
    assert state(vx, lan) == ("exclude", {}, GMI)
    assert lan.queries() == []


@pytest.mark.parametrize("vx", [V4, V6])
def test_old_host_is_forgotten_after_the_older_host_present_interval(vx: Wire) -> None:
    lan = started(vx, ("", ""))
    lan.receive(1, vx.join(host=2))
    lan.advance(GMI - 1)
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    lan.advance(1.0)
    lan.receive(1, vx.report((TO_EX, vx.group, listed(vx, "a"))))
    found = state(vx, lan)
    assert found is not None
    assert found[1].keys() == {"a"}


def test_igmpv1_host_makes_leaves_be_ignored() -> None:
    lan = started(V4, ("", ""))
    lan.receive(1, V4.join_v1(host=2))
    lan.receive(1, V4.leave())
    lan.receive(1, V4.report((TO_IN, V4.group, listed(V4, "a"))))
    assert lan.queries() == []
    assert state(V4, lan) == ("exclude", {}, GMI)
    lan.advance(GMI - 0.001)
    assert lan.heard_by(V4.group) == {1}
    lan.advance(0.001)
    assert lan.entries == {}


@pytest.mark.parametrize("vx", [V4, V6])
def test_old_join_and_leave(vx: Wire) -> None:
    lan = started(vx, ("", ""))
    lan.receive(2, vx.join(vx.other))
    assert lan.heard_by(vx.other) == {2}
    lan.receive(2, vx.leave(vx.other))
    assert len(lan.queries()) == 1
    lan.advance(2.0)
    assert lan.heard_by(vx.other) == set()


# The configured version without source lists.

OLD: dict[type, dict[str, object]] = {V4: {"mcast_igmp_version": 2}, V6: {"mcast_mld_version": 1}}


@pytest.mark.parametrize("vx", [V4, V6])
@pytest.mark.parametrize(
    ("record", "sources", "joins"),
    [
        (IS_IN, "a", True),
        (IS_EX, "", True),
        (IS_EX, "a", True),
        (TO_IN, "a", True),
        (TO_EX, "a", True),
        (ALLOW, "a", True),
        (BLOCK, "a", False),
        (IS_IN, "", False),
        (TO_IN, "", False),
        (ALLOW, "", False),
    ],
)
def test_old_version_knows_groups_only(vx: Wire, record: int, sources: str, joins: bool) -> None:
    lan = Lan(mcast_querier=True, **OLD[vx])
    lan.advance(200.0)
    lan.sent.clear()
    lan.receive(1, vx.report((record, vx.group, listed(vx, sources))))
    assert state(vx, lan) == (("exclude", {}, GMI) if joins else None)


@pytest.mark.parametrize("vx", [V4, V6])
def test_old_version_leave_is_asked_about_in_the_old_version(vx: Wire) -> None:
    lan = Lan(mcast_querier=True, **OLD[vx])
    lan.advance(200.0)
    lan.receive(1, vx.report((ALLOW, vx.group, listed(vx, "a"))))
    lan.sent.clear()
    for ignored in (BLOCK, ALLOW):
        lan.receive(1, vx.report((ignored, vx.group, [])))
    lan.receive(1, vx.report((BLOCK, vx.group, listed(vx, "a"))))
    assert lan.queries() == []
    lan.receive(1, vx.report((TO_IN, vx.group, [])))
    ((ports, query),) = lan.queries()
    assert isinstance(query, Query)
    assert (ports, query.version, query.group) == ({1}, vx.old, ip(vx.group))
    lan.advance(2.0)
    assert lan.entries == {}
