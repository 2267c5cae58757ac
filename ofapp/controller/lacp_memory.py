"""What the next process will know of LACP: written down soon after something has changed.

Otherwise than with spanning tree nothing is struck out before: whoever goes on with what was true a
moment ago has members in use that their partner has just taken out, or the other way round, and the
first LACPDU to and fro puts that right (see `lacp.absence`); no loop can come of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.common import hub
from ofapp.controller.state import Snapshots

PAUSE = 0.05
"""Seconds between two of a bridge, at least."""


class LacpMemory:
    """Looks after the snapshots of all bridges, which are the network's."""

    def __init__(self, snapshots: Snapshots, bridges: Mapping[int, Bridge]) -> None:
        self._snapshots = snapshots
        self._bridges = bridges
        self._moved: set[int] = set()
        self._woken = hub.Event()

    def heed(self, bridge: Bridge, _moved: object) -> None:
        """A bridge knows something else than before."""
        self._moved.add(bridge.datapath_id)
        self._woken.set()

    def write(self) -> None:
        """Write down what has changed."""
        moved, self._moved = self._moved, set()
        for datapath_id in moved:
            bridge = self._bridges.get(datapath_id)
            if bridge is not None:
                self._snapshots.save(datapath_id, bridge.lags.dump())

    def run(self) -> None:
        """Do so, for ever."""
        while True:
            self._woken.wait()
            self._woken.clear()
            self.write()
            hub.sleep(PAUSE)
