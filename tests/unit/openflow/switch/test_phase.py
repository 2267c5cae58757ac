"""How far the life of a connection has come."""

import pytest

from ofapp.openflow.switch.phase import Phase, Transition, after

LIFE = [
    (Transition.OURS, Phase.ASKED),
    (Transition.REFUSED, Phase.ASKED),
    (Transition.PROGRAMMED, Phase.RUNNING),
    (Transition.CHECKED, Phase.LEARNING),
    (Transition.SOUND, Phase.IN_LINE),
    (Transition.PROGRAMMED, Phase.IN_LINE),
    (Transition.CHECKED, Phase.IN_LINE),
    (Transition.REFUSED, Phase.LEARNING),
    (Transition.CHECKED, Phase.LEARNING),
    (Transition.SOUND, Phase.IN_LINE),
]


def test_a_life() -> None:
    phase = Phase.STANDBY
    for transition, expected in LIFE:
        phase = after(phase, transition)
        assert phase is expected


@pytest.mark.parametrize("phase", Phase)
def test_it_may_end_at_any_time_and_nothing_follows(phase: Phase) -> None:
    ended = after(phase, Transition.ENDED)
    assert ended is Phase.ENDED
    assert {after(ended, transition) for transition in Transition} == {Phase.ENDED}


@pytest.mark.parametrize("transition", set(Transition) - {Transition.OURS, Transition.ENDED})
def test_who_is_on_standby_hears_nothing(transition: Transition) -> None:
    assert after(Phase.STANDBY, transition) is Phase.STANDBY
