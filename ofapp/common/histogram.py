"""How often something took how long, in a few counts that never go back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate


class Histogram:
    """bounds: the upper ones, rising, each of which is in its bucket; total: of what was seen."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.total = 0.0
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)

    def observe(self, value: float) -> None:
        """Count one."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def cumulative(self) -> Iterator[tuple[str, int]]:
        """(upper bound, how many were no more), as Prometheus has it; the last bound is +Inf."""
        names = (*map(str, self._bounds), "+Inf")
        return zip(names, accumulate(self._counts), strict=True)
