"""LACP state for the next process, stored soon after a change.

Unlike with spanning tree, the stored state is not invalidated first.  A process that continues
with state that is a moment old may use members that their partner has just taken out, or the other
way round.  The first exchange of LACPDUs corrects that (see `lacp.absence`); no loop can form.
"""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.bridge import Bridge
from ofapp.common import hub
from ofapp.controller.state import Snapshots

PAUSE = 0.05
"""Least seconds between two snapshots of a bridge."""


class LacpMemory:
    """Writer of the LACP snapshots of all bridges, which are the network's."""

    def __init__(self, snapshots: Snapshots, bridges: Mapping[int, Bridge]) -> None:
        self._snapshots = snapshots
        self._bridges = bridges
        self._moved: set[int] = set()
        self._woken = hub.Event()

    def handle(self, bridge: Bridge, _moved: object) -> None:
        """Note that the LACP state of a bridge has changed."""
        self._moved.add(bridge.datapath_id)
        self._woken.set()

    def write(self) -> None:
        """Store the snapshots of bridges whose state has changed."""
        moved, self._moved = self._moved, set()
        for datapath_id in moved:
            bridge = self._bridges.get(datapath_id)
            if bridge is not None:
                self._snapshots.save(datapath_id, bridge.lags.dump())

    def run(self) -> None:
        """Store changed snapshots again and again; does not return."""
        while True:
            self._woken.wait()
            self._woken.clear()
            self.write()
            hub.sleep(PAUSE)
