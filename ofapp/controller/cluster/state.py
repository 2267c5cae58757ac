"""`State` that a cluster shares: what was set of a bridge, and what its protocols knew, in etcd.

Only who has claimed a switch reads what there is of its bridge, and reads it then: before that it
is the owner's, and changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ofapp.common import hub
from ofapp.controller.cluster.documents import SharedDocuments, of_bridge
from ofapp.controller.cluster.etcd import Changes, Etcd
from ofapp.controller.cluster.keys import Keys
from ofapp.controller.state.keeper import Keeper, Tell
from ofapp.controller.state.store import State

FINISHING = 1.0
"""Seconds to wait for what is being written of a switch that is given up."""


class SharedState(State):
    """directory: of what is this member's own, as the audit trail; EtcdError.

    on_lost: told, in a greenlet of its own, that a switch is somebody else's by now.
    """

    def __init__(self, directory: Path | None, tell: Tell, etcd: Etcd, keys: Keys) -> None:
        self.on_lost: Callable[[int], object] = lambda _datapath_id: None
        self._heeds: dict[str, Callable[[], object]] = {}
        self._writer = Keeper(tell, in_threads=False)
        self._shared = SharedDocuments(etcd, keys, self._writer, self._lost)
        self._shared.read_common()
        super().__init__(directory, tell, self._shared)
        self._watch = etcd.watch(keys.common, self._changed)

    def take_over(self, datapath_id: int, term: int, mark: int | None) -> None:
        """Read what its last owner has left of a bridge; EtcdError.

        To be called by who has claimed the switch and is its master, before the bridge is made.
        term: the revision at which it was claimed; mark: the switch's, read as its master.
        """
        if self._shared.term(datapath_id) == term:
            return  # it is another connection of a bridge that is known
        self._shared.take_over(datapath_id, term)
        self._shared.tree_marks.found(datapath_id, mark)
        self._kept.pop(datapath_id, None)
        self.settings.let_go(datapath_id)
        entries, settings, tree, lacp = map(self._shared.size, of_bridge(datapath_id))
        if entries is not None:
            self._read_one(datapath_id)
        if settings is not None:
            self.settings.take_up(datapath_id)
        if tree is not None:
            self.snapshots.take_up(datapath_id, tree)
        if lacp is not None:
            self.lacp.take_up(datapath_id, lacp)

    def let_go(self, datapath_id: int, patience: float = FINISHING) -> None:
        """See `State`; to be called before the claim is given up, or when it is lost."""
        names = of_bridge(datapath_id)
        with hub.Timeout(patience, False):
            while patience and any(map(self._shared.pending, names)):
                hub.sleep(0.005)
        self._shared.let_go(datapath_id)
        super().let_go(datapath_id)

    def fence(self, tell: Callable[[int, int | None], None]) -> None:
        """See `State`, also for all that follows."""
        self._shared.tree_marks.tell = tell

    def connected(self, datapath_id: int) -> None:
        self._shared.tree_marks.repeat(datapath_id)

    def heed(self, name: str, changed: Callable[[], object]) -> None:
        self._heeds[name] = changed

    def finish(self, patience: float) -> None:
        self._watch.cancel()
        self._writer.finish(patience)
        super().finish(patience)

    # Inside

    def _changed(self, changes: Changes) -> None:
        for name in self._shared.heed_common(changes):
            if (heed := self._heeds.get(name)) is not None:
                heed()

    def _lost(self, datapath_id: int) -> None:
        self.let_go(datapath_id, patience=0)
        hub.spawn(self.on_lost, datapath_id)
