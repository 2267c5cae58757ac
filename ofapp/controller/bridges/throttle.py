"""Adapts every switch's rate limits to the load of its ports, the switch and the controller."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ofapp.bridge.fdb.rates import share_controller
from ofapp.common import hub
from ofapp.controller.bridges.datapath import Datapath
from ofapp.controller.bridges.openflow_datapath import review_portions

INTERVAL = 0.25
"""Seconds between two adjustments: a port at its limit has twice its rate after the next one."""
LATE = 0.1
"""Most seconds that the controller may be late: protocol frames wait as long."""


class Throttle:
    """Rate adaptation of all datapaths of a controller, by datapath id."""

    def __init__(self, datapaths: Mapping[int, Datapath]) -> None:
        self._datapaths = datapaths

    def run(self) -> None:
        """Adjust periodically; does not return."""
        last = time.monotonic()
        while True:
            hub.sleep(INTERVAL)
            now = time.monotonic()
            self.adjust(now - last, now)
            last = time.monotonic()

    def adjust(self, seconds: float, now: float) -> None:
        """Adjust once, so many seconds after the last time."""
        review_portions(now)
        for datapath in list(self._datapaths.values()):
            datapath.report_drops(now)
        loads = {
            key: load
            for key, datapath in self._datapaths.items()
            if (load := datapath.load(seconds)) is not None
        }
        for key, capacity in share_controller(loads, seconds - INTERVAL > LATE).items():
            datapath = self._datapaths[key]
            if effects := datapath.bridge.follow_load(loads[key], capacity, now):
                datapath.apply(effects)
