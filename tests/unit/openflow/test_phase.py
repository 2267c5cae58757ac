"""How far the life of a connection has come."""

from __future__ import annotations

import pytest

from ofapp.openflow.switch.phase import Phase, Step, after

LIFE = [
    (Step.OURS, Phase.ASKED),
    (Step.REFUSED, Phase.ASKED),
    (Step.PROGRAMMED, Phase.RUNNING),
    (Step.CHECKED, Phase.LEARNING),
    (Step.SOUND, Phase.IN_LINE),
    (Step.PROGRAMMED, Phase.IN_LINE),
    (Step.CHECKED, Phase.IN_LINE),
    (Step.REFUSED, Phase.LEARNING),
    (Step.CHECKED, Phase.LEARNING),
    (Step.SOUND, Phase.IN_LINE),
]


def test_a_life() -> None:
    phase = Phase.STANDBY
    for step, expected in LIFE:
        phase = after(phase, step)
        assert phase is expected


@pytest.mark.parametrize("phase", Phase)
def test_it_may_end_at_any_time_and_nothing_follows(phase: Phase) -> None:
    ended = after(phase, Step.ENDED)
    assert ended is Phase.ENDED
    assert {after(ended, step) for step in Step} == {Phase.ENDED}


@pytest.mark.parametrize("step", set(Step) - {Step.OURS, Step.ENDED})
def test_who_is_on_standby_hears_nothing(step: Step) -> None:
    assert after(Phase.STANDBY, step) is Phase.STANDBY
