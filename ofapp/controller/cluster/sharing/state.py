"""`State` that a cluster shares in etcd: run-time settings and protocol state of each bridge.

Only a member that has claimed a switch reads its bridge's documents, after the claim: before that
the owner may change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import Changes, Etcd
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.documents import KINDS, SharedDocuments, of_bridge
from ofapp.controller.state.keeper import Keeper, Tell
from ofapp.controller.state.store import State

FINISHING = 1.0
"""Seconds to finish writing the documents of a switch that is given up."""

SET = {"entries": "static entries", "settings": "settings"}
"""Kinds of documents with run-time settings, and their names in messages."""


class SharedState(State):
    """directory: for state of this member alone, such as the audit trail; EtcdError.

    on_lost: called, in a separate greenlet, when another member has claimed a switch.
    """

    def __init__(self, directory: Path | None, tell: Tell, etcd: Etcd, keys: Keys) -> None:
        self.on_lost: Callable[[int], object] = lambda _datapath_id: None
        self._heeds: dict[str, Callable[[], object]] = {}
        self._writer = Keeper(tell, in_threads=False)
        self._shared = SharedDocuments(etcd, keys, self._writer, self._lost)
        self._shared.read_common()
        super().__init__(directory, tell, self._shared)
        self._watch = etcd.watch(keys.common, self._changed)

    def take_over(self, datapath_id: int, term: int, mark: int | None) -> bool:
        """Read the documents of a bridge as its last owner left them; EtcdError.

        Call it as claimant and master of the switch, before the bridge is made.
        term: the revision of the claim; mark: the switch's, read as its master.
        If this member was the last owner, its unwritten documents take precedence.  Returns False
        if it believed to be the owner and another member has written since.
        """
        if self._shared.term(datapath_id) == term:
            return True  # another connection of a known bridge
        unsaved = self._shared.take_over(datapath_id, term)
        counts = unsaved is not None
        if unsaved is None:
            self.let_go(datapath_id)
            unsaved = self._shared.take_over(datapath_id, term) or set()
        for kind, name in zip(KINDS, of_bridge(datapath_id), strict=True):
            if name not in unsaved:
                self._take_up(kind, datapath_id, self._shared.size(name), mark)
        return counts

    def settled(self, datapath_id: int, patience: float = FINISHING) -> bool:
        """Whether all documents of a bridge are saved; waits for that up to `patience` seconds."""
        names = of_bridge(datapath_id)
        with hub.Timeout(patience, False):
            while any(map(self._shared.pending, names)):
                hub.sleep(0.005)
            return True
        return False

    def let_go(self, datapath_id: int) -> None:
        """See `State`; unsaved documents are lost, which is reported."""
        lost = self._shared.let_go(datapath_id)
        super().let_go(datapath_id)
        named = [words for name, words in SET.items() if f"{name}-{datapath_id:016x}.json" in lost]
        if named:
            message = (
                "what was set at run time and could not be saved is lost, as another member took"
                f" the switch over: {' and '.join(named)}"
            )
            data = {"documents": lost}
            self._tell(datapath_id, Event("state.lost", message, Severity.ERROR, data=data))

    def taken(self, datapath_id: int, term: int) -> None:
        """Forget a bridge if another member has claimed its switch in this term."""
        if self._shared.term(datapath_id) not in (None, term):
            self.let_go(datapath_id)

    def rebase(self, unchanged: Mapping[str, int]) -> None:
        """Forget all claims, and use the revisions of another history of etcd."""
        self._shared.rebase(unchanged)

    def reached(self) -> None:
        """Write unsaved documents again, as etcd answers."""
        self._writer.retry()

    @property
    def unsaved(self) -> str | None:
        """See `State`."""
        return "; ".join(filter(None, (self._writer.unsaved, super().unsaved))) or None

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

    def _take_up(self, kind: str, datapath_id: int, size: int | None, mark: int | None) -> None:
        """Load a document of a bridge from etcd; size: of the document, None if there is none."""
        match kind:
            case "entries":
                self._kept.pop(datapath_id, None)
                if size is not None:
                    self._read_one(datapath_id)
            case "settings":
                self.settings.let_go(datapath_id)
                if size is not None:
                    self.settings.take_up(datapath_id)
            case "bridge":
                self._shared.tree_marks.found(datapath_id, mark)
                if size is not None:
                    self.snapshots.take_up(datapath_id, size)
            case "lacp" if size is not None:
                self.lacp.take_up(datapath_id, size)

    def _changed(self, changes: Changes) -> None:
        for name in self._shared.heed_common(changes):
            if (heed := self._heeds.get(name)) is not None:
                heed()

    def _lost(self, datapath_id: int) -> None:
        self.let_go(datapath_id)
        hub.spawn(self.on_lost, datapath_id)
