"""The highest load that still passes: RFC 2544 clause 26.1's search, on a logarithmic scale.

It begins at a guess and not in the middle of the whole range, walks until one load has passed and
one has failed, and halves what is between them.  With a guess from an earlier trial that takes
four or five trials instead of ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

STRIDE = 1.25


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where to look: `floor` to `ceiling`, to within `resolution` (a ratio, 0.02 = 2 %)."""

    floor: float
    ceiling: float
    resolution: float

    def __post_init__(self) -> None:
        if not (0 < self.floor <= self.ceiling and self.resolution > 0):
            raise ValueError(f"no range to search in: {self}")


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome.

    value: the highest load that passed, 0 when even the floor failed; capped: it is the ceiling, so
    what was searched for may be higher; trials: how many loads were tried.
    """

    value: float
    capped: bool
    trials: int


def highest(passes: Callable[[float], bool], guess: float, bounds: Bounds) -> Found:
    """The highest load for which `passes` is true, which it is taken to be for all lower ones."""
    good, bad, trials = 0.0, math.inf, 0
    load = min(max(guess, bounds.floor), bounds.ceiling)
    stride = STRIDE
    while True:
        trials += 1
        if passes(load):
            good = load
            if load >= bounds.ceiling:
                return Found(load, True, trials)
        else:
            bad = load
            if load <= bounds.floor:
                return Found(0.0, False, trials)
        if good and bad <= good * (1 + bounds.resolution):
            return Found(good, False, trials)
        if bad == math.inf:
            load = min(load * stride, bounds.ceiling)
        elif not good:
            load = max(load / stride, bounds.floor)
        else:
            load = math.sqrt(good * bad)
            continue
        stride *= STRIDE


def loss(sent: int, received: int) -> float:
    """RFC 2544 clause 26.3: the share that did not arrive.  More than was sent is no loss."""
    return max(0, sent - received) / sent if sent else 0.0
