"""Fair scheduling of work, when there is more to do than can be done at once.

Everything runs on one thread: long computing makes timers, and with them hellos of spanning tree,
late on every switch.  So long work is done in slices, and each slice waits for its turn.  In each
pass of the hub there are turns for a slice's time, one at least; then timers fire and sockets are
read.  The next turn is that of the share that has used the least time (start-time fair queueing),
so that a switch that never stops waits for the others, and not they for it.
"""

import heapq
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from ofapp.common import hub

SLICE = 0.002
"""Seconds after which running work should take another turn."""


class Share:
    """Time that one connection has used: `used`, in seconds of work on the scale of `Turns`."""

    def __init__(self) -> None:
        self.used = 0.0


class Turns:
    """The scheduler; one object for all that share a thread.

    clock: seconds, of any origin.  call_soon, park, current: see `hub`.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        call_soon: Callable[[Callable[[], None]], None] = hub.call_soon,
        park: Callable[[], None] = hub.park,
        current: Callable[[], Any] = hub.current,
    ) -> None:
        self._clock, self._call_soon, self._park, self._current = clock, call_soon, park, current
        self._waiting: list[tuple[float, int, Share, Any]] = []
        self._order = count()
        self._taken = False  # this pass of the hub has had its turns
        self._working: Share | None = None  # the share that has the turn, until it waits
        self._began = 0.0
        self._level = 0.0  # what the last one served had used: no share saves up more

    @property
    def free(self) -> bool:
        """Whether a turn could be had at once."""
        return not self._taken

    def take(self, share: Share) -> None:
        """Wait for a turn; at once when no other share wants one."""
        if not self._taken:
            self._taken = True
            self._call_soon(self._next)
            return
        self._charge()
        share.used = max(share.used, self._level)
        waiting = (share.used, next(self._order), share, self._current())
        heapq.heappush(self._waiting, waiting)
        try:
            self._park()
        except BaseException:  # killed while it waited
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                heapq.heapify(self._waiting)
            raise

    def _next(self) -> None:
        """Give the next turns; runs in the hub, once in a pass while there is demand."""
        if not self._waiting:
            self._taken = False
            return
        self._call_soon(self._next)
        now = self._clock()
        end = now + SLICE
        while self._waiting and now < end:
            _, _, share, greenlet = heapq.heappop(self._waiting)
            self._level = max(self._level, share.used)
            self._working, self._began = share, now
            greenlet.switch()  # comes back when it waits for something
            self._charge()
            self._working = None
            now = self._clock()

    def _charge(self) -> None:
        if self._working is not None:
            now = self._clock()
            self._working.used += now - self._began
            self._began = now


class Budget:
    """A share of the time, saved up to a limit: what may be done at once, before one's turn.

    rate: seconds of work for each second; most: seconds of work saved up at most.
    """

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most = rate, most
        self._left = most
        self._at = 0.0

    def left(self, now: float) -> float:
        """Seconds of work that may be done now; not positive when it is used up."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left

    def spend(self, seconds: float) -> None:
        """Subtract seconds of work that was done."""
        self._left -= seconds


TURNS = Turns()
"""The turns of this process's one hub."""
