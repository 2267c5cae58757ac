"""What the next process will know of each spanning tree: written down before and after it moves.

`Snapshots` must never hold a tree that a switch, or a neighbour, does not know of: a controller
that died in a change would go on with a tree that nobody else is in. So a tree that begins to move
is struck out first (only who is behind its ports is kept, see `Unsettled`), and written down again
once nothing has moved for a while and its switch has carried out everything.
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
from ofapp.bridge.stp_control import Stand
from ofapp.common import hub
from ofapp.common.portions import AT_ONCE, PORTION, Portions
from ofapp.controller.state import Snapshots
from ofapp.controller.state.snapshots import encoded

SETTLING = 0.05
"""Seconds for which a tree has to be at rest until it is written down."""
SHARE = 0.02
"""Of the time, at most, for looking: a thousand trees that move at once take longer to rest."""


class Confirms(Protocol):
    """A switch that is connected."""

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once it has carried out all; False when something has yet to be told."""


class _Asked(NamedTuple):
    """Where a tree stood when its switch was asked whether it has carried out everything.

    asked: the connection whose switch has been asked to confirm it; it may be over for long.
    """

    stand: Stand
    asked: weakref.ref[Confirms]


class TreeMemory:
    """Looks after the snapshots of all bridges; `bridges` and `sessions` are the network's."""

    def __init__(
        self,
        snapshots: Snapshots,
        bridges: Mapping[int, Bridge],
        sessions: Mapping[int, Confirms],
    ) -> None:
        self._snapshots = snapshots
        self._bridges = bridges
        self._sessions = sessions
        self._moving: dict[int, Stand | None] = {}  # and where they stood at the last look
        self._asked: dict[int, _Asked] = {}
        self._moved = hub.Event()

    def heed(self, bridge: Bridge, told: Unsettled) -> None:
        """Strike a tree out, at once: what follows from its move is not yet carried out."""
        self._snapshots.strike(bridge.datapath_id, {"behind": dict(told.behind)})
        self._asked.pop(bridge.datapath_id, None)
        self._moving[bridge.datapath_id] = None
        self._moved.set()

    def confirm_settled(self) -> bool:
        """Ask for confirmation where nothing has moved since the last time.

        Gives whether there is more to do: a tree whose switch is away waits for that.
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
        """Write the tree down, if it still stands so.

        One of thousands of ports takes a while, and is none if it moves meanwhile.
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
        """Write down what has come to rest, for ever."""
        pause = SETTLING
        while True:
            self._moved.wait()
            hub.sleep(pause)
            self._moved.clear()
            began = time.monotonic()
            if self.confirm_settled():
                self._moved.set()
            pause = max(SETTLING, (time.monotonic() - began) / SHARE)
