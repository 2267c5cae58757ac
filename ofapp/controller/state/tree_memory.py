"""Spanning tree state for the next process, stored before and after each change.

`Snapshots` must never hold a tree that a switch or a neighbour does not have: a controller that
died during a change would continue with a tree that no other bridge uses. So a snapshot is
invalidated before its tree changes (only the bridges behind its ports are kept, see `Unsettled`).
It is stored again once the tree is stable for a while and its switch has carried out everything.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import NamedTuple, Protocol

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Unsettled
from ofapp.bridge.stp.control import Stand
from ofapp.common import hub
from ofapp.common.portions import AT_ONCE, PORTION, Portions
from ofapp.controller.state import Snapshots
from ofapp.controller.state.snapshots import encoded

SETTLING = 0.05
"""Seconds for which a tree has to be stable before it is stored."""
SHARE = 0.02
"""Largest share of time for checks: a thousand changing trees are stored later."""


class Confirms(Protocol):
    """A connected switch."""

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once it has carried everything out; False when messages are still queued."""


class _Asked(NamedTuple):
    """State of a tree when its switch was asked to confirm that all is carried out.

    asked: the connection over which it was asked; it may have ended long ago.
    """

    stand: Stand
    asked: weakref.ref[Confirms]


class TreeMemory:
    """Writer of the snapshots of all trees; `bridges` and `sessions` are the network's."""

    def __init__(
        self,
        snapshots: Snapshots,
        bridges: Mapping[int, Bridge],
        sessions: Mapping[int, Confirms],
    ) -> None:
        self._snapshots = snapshots
        self._bridges = bridges
        self._sessions = sessions
        self._moving: dict[int, Stand | None] = {}  # and their state at the last check
        self._asked: dict[int, _Asked] = {}
        self._moved = hub.Event()

    def handle(self, bridge: Bridge, told: Unsettled) -> None:
        """Invalidate a tree's snapshot at once, before the effects of its change take place."""
        document = {"behind": dict(told.behind), "address": told.address}
        self._snapshots.strike(bridge.datapath_id, document)
        self._asked.pop(bridge.datapath_id, None)
        self._moving[bridge.datapath_id] = None
        self._moved.set()

    def confirm_settled(self) -> bool:
        """Ask for confirmation of trees that have not changed since the last check.

        Gives whether there is more to do: a tree whose switch is away waits for it.
        """
        for datapath_id, (stand, asked) in list(self._asked.items()):
            session = self._sessions.get(datapath_id)
            if session is not None and session is not asked():
                del self._asked[datapath_id]
                self._moving[datapath_id] = stand
        for datapath_id, before in list(self._moving.items()):
            bridge = self._bridges.get(datapath_id)
            now = None if bridge is None else bridge.stp.unwritten()
            if bridge is None or now is None:
                del self._moving[datapath_id]
                continue
            if before is None or before != now:
                self._moving[datapath_id] = now
                continue
            session = self._sessions.get(datapath_id)
            if session is not None and session.confirm(partial(self._confirmed, bridge, now)):
                del self._moving[datapath_id]
                self._asked[datapath_id] = _Asked(now, weakref.ref(session))
        return any(known in self._sessions for known in chain(self._moving, self._asked))

    def _confirmed(self, bridge: Bridge, stand: Stand) -> None:
        self._asked.pop(bridge.datapath_id, None)
        if len(bridge.ports) <= PORTION:
            self._write(bridge, stand, AT_ONCE)
        else:
            hub.spawn(self._write, bridge, stand, hub.portions())

    def _write(self, bridge: Bridge, stand: Stand, portions: Portions) -> None:
        """Store the tree, if it has not changed since.

        A tree of thousands of ports takes a while, and is not stored if it changes meanwhile.
        """
        document = None
        if bridge.stp.unwritten() == stand:
            document = encoded(bridge.dump_stp(portions), portions)
        if self._bridges.get(bridge.datapath_id) is not bridge:
            return
        if document is not None and bridge.stp.unwritten() == stand:
            self._snapshots.save(bridge.datapath_id, document)
            bridge.stp.written(stand)
        else:
            self._moving[bridge.datapath_id] = None
            self._moved.set()

    def run(self) -> None:
        """Store trees that are stable again; does not return."""
        pause = SETTLING
        while True:
            self._moved.wait()
            hub.sleep(pause)
            self._moved.clear()
            began = time.monotonic()
            if self.confirm_settled():
                self._moved.set()
            pause = max(SETTLING, (time.monotonic() - began) / SHARE)
