"""Polling interval of a switch, by the cost of polling it.

What a switch does not report by itself is found by polling, and a switch does nothing else while
it answers.  So after each part of the requests the switch has a rest, so much longer than
its answer took; and switches that connected together are not polled together from then on.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ofapp.common import hub

SHARE = 0.1
"""Share of a switch's time, at most, for routine polling."""
LONGEST = 2.0
"""Seconds of rest at most: an answer that waited behind something else says little."""
SPREAD = 0.25
"""Random deviation of the next poll, as a share of the interval."""


class Pace:
    """Polling pace of one connection."""

    def __init__(self) -> None:
        self._quickest = LONGEST

    def rest(self, took: float) -> float:
        """Seconds to wait after an answer that `took` so many.

        What even the quickest answer takes is the way there and back, and no work.
        """
        self._quickest = min(self._quickest, took)
        return min((took - self._quickest) * (1 / SHARE - 1), LONGEST)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Ask and take the answer in; the rest follows."""
        asked = time.monotonic()
        yield
        hub.sleep(self.rest(time.monotonic() - asked))


def spread(interval: float) -> float:
    """About the interval, at random."""
    return interval * random.uniform(1 - SPREAD, 1 + SPREAD)
