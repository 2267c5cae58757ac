"""Signs of life for the timers of the protocols, and an event when this process was stalled."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from ofapp.bridge.pausable import UNLIVED
from ofapp.common import hub
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.bridges.events import CONTROLLER_STALLED
from ofapp.controller.events import EventLog

BEAT = 0.25
"""Seconds between signs of life (see `ofapp.bridge.pausable`)."""

LATENESS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the buckets of `lateness`, in seconds."""


class Histogram:
    """Cumulative histogram of durations, as in Prometheus.

    bounds: inclusive upper bounds in seconds, ascending; total: sum of the values.
    """

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


class Heartbeat:
    """Heartbeat for the bridges of all datapaths.  lateness: delay of each sign of life."""

    def __init__(self, datapaths: Mapping[int, Datapath], events: EventLog) -> None:
        self._datapaths = datapaths
        self._events = events
        self.lateness = Histogram(LATENESS)

    def run(self) -> None:
        """Beat periodically; does not return."""
        last = time.monotonic()
        while True:
            now = time.monotonic()
            for datapath in self._datapaths.values():
                datapath.bridge.beat(now)
            self.lateness.observe(max(now - last - BEAT, 0.0))
            if now - last - BEAT > UNLIVED:
                seconds = round(now - last, 1)
                message = f"the controller stalled for {seconds} s; protocol timers were paused"
                data = {"seconds": seconds}
                event = CONTROLLER_STALLED.event(message, data=data)
                self._events.emit(None, event)
            last = now
            hub.sleep(BEAT)
