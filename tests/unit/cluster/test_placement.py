"""Which member should own which switch."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ofapp.controller.cluster.election.placement import Candidate, line

names = st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=6)
SWITCHES = range(1, 1001)


def owners(*candidates: Candidate) -> dict[int, str]:
    """Who is first in line, by switch."""
    return {switch: line(candidates, switch).order[0] for switch in SWITCHES}


def named(*members: str) -> list[Candidate]:
    """Members, none of them drained."""
    return [Candidate(name) for name in members]


@given(names, st.integers(min_value=1, max_value=(1 << 64) - 1), st.randoms())
def test_all_members_see_the_same_line(there: set[str], switch: int, random: object) -> None:
    shuffled = named(*there)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert line(shuffled, switch) == line(named(*sorted(there)), switch)
    assert set(line(shuffled, switch).order) == there


def test_shares_are_about_the_same() -> None:
    counts = Counter(owners(*named("a", "b", "c")).values())
    assert all(280 <= count <= 390 for count in counts.values()), counts


def test_one_that_comes_takes_its_share_and_nothing_else_moves() -> None:
    before, after = owners(*named("a", "b")), owners(*named("a", "b", "c"))
    moved = {switch for switch in SWITCHES if before[switch] != after[switch]}
    assert {after[switch] for switch in moved} == {"c"}
    assert 250 <= len(moved) <= 420


def test_one_that_goes_leaves_its_share_to_all_others() -> None:
    before, after = owners(*named("a", "b", "c")), owners(*named("a", "b"))
    moved = Counter(after[switch] for switch in SWITCHES if before[switch] != after[switch])
    assert set(moved) == {"a", "b"}
    assert sum(moved.values()) == Counter(before.values())["c"]


def test_one_that_is_drained_serves_what_nobody_else_can() -> None:
    candidates = [Candidate("a", drained=True), *named("b", "c")]
    assert {line(candidates, switch).order[-1] for switch in SWITCHES} == {"a"}
    before, after = owners(*named("a", "b", "c")), owners(*candidates)
    assert all(before[switch] == after[switch] for switch in SWITCHES if before[switch] != "a")
    assert owners(Candidate("a", drained=True))[1] == "a"


def test_the_reason_says_what_became_of_the_former_owner() -> None:
    order = line(named("a", "b", "c"), 7)
    first, second, _last = order.order
    assert order.reason(first, None) == f"it had no owner, and it falls to {first}"
    assert order.reason(first, "d") == f"d has gone, and it falls to {first}"
    assert order.reason(first, second) == f"{second} gave it up, and it falls to {first}"
    assert order.reason(second, "d") == f"d has gone, and {first} did not take it"
    drained = line([Candidate("a", drained=True), Candidate("b")], 7)
    assert drained.reason("b", "a") == "a is drained, and it falls to b"
    assert order.is_before(first, second)
    assert not order.is_before(second, first)
    assert order.is_before(first, "gone")
