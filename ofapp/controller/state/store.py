"""All that this controller stores: a store for each kind of document, and the audit trail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, Severity
from ofapp.controller.problems.cables.stored import Stored
from ofapp.controller.state import documents
from ofapp.controller.state.document import Document, Store
from ofapp.controller.state.entries import EntryStore
from ofapp.controller.state.saving import Emit, SaveQueue, Ticket
from ofapp.controller.state.settings import AcceptedFile, RunTimeSettings
from ofapp.controller.state.snapshots import SnapshotStore
from ofapp.controller.state.storage import Files, Nowhere, Storage
from ofapp.controller.state.trail import Trail
from ofapp.controller.state.versions import Versions

LOG = logging.getLogger(__name__)

TRAIL = "audit.log"


def _log(_bridge: int | None, event: Event) -> None:
    LOG.log(logging.INFO if event.severity is Severity.INFO else logging.ERROR, event.message)


class State:
    """directory None: nothing outlives the process.  emit: gets events about the files.

    shared: storage of the state that several controllers share, instead of the directory.
    """

    def __init__(
        self, directory: Path | None, emit: Emit = _log, shared: Storage | None = None
    ) -> None:
        self._emit = emit
        self.queue = SaveQueue(emit)
        local = Nowhere() if directory is None else Files(directory, self.queue)
        self.storage: Storage = local if shared is None else shared
        self.stores = {
            document.name: self._store(document)
            for document in documents.DOCUMENTS
            if document.per_bridge
        }
        self.accepted = AcceptedFile(local, emit)
        self.versions = Versions(self.storage, emit)
        self.trail = Trail(None if directory is None else directory / TRAIL, emit)

    @property
    def entries(self) -> EntryStore:
        """Entries that were set at run time."""
        store = self.stores["entries"]
        assert isinstance(store, EntryStore)
        return store

    @property
    def settings(self) -> Store[RunTimeSettings]:
        """Run-time settings."""
        return self.stores["settings"]

    @property
    def fabrics(self) -> Store[dict[str, Any]]:
        """What fabrics have to remember."""
        return self.stores["fabric"]

    @property
    def cables(self) -> Store[Stored]:
        """Cables that were seen."""
        return self.stores["cables"]

    @property
    def known(self) -> Store[str]:
        """Names of the bridges that were connected."""
        return self.stores["known"]

    @property
    def snapshots(self) -> dict[str, SnapshotStore]:
        """Protocol state, by the names of the protocols."""
        return {
            name: store for name, store in self.stores.items() if isinstance(store, SnapshotStore)
        }

    def restore(self, bridge: Bridge) -> None:
        """Put the stored entries and protocol state into a new bridge."""
        for store in self.stores.values():
            store.restore(bridge)

    def forget_protocols(self, datapath_id: int) -> None:
        """Delete the protocol state of a bridge; what a user has set stays for its return."""
        for store in (*self.snapshots.values(), self.known):
            store.forget(datapath_id)

    def forget(self, datapath_id: int) -> tuple[Ticket, ...]:
        """Delete all documents of a bridge; gives the tickets of what a user has set."""
        tickets = [(store, store.forget(datapath_id)) for store in self.stores.values()]
        return tuple(ticket for store, ticket in tickets if store.document.setting)

    def release(self, datapath_id: int) -> None:
        """Leave a bridge to another member: its stored state stays unchanged."""
        for store in self.stores.values():
            store.release(datapath_id)

    def write_marks(self, write: Callable[[int, int | None], None]) -> None:
        """Write the mark of the valid snapshot to switches by `write`, where they store it."""

    def connected(self, datapath_id: int) -> None:
        """Handle a switch's connection: it may lack the mark of the valid snapshot."""

    def watch(self, document: Document, changed: Callable[[], object]) -> None:
        """Call `changed` when others have changed a document; files have no other writer."""

    @property
    def unsaved(self) -> str | None:
        """Why state cannot be saved now; None while all is saved."""
        return "; ".join(filter(None, (self.queue.unsaved, self.trail.unsaved))) or None

    def finish(self, patience: float) -> None:
        """End of the process: wait so many seconds for saves in progress."""
        self.queue.finish(patience)
        self.trail.finish(patience)

    def _store(self, document: Document) -> Store[Any]:
        make = document.store or (SnapshotStore if document.decode is None else Store)
        return make(document, self.storage, self._emit)
