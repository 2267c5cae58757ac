"""Steps of a fabric's effects: each begins when the one before is confirmed."""

from __future__ import annotations

from ofapp.bridge.effects import ClosePort, Effect, SendFrame
from ofapp.controller.bridges.fabric.steps import MOST_WAITING, Steps

A, B, C, D = (ClosePort(number) for number in range(1, 5))
ALL = {1, 2, 3}


def sent(steps: Steps, running: set[int] = ALL) -> dict[int, list[Effect]] | None:
    step = steps.next(running)
    return None if step is None else {**step.effects}


def test_a_single_step_waits_for_nothing() -> None:
    steps = Steps()
    steps.put([{1: [A], 2: [B]}])
    assert sent(steps) == {1: [A], 2: [B]}
    steps.put([{1: [C]}])
    assert sent(steps) == {1: [C]}
    assert sent(steps) is None
    assert steps.idle


def test_the_next_step_begins_when_all_in_the_first_have_confirmed() -> None:
    steps = Steps()
    steps.put([{1: [A], 2: []}, {3: [B]}])
    first = steps.next(ALL)
    assert first is not None
    assert first.confirm == {1, 2}
    steps.confirmed(1, first.number)
    assert sent(steps) is None
    steps.confirmed(2, first.number)
    assert sent(steps) == {3: [B]}
    assert not steps.awaited


def test_later_effects_do_not_overtake() -> None:
    steps = Steps()
    steps.put([{1: [A]}, {2: [B]}])
    first = steps.next(ALL)
    assert first is not None
    steps.put([{2: [C]}, {1: [D]}])
    assert sent(steps) is None
    steps.confirmed(1, first.number)
    second = steps.next(ALL)
    assert second is not None
    assert second.effects == {2: [B, C]}
    steps.confirmed(2, first.number)  # late, and of another step
    assert sent(steps) is None
    steps.confirmed(2, second.number)
    assert sent(steps) == {1: [D]}


def test_members_that_left_or_do_not_run_confirm_nothing() -> None:
    steps = Steps()
    steps.put([{1: [A], 2: [A], 3: [A]}, {1: [B], 3: [B]}])
    first = steps.next({1, 2})
    assert first is not None
    assert first.confirm == {1, 2}
    steps.confirmed(1, first.number)
    steps.left(2)
    steps.left(3)
    assert sent(steps) == {1: [B]}


def test_nothing_is_added_by_no_steps() -> None:
    steps = Steps()
    steps.put([])
    assert sent(steps) is None


def test_a_fabric_that_is_ahead_of_its_members_is_noticed() -> None:
    steps = Steps()
    steps.put([{1: [A]}, {2: [B]}])
    assert steps.next(ALL)
    assert not steps.overrun
    steps.put([{2: [SendFrame(frozenset({1}), b"")] * MOST_WAITING}])
    assert steps.overrun
