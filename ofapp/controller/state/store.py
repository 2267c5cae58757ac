"""The entries of every bridge that were set at run time: read at the start, saved when they change.

A bridge that is not stored here gets its entries from its switch (`Session`, adopt_static).  That a
bridge has none is stored, too, as its switch may hold some that were removed while it was away.
Entries that no user has requested are stored for as many bridges as there may be: datapath ids are
easily invented.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.controller.state.accepted import AcceptedFile
from ofapp.controller.state.documents import Documents, Files, Nowhere
from ofapp.controller.state.entries import Kept, MdbEntry, StaticEntry, decode, decode_first, encode
from ofapp.controller.state.keeper import Keeper, Tell, Ticket, done
from ofapp.controller.state.reading import Reading
from ofapp.controller.state.settings import SettingsStore
from ofapp.controller.state.snapshots import Snapshots
from ofapp.controller.state.trail import Trail

LOG = logging.getLogger(__name__)

MAX_UNASKED = 1024
"""Most bridges stored without a user's request.  Those without entries are forgotten first, then
the longest unchanged."""

WRONG_TOLD = 10
"""Most mistakes of a file that are reported."""

_NAME = re.compile(r"entries-([0-9a-f]{16})\.json")
_FIRST = "state.json"
_FIRST_SO = "the entries of its bridges are what the switch holds"
TRAIL = "audit.log"


def _log(_bridge: int | None, event: Event) -> None:
    LOG.log(logging.INFO if event.severity is Severity.INFO else logging.ERROR, event.message)


class State:
    """directory None: nothing outlives the process.  tell: gets events about the files.

    shared: storage of the state that several controllers share, instead of the directory.
    """

    def __init__(
        self, directory: Path | None, tell: Tell = _log, shared: Documents | None = None
    ) -> None:
        self._tell = tell
        self.keeper = Keeper(tell)
        own = Nowhere() if directory is None else Files(directory, self.keeper)
        self.documents: Documents = own if shared is None else shared
        self._kept: dict[int, Kept] = {}  # the longest unchanged first
        self._reading = Reading(self.documents, tell)
        self._read_all()
        self.settings = SettingsStore(self.documents, self._reading)
        self.snapshots = Snapshots(self.documents, tell)
        self.lacp = Snapshots(self.documents, tell, "lacp")
        self.accepted = AcceptedFile(own)
        self.trail = Trail(None if directory is None else directory / TRAIL, tell)

    def static_entries(self, datapath_id: int) -> tuple[StaticEntry, ...] | None:
        """A bridge's static entries; None when nothing is stored of it."""
        kept = self._kept.get(datapath_id)
        return None if kept is None else kept.static

    def mdb_entries(self, datapath_id: int) -> tuple[MdbEntry, ...]:
        """A bridge's permanent multicast entries."""
        return self._kept.get(datapath_id, Kept()).mdb

    def remember(self, datapath_id: int, kept: Kept) -> Ticket:
        """Store the bridge's entries; wait for the ticket until they are saved."""
        old = self._kept.pop(datapath_id, None)
        if old is not None and old.asked and not kept.asked:
            kept = Kept(kept.static, kept.mdb, asked=True)
        self._kept[datapath_id] = kept
        self._forget_unasked()
        name = _name(datapath_id)
        if old == kept and not self.documents.pending(name):
            return done()
        matters = kept.asked or not kept.empty
        return self.documents.put(name, encode(kept), sync=matters, first=kept.asked)

    def forget(self, datapath_id: int) -> Ticket:
        """Delete the bridge's entries."""
        if self._kept.pop(datapath_id, None) is None:
            return done()
        return self.documents.remove(_name(datapath_id))

    def let_go(self, datapath_id: int) -> None:
        """Leave a bridge to another member: its stored state stays unchanged."""
        self._kept.pop(datapath_id, None)
        self.settings.let_go(datapath_id)
        self.snapshots.let_go(datapath_id)
        self.lacp.let_go(datapath_id)

    def fence(self, tell: Callable[[int, int | None], None]) -> None:
        """Send switches the mark of the valid snapshot, where needed (`cluster.marks`)."""

    def connected(self, datapath_id: int) -> None:
        """Handle a switch's connection: it may lack the mark of the valid snapshot."""

    def heed(self, name: str, changed: Callable[[], object]) -> None:
        """Call `changed` when others have changed a document; files have no other writer."""

    @property
    def unsaved(self) -> str | None:
        """Why state cannot be saved now; None while all is saved."""
        return "; ".join(filter(None, (self.keeper.unsaved, self.trail.unsaved))) or None

    def finish(self, patience: float) -> None:
        """End of the process: wait so many seconds for saves in progress."""
        self.keeper.finish(patience)
        self.trail.finish(patience)

    # Inside

    def _forget_unasked(self) -> None:
        if len(self._kept) <= MAX_UNASKED:
            return
        unasked = [known for known, kept in self._kept.items() if not kept.asked]
        unasked.sort(key=lambda known: not self._kept[known].empty)
        for datapath_id in unasked[:-MAX_UNASKED]:
            if not self._kept[datapath_id].empty:
                message = f"its entries are not stored: {MAX_UNASKED} bridges have unrequested ones"
                self._tell(datapath_id, Event("state.limit", message, Severity.WARNING))
            self.forget(datapath_id)

    def _read_all(self) -> None:
        names = [name for name, _size in self.documents.names()]
        for name in names:
            if (named := _NAME.fullmatch(name)) is not None:
                self._read_one(int(named[1], 16))
        if _FIRST in names:
            self._read_first()

    def _read_one(self, datapath_id: int) -> None:
        so = "its entries are what the switch holds"
        kept = self._reading.read(_name(datapath_id), datapath_id, decode, so)
        if kept is not None:
            self._kept[datapath_id] = kept

    def _read_first(self) -> None:
        """Split the file of an earlier version into one for each bridge, and remove it."""
        read = self._reading.read(_FIRST, None, decode_first, _FIRST_SO)
        if read is None:
            return
        found, wrong = read
        tickets = [
            self.remember(datapath_id, kept)
            for datapath_id, kept in found.items()
            if datapath_id not in self._kept
        ]
        hub.spawn(self._replaced_first, tickets, "; ".join(wrong[:WRONG_TOLD]))

    def _replaced_first(self, tickets: list[Ticket], wrong: str) -> None:
        for ticket in tickets:
            ticket.tried.wait()
        if any(ticket.error is not None for ticket in tickets):
            return  # the next start tries it again
        if wrong:
            self._reading.damaged(_FIRST, None, wrong, _FIRST_SO)
        else:
            self.documents.remove(_FIRST)


def _name(datapath_id: int) -> str:
    return f"entries-{datapath_id:016x}.json"
