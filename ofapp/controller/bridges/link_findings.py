"""What LLDP finds out of links, passed on to the bridges at both ends.

It is an input of the bridges, so that a recording without LLDP's secret frames can be replayed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import CheckedLink, Effect, FarEnd
from ofapp.common import hub
from ofapp.controller.bridges.dispatcher import Dispatcher


class LinkFindings:
    """Passes findings on.  The far end may be of another member of the cluster: then it is its own
    spanning tree or LACP that notices."""

    def __init__(self, dispatcher: Dispatcher, bridges: Mapping[int, Bridge]) -> None:
        self._dispatcher = dispatcher
        self._bridges = bridges
        dispatcher.on(CheckedLink, self._checked)
        dispatcher.on(FarEnd, self._found)

    def _checked(self, bridge: Bridge, notice: CheckedLink) -> None:
        hub.watch(self._dispatcher.events.fault, self._check, bridge, notice)

    def _check(self, bridge: Bridge, notice: CheckedLink) -> None:
        if self._bridges.get(bridge.datapath_id) is bridge:
            now = time.monotonic()
            self._apply(bridge, bridge.one_way.check(notice, now), now)

    def _found(self, bridge: Bridge, notice: FarEnd) -> None:
        hub.watch(self._dispatcher.events.fault, self._follow, bridge, notice)

    def _follow(self, bridge: Bridge, notice: FarEnd) -> None:
        far = self._bridges.get(notice.far[0])
        if far is not None:
            port, now = bridge.port_at(notice.near[1]), time.monotonic()
            name = f"port {notice.near[1] if port is None else port.name} of {bridge.name}"
            self._apply(far, far.one_way.follow(notice, name, now), now)

    def _apply(self, bridge: Bridge, effects: list[Effect], now: float) -> None:
        if effects:
            self._dispatcher.apply(bridge, bridge.carry_out(effects, now))
