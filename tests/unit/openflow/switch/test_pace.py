"""How long a switch rests between questions, and when the next look is."""

import pytest

from ofapp.openflow.switch.counters.pace import LONGEST, SHARE, SPREAD, Pace, spread


def test_the_rest_grows_with_what_the_answer_cost_and_not_with_the_way() -> None:
    pace = Pace()
    assert pace.rest(0.050) == 0  # the way there and back, as far as is known
    assert pace.rest(0.060) == pytest.approx(0.010 * (1 / SHARE - 1))
    assert pace.rest(0.051) == pytest.approx(0.001 * (1 / SHARE - 1))


def test_an_answer_that_waited_for_something_else_does_not_stop_the_looks() -> None:
    pace = Pace()
    pace.rest(0.001)
    assert pace.rest(60.0) == LONGEST


def test_switches_that_came_together_are_not_looked_at_together() -> None:
    times = [spread(30.0) for _ in range(200)]
    assert min(times) >= 30.0 * (1 - SPREAD)
    assert max(times) <= 30.0 * (1 + SPREAD)
    assert max(times) - min(times) > 30.0 * SPREAD
