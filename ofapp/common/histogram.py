"""A cumulative histogram of durations, as in Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate


class Histogram:
    """Counts by bucket. bounds: inclusive upper bounds, ascending; total: sum of the values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.total = 0.0
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def cumulative(self) -> Iterator[tuple[str, int]]:
        """(upper bound, how many values were at most that), as in Prometheus; the last is +Inf."""
        names = (*map(str, self._bounds), "+Inf")
        return zip(names, accumulate(self._counts), strict=True)
