"""The search for the highest load that passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bench.search import Bounds, Found, highest, loss

LOADS = st.floats(min_value=100, max_value=2e6)


@given(limit=LOADS, guess=LOADS)
def test_what_is_found_passes_and_is_near_the_limit(limit: float, guess: float) -> None:
    tried: list[float] = []

    def carries(load: float) -> bool:
        tried.append(load)
        return load <= limit

    found = highest(carries, guess, Bounds(50, 1e6, 0.02))
    if limit >= 1e6:
        assert found == Found(1e6, True, len(tried))
    else:
        assert limit / 1.02 <= found.value <= limit
        assert not found.capped
    assert found.trials == len(tried)
    assert all(50 <= load <= 1e6 for load in tried)


@given(limit=LOADS)
def test_a_good_guess_takes_few_trials(limit: float) -> None:
    found = highest(lambda load: load <= limit, limit * 1.02, Bounds(50, 1e7, 0.03))
    assert found.trials <= 5


def test_nothing_passes() -> None:
    assert highest(lambda _: False, 1e5, Bounds(100, 1e6, 0.02)).value == 0


@pytest.mark.parametrize("bounds", [(0, 10, 0.1), (20, 10, 0.1), (1, 10, 0)])
def test_a_range_without_room_is_refused(bounds: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="no range"):
        Bounds(*bounds)


def test_loss_is_a_share() -> None:
    assert loss(200, 150) == 0.25
    assert loss(200, 210) == 0, "a flood that comes back, or a query"
    assert loss(0, 0) == 0
