"""What the next process will know of each spanning tree: written down before and after it moves.

`Snapshots` must never hold a tree that a switch, or a neighbour, does not know of: a controller
that died in a change would go on with a tree that nobody else is in. So a tree that begins to move
is struck out first (only who is behind its ports is kept, see `Unsettled`), and written down again
once nothing has moved for a while and its switch has carried out everything.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, Protocol

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Unsettled
from ofapp.bridge.spanning_tree import BridgeSpanningTree
from ofapp.common import hub
from ofapp.controller.state import Snapshots

SETTLING = 0.05
"""Seconds for which a tree has to be at rest until it is written down."""


class Confirms(Protocol):
    """A switch that is connected."""

    def confirm(self, done: Callable[[], None]) -> bool:
        """Call `done` once it has carried out all; False when something has yet to be told."""


class _Stand(NamedTuple):
    """A tree at a moment; `tree` is another one when it has begun anew."""

    tree: BridgeSpanningTree
    revision: int
    asked: weakref.ref[Confirms] | None = None
    """The connection whose switch has been asked to confirm it; it may be over for long."""

    def still(self, tree: BridgeSpanningTree) -> bool:
        """Whether nothing has moved since."""
        return tree is self.tree and tree.tree.revision == self.revision


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
        self._moving: dict[int, _Stand | None] = {}
        self._moved = hub.Event()

    def heed(self, bridge: Bridge, told: Unsettled) -> None:
        """Strike a tree out, at once: what follows from its move is not yet carried out."""
        self._snapshots.strike(bridge.datapath_id, {"behind": dict(told.behind)})
        self._moving[bridge.datapath_id] = None
        self._moved.set()

    def look(self) -> bool:
        """Ask for confirmation where nothing has moved since the last look.

        Gives whether there is more to do: a tree whose switch is away waits for that.
        """
        for datapath_id, before in list(self._moving.items()):
            bridge = self._bridges.get(datapath_id)
            if bridge is None or bridge.spanning_tree is None or bridge.spanning_tree.settled:
                del self._moving[datapath_id]
                continue
            if before is None or not before.still(bridge.spanning_tree):
                self._moving[datapath_id] = _Stand(
                    bridge.spanning_tree, bridge.spanning_tree.tree.revision
                )
                continue
            session = self._sessions.get(datapath_id)
            if session is None or (before.asked is not None and session is before.asked()):
                continue
            if session.confirm(partial(self._confirmed, bridge, before)):
                self._moving[datapath_id] = before._replace(asked=weakref.ref(session))
        return any(datapath_id in self._sessions for datapath_id in self._moving)

    def _confirmed(self, bridge: Bridge, stand: _Stand) -> None:
        tree = bridge.spanning_tree
        if tree is not None and stand.still(tree) and not tree.settled:
            self._snapshots.save(bridge.datapath_id, tree.dump())
            tree.settled = True

    def run(self) -> None:
        """Write down what has come to rest, for ever."""
        while True:
            self._moved.wait()
            hub.sleep(SETTLING)
            self._moved.clear()
            if self.look():
                self._moved.set()
