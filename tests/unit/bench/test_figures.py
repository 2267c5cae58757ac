"""Medians, spreads, ratios and percentiles."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bench.figures import percentile, ratios, summary

VALUES = st.lists(st.floats(min_value=0.001, max_value=1e9), min_size=1)


def test_median_and_spread_of_runs() -> None:
    found = summary([90.0, 100.0, 120.0])
    assert (found.middle, found.low, found.high, found.runs) == (100, 90, 120, 3)
    assert found.spread == pytest.approx(0.15)
    assert summary([0.0]).spread == 0


def test_an_interval_of_the_median_leaves_out_what_lies_far_out() -> None:
    # The ranks are those of published tables of the sign test at 95 %.
    for runs, left_out in ((5, 0), (6, 0), (9, 1), (20, 5), (40, 13), (100, 39)):
        found = summary([float(value) for value in range(runs)])
        assert (found.low, found.high) == (left_out, runs - 1 - left_out), runs


def test_ratios_are_of_the_same_repetition() -> None:
    # The machine was half as fast in the second repetition: the ratio does not notice.
    assert ratios({0: 99.0, 1: 49.5, 2: 7.0}, {0: 100.0, 1: 50.0}) == [0.99, 0.99]
    assert ratios({0: 1.0}, {0: 0.0}) == []


@given(VALUES)
def test_percentiles_are_values_that_were_measured(values: list[float]) -> None:
    ordered = sorted(values)
    assert percentile(ordered, 0) == ordered[0]
    assert percentile(ordered, 1) == ordered[-1]
    assert percentile(ordered, 0.5) <= median(ordered)
    for share in (0.25, 0.5, 0.99):
        found = percentile(ordered, share)
        assert sum(value <= found for value in ordered) >= share * len(ordered)
        assert found in ordered
