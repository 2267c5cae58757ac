"""Shows the protocols that this process runs, and reports when it was stalled."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ofapp.bridge.pausable import UNLIVED
from ofapp.common import hub
from ofapp.common.histogram import Histogram
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.bridges.events import CONTROLLER_STALLED
from ofapp.controller.events import EventLog

BEAT = 0.25
"""Seconds between signs of life (see `ofapp.bridge.pausable`)."""


LATENESS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Seconds."""


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
                self._events.tell(None, event)
            last = now
            hub.sleep(BEAT)
