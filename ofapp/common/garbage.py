"""Settings of Python's garbage collector that keep its pauses short.

Reference counting frees most objects at once; the collector is needed for reference cycles only.
Connections, requests and trees that have ended leave no cycles, so it is for unforeseen ones.  A
learned address is several objects: a full collection stops everything for 100 ms where there are
200,000 [measured], and Python starts one whenever there are a quarter more than at the last.

So automatic collections cover new objects, a few at a time, and never those from the start.
A full collection runs when that is quick, or once a day.
"""

import gc
import sys
from collections.abc import Callable

from ofapp.common import hub

YOUNG, MIDDLE = 10_000, 5
"""Thresholds of generations 0 and 1: new objects until those are collected; such collections until
all objects since the last one are collected together: 50,000 take 5 to 10 ms."""
NEVER = 1 << 30
FEW = 500_000
"""Objects, garbage or not, beyond those at the start, for which a full collection is quick."""
AGAIN = 600.0
"""Seconds between full collections, when those are quick."""
LATEST = 144
"""Times that a full collection is put off because it is not quick."""


class Calm:
    """Full collections at quiet times. count: gives about how many objects there are."""

    def __init__(self, count: Callable[[], int] = sys.getallocatedblocks) -> None:
        self._count = count
        self._first = 0
        self._put_off = 0

    def begin(self) -> None:
        """Set the thresholds; objects that exist now are never looked at again."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)
        self._first = self._count()

    def look(self) -> bool:
        """Run a full collection if one is due; gives whether it was."""
        self._put_off += 1
        if self._count() - self._first > FEW and self._put_off < LATEST:
            return False
        self._put_off = 0
        gc.collect()
        return True

    def run(self) -> None:
        """Run full collections when they are due, for ever."""
        while True:
            hub.sleep(AGAIN)
            self.look()
