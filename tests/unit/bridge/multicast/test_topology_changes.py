"""How often topology changes make the bridge ask."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.multicast.topology_changes import LONGEST, SHORTEST, TopologyChanges


@given(st.lists(st.floats(0.0, 12.0), min_size=1, max_size=60))
def test_every_change_is_asked_about_in_time_and_none_too_often(waits: list[float]) -> None:
    pace, now = TopologyChanges(), 1000.0
    asked: list[float] = []
    event_kinds: list[str] = []
    changes = []

    def run(until: float) -> None:
        while (due := pace.next()) <= until:
            ask, events = pace.run(due)
            event_kinds.extend(event.kind for event in events)
            if ask:
                asked.append(due)
            assert pace.next() > due

    for wait in waits:
        run(now + wait)
        now += wait
        pace.hear(now)
        changes.append(now)
    run(now + 100.0)
    assert all(any(at <= ask <= at + LONGEST for ask in asked) for at in changes)
    assert changes[0] in asked
    # Sums of floats: a hair less is not too often.
    assert all(after - before > SHORTEST - 1e-6 for before, after in pairwise(asked))
    # In any minute no more than at 0, 1, 3, 7 and 15 s and every 10 s from then on; a calm of ten
    # seconds begins it again.
    assert all(sum(at <= ask < at + 60.0 for ask in asked) <= 18 for at in asked)
    assert event_kinds == ["mcast.changes", "mcast.changes.cleared"] * (len(event_kinds) // 2)


def test_while_changes_go_on_the_waits_double() -> None:
    pace, asked = TopologyChanges(), []
    for tenth in range(600):
        pace.hear(tenth / 10)
        if pace.run(tenth / 10)[0]:
            asked.append(tenth / 10)
    assert asked == [0, 1, 3, 7, 15, 25, 35, 45, 55]
    assert (pace.heard, pace.delayed) == (600, 591)
