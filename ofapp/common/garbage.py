"""Python's garbage collector, kept from holding everybody up.

What is not needed any more goes at once by itself, unless objects hold each other in a circle:
those the collector finds, by a look at everything there is.  Connections, requests and trees that
have ended lead to no circles, so it is for what nobody thought of.  A learned address is several
objects: a look at all of them stops everything for 100 ms where there are 200,000 [measured], and
Python takes one whenever there is a quarter more than at the last.

So by itself it looks at what is new, a few at a time, and never at what was there from the start.
At everything it looks when that is quick, or once a day.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from ofapp.common import hub

YOUNG, MIDDLE = 10_000, 5
"""New objects until those are looked at; and such looks until all since the last one are looked at
together once more: 50,000 take 5 to 10 ms."""
NEVER = 1 << 30
FEW = 500_000
"""Objects, garbage or not, more than there were at the start, that are looked at quickly."""
AGAIN = 600.0
"""Seconds between looks at everything, when that is quick."""
LATEST = 144
"""Times that it is put off because it is not."""


class Calm:
    """count: how many objects there are, about."""

    def __init__(self, count: Callable[[], int] = sys.getallocatedblocks) -> None:
        self._count = count
        self._first = 0
        self._put_off = 0

    def begin(self) -> None:
        """From now on; what is there now is never looked at again."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)
        self._first = self._count()

    def look(self) -> bool:
        """Look at everything, if it is time; gives whether it was."""
        self._put_off += 1
        if self._count() - self._first > FEW and self._put_off < LATEST:
            return False
        self._put_off = 0
        gc.collect()
        return True

    def run(self) -> None:
        """Look now and then, for ever."""
        while True:
            hub.sleep(AGAIN)
            self.look()
