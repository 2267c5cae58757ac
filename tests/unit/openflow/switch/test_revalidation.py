"""How long to wait until a switch forwards as it says that it does."""

import pytest

from ofapp.bridge.effects import Barrier, Effect, Reprogram, SetFlood
from ofapp.openflow.switch.queue.delivery import until_barrier
from ofapp.openflow.switch.queue.revalidation import LEAST, MOST, Revalidation, grace


def test_a_switch_that_answers_late_gets_longer() -> None:
    assert grace(0.0) == LEAST
    assert LEAST < grace(0.01) < grace(0.02) < MOST


def test_but_not_for_ever() -> None:
    assert grace(10.0) == MOST


def test_a_report_that_comes_late_makes_it_longer() -> None:
    wait = Revalidation(sent=5.0, answered=5.001)
    assert wait.rest(5.001) == pytest.approx(0.002), "as long as its answer suggests"
    assert wait.rest(5.02) == pytest.approx(0.02), "as long again as the report took"


def test_but_not_longer_than_what_is_never_reported() -> None:
    wait = Revalidation(sent=5.0, answered=5.001)
    assert 5.4 + wait.rest(5.4) == pytest.approx(wait.latest)
    assert wait.rest(7.0) == 0


A, B, C = (SetFlood(frozenset({port})) for port in (1, 2, 3))


def test_what_is_behind_a_barrier_waits_for_it() -> None:
    assert until_barrier([A, B]) == ([A, B], None)
    assert until_barrier([A, Barrier(), B, Barrier(), C]) == ([A], [B, Barrier(), C])


def test_what_makes_the_switch_as_the_bridge_is_now_comes_after_the_last_barrier() -> None:
    left: list[Effect] | None = [A, Reprogram(), Barrier(), B, Barrier(), C]
    parts = []
    while left is not None:
        now, left = until_barrier(left)
        parts.append(now)
    assert parts == [[A], [B], [Reprogram(), C]]
