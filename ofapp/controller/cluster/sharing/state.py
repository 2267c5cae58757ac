"""`State` that a cluster shares in etcd: run-time settings and protocol state of each bridge.

Only a member that has claimed a switch reads its bridge's documents, after the claim: before that
the owner may change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import Etcd, WatchResponse
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.sharing.storage import EtcdStorage, of_bridge
from ofapp.controller.member_events import STATE_LOST
from ofapp.controller.state.document import Document
from ofapp.controller.state.saving import Emit, SaveQueue
from ofapp.controller.state.store import State

FINISHING = 1.0
"""Seconds to finish writing the documents of a switch that is given up."""


class SharedState(State):
    """directory: for state of this member alone, such as the audit trail.  Raises EtcdError.

    on_lost: called, in a separate greenlet, when another member has claimed a switch.
    """

    def __init__(self, directory: Path | None, emit: Emit, etcd: Etcd, keys: Keys) -> None:
        self.on_lost: Callable[[int], object] = lambda _datapath_id: None
        self._watched: dict[str, Callable[[], object]] = {}
        self._writer = SaveQueue(emit, in_threads=False)
        self._shared = EtcdStorage(etcd, keys, self._writer, self._lost)
        self._shared.read_common()
        super().__init__(directory, emit, self._shared)
        self._watch = etcd.watch(keys.common, self._changed)

    def take_over(self, datapath_id: int, term: int, mark: int | None) -> bool:
        """Read the documents of a bridge as its last owner left them.  Raises EtcdError.

        Call it as claimant and master of the switch, before the bridge is made.
        term: the revision of the claim; mark: the switch's, read as its master.
        If this member was the last owner, its unwritten documents take precedence.  Returns False
        if it believed to be the owner and another member has written since.
        """
        if self.has_taken_over(datapath_id, term):
            return True  # another connection of a known bridge
        unsaved = self._shared.take_over(datapath_id, term)
        is_current = unsaved is not None
        if unsaved is None:
            self.release(datapath_id)
            unsaved = self._shared.take_over(datapath_id, term) or set()
        for store in self.stores.values():
            document, name = store.document, store.document.file(datapath_id)
            if name in unsaved:
                continue
            store.release(datapath_id)
            if document.marked:
                self._shared.switch_marks.read(datapath_id, mark)
            if (size := self._shared.size(name)) is not None:
                store.take_over(datapath_id, size)
        return is_current

    def has_taken_over(self, datapath_id: int, term: int) -> bool:
        """Whether the documents of a bridge were read under this claim already."""
        return self._shared.term(datapath_id) == term

    def saved(self, datapath_id: int, patience: float = FINISHING) -> bool:
        """Whether all documents of a bridge are saved; waits for that up to `patience` seconds."""
        names = of_bridge(datapath_id)
        with hub.Timeout(patience, False):
            while any(map(self._shared.pending, names)):
                hub.sleep(0.005)
            return True
        return False

    def release(self, datapath_id: int) -> None:
        """See `State`; unsaved documents are lost, which is reported."""
        lost = self._shared.release(datapath_id)
        super().release(datapath_id)
        settings = [
            store.document.setting
            for store in self.stores.values()
            if store.document.setting and store.document.file(datapath_id) in lost
        ]
        if settings:
            message = (
                "what was set at run time and could not be saved is lost, as another member took"
                f" the switch over: {' and '.join(settings)}"
            )
            data = {"documents": lost}
            self._emit(datapath_id, STATE_LOST.event(message, data=data))

    def claimed(self, datapath_id: int, term: int) -> None:
        """Forget a bridge if another member has claimed its switch in this term."""
        if self._shared.term(datapath_id) not in (None, term):
            self.release(datapath_id)

    def rebase(self, unchanged: Mapping[str, int]) -> None:
        """Forget all claims, and use the revisions of another history of etcd."""
        self._shared.rebase(unchanged)

    def retry(self) -> None:
        """Write unsaved documents again, as etcd answers."""
        self._writer.retry()

    @property
    def unsaved(self) -> str | None:
        """See `State`, also for all that follows."""
        return "; ".join(filter(None, (self._writer.unsaved, super().unsaved))) or None

    def write_marks(self, write: Callable[[int, int | None], None]) -> None:
        self._shared.switch_marks.write = write

    def connected(self, datapath_id: int) -> None:
        self._shared.switch_marks.repeat(datapath_id)

    def watch(self, document: Document, changed: Callable[[], object]) -> None:
        self._watched[document.file()] = changed

    def finish(self, patience: float) -> None:
        self._watch.cancel()
        self._writer.finish(patience)
        super().finish(patience)

    # Inside

    def _changed(self, changes: WatchResponse) -> None:
        for name in self._shared.apply_common(changes):
            if (changed := self._watched.get(name)) is not None:
                changed()

    def _lost(self, datapath_id: int) -> None:
        self.release(datapath_id)
        hub.spawn(self.on_lost, datapath_id)
