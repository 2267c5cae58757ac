"""Many runs in one figure: the median and its spread, and ratios of runs side by side.

The speed of a shared machine drifts by a factor of two within minutes.  A ratio is therefore taken
between two devices within one repetition, and the median is one of those ratios.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Summary:
    """The median of some runs, and between what it is known to be.

    low, high: of six runs or more an interval that holds the true median with a confidence of 95 %
    or more, from the order of the runs alone, so that no distribution is assumed; of fewer the
    least and greatest.
    """

    middle: float
    low: float
    high: float
    runs: int

    @property
    def spread(self) -> float:
        """Half the interval beside the median: 0.05 is plus or minus 5 %."""
        return (self.high - self.low) / 2 / self.middle if self.middle else 0.0


def summary(values: Sequence[float]) -> Summary:
    """Summarize values; ValueError (from statistics) if there are none."""
    ordered = sorted(values)
    outside = _outside(len(ordered))
    return Summary(median(ordered), ordered[outside], ordered[-1 - outside], len(ordered))


def _outside(runs: int) -> int:
    """How many runs may be left out at each end: the median is beyond so many of them with a
    probability of at most 2.5 %, as each run is above it or below with one half each.
    """
    count, below = 0, 0.5**runs
    while (below := below + math.comb(runs, count + 1) * 0.5**runs) <= 0.025:
        count += 1
    return count


def ratios(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    """`ours` beside `theirs` in every repetition (the keys) that both have a figure of."""
    common = sorted(ours.keys() & theirs.keys())
    return [ours[turn] / theirs[turn] for turn in common if theirs[turn]]


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the least value that `share` (0 to 1) of all do not exceed.

    NaN if there are no values.
    """
    if not values:
        return math.nan
    rank = math.ceil(share * len(values))
    return sorted(values)[max(rank, 1) - 1]
