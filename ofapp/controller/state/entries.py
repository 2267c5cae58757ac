"""The entries of a bridge that were set at run time: their form, and the store of all bridges'.

A bridge without stored entries gets them from its switch (`Session`, adopt_static).  That a bridge
has none is stored, too, as its switch may hold some that were removed while it was disconnected.
Entries that no user has requested are stored for as many bridges as there may be: datapath ids are
easily invented.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.common import hub
from ofapp.controller.state.document import Document, Store, loaded, report_damage
from ofapp.controller.state.entry_kinds import KINDS, MdbEntry, StaticEntry, UserEntry
from ofapp.controller.state.events import STATE_LIMIT
from ofapp.controller.state.saving import Emit, Ticket
from ofapp.controller.state.storage import Storage

VERSION = 2
FIRST_VERSION = 1
"""One file, `state.json`, for all bridges."""
FIRST_KINDS = (StaticEntry, MdbEntry)
"""The kinds of entries that it may have."""

MAX_UNREQUESTED = 1024
"""Most bridges stored without a user's request.  Those without entries are forgotten first, then
the longest unchanged."""

MAX_REPORTED = 10
"""Most mistakes of a file that are reported."""


@dataclass(frozen=True, slots=True)
class RunTimeEntries:
    """The entries of a bridge, of all kinds.

    requested: a user has set or removed one of them; otherwise they were read from the switch.
    """

    entries: tuple[UserEntry, ...] = ()
    requested: bool = False


def _encode(entries: RunTimeEntries) -> bytes:
    lists: dict[str, list[str]] = {kind.list_name: [] for kind in KINDS}
    for entry in entries.entries:
        lists[entry.list_name].append(f"\n{entry.encoded}")
    head = json.dumps({"version": VERSION, "asked": entries.requested})[1:-1]
    parts = [f'"{name}": [{",".join(some)}]' for name, some in lists.items()]
    return f"{{{', '.join((head, *parts))}}}".encode()


def _decode(data: bytes) -> RunTimeEntries:
    document = loaded(data, VERSION)
    if type(document.get("asked")) is not bool:
        raise ValueError("it does not say whether a user has asked for these entries")
    return _entries(document, document["asked"])


def _decode_first(data: bytes) -> tuple[dict[int, RunTimeEntries], list[str]]:
    """Entries of the first version's single file, by datapath id, and the mistakes in it."""
    bridges = loaded(data, FIRST_VERSION).get("bridges")
    if type(bridges) is not dict:
        raise ValueError("it has no bridges")
    by_bridge: dict[int, RunTimeEntries] = {}
    wrong: list[str] = []
    for name, bridge in bridges.items():
        try:
            datapath_id = int(name, 16)
            if not 0 < datapath_id < 1 << 64:
                raise ValueError("no datapath id")
            entries = _entries(bridge, requested=False)
            by_bridge[datapath_id] = replace(entries, requested=bool(entries.entries))
        except (ValueError, TypeError) as error:
            wrong.append(f"bridge {name}: {error}")
    return by_bridge, wrong


def _entries(bridge: Any, requested: bool) -> RunTimeEntries:
    """Entries of a bridge; older versions wrote fewer kinds, but always `static`."""
    if type(bridge) is not dict or type(bridge.get("static")) is not list:
        raise ValueError("it has no list of static entries")
    entries: list[UserEntry] = []
    for kind in KINDS:
        stored = bridge.get(kind.list_name, [])
        if type(stored) is not list:
            raise ValueError(f"{kind.list_name} is not a list")
        try:
            made = [kind(**entry) for entry in stored]
            for entry in made:
                entry.check()
        except (TypeError, AttributeError) as error:
            raise ValueError(f"an entry is none: {error}") from None
        entries += made
    return RunTimeEntries(tuple(entries), requested)


def _restore(bridge: Bridge, entries: RunTimeEntries) -> Iterable[str]:
    """Add the entries to those of the file, which they replace; a binding does not replace one."""
    now = time.monotonic()
    for entry in entries.entries:
        try:
            entry.put(bridge, False, now)
        except InputError as error:
            yield str(error)


_FIRST = Document(
    "state",
    setting="static entries",
    damaged="the entries of its bridges are what the switch holds",
    limit=64 << 20,
)


class EntryStore(Store[RunTimeEntries]):
    """Entries of all bridges."""

    def __init__(self, document: Document, storage: Storage, emit: Emit) -> None:
        super().__init__(document, storage, emit)
        names = [name for name, _size in storage.names()]
        if _FIRST.file() in names:
            self._split_first(older=names[: names.index(_FIRST.file())])

    def save(
        self, datapath_id: int, value: RunTimeEntries, sync: bool = True, first: bool = True
    ) -> Ticket:
        """See `Store`: bridges whose entries no user has requested are bounded."""
        old = self._values.get(datapath_id)
        if old is not None and old.requested and not value.requested:
            value = replace(value, requested=True)
        sync &= value.requested or bool(value.entries)
        ticket = super().save(datapath_id, value, sync, first and value.requested)
        self._forget_unrequested()
        return ticket

    def _forget_unrequested(self) -> None:
        if len(self._values) <= MAX_UNREQUESTED:
            return
        unrequested = [known for known, entries in self._values.items() if not entries.requested]
        unrequested.sort(key=lambda known: bool(self._values[known].entries))
        for datapath_id in unrequested[:-MAX_UNREQUESTED]:
            if self._values[datapath_id].entries:
                message = (
                    f"its entries are not stored: {MAX_UNREQUESTED} bridges have unrequested ones"
                )
                self._emit(datapath_id, STATE_LIMIT.event(message))
            self.forget(datapath_id)

    def _split_first(self, older: Collection[str]) -> None:
        """Split the file of an earlier version into one for each bridge, and remove it.

        older: files that are older than it, as that version has run again after a newer one.
        """
        try:
            by_bridge, wrong = _decode_first(self._storage.read(_FIRST.file(), _FIRST.limit))
        except (OSError, ValueError) as error:
            report_damage(self._storage, self._emit, _FIRST, str(error))
            return
        tickets = []
        for datapath_id, entries in by_bridge.items():
            known = self._values.get(datapath_id, RunTimeEntries())
            others = [one for one in known.entries if not isinstance(one, FIRST_KINDS)]
            if datapath_id not in self._values or self.document.file(datapath_id) in older:
                new = replace(entries, entries=(*entries.entries, *others))
                tickets.append(self.save(datapath_id, new))
        hub.spawn(self._replaced_first, tickets, "; ".join(wrong[:MAX_REPORTED]))

    def _replaced_first(self, tickets: list[Ticket], wrong: str) -> None:
        for ticket in tickets:
            ticket.tried.wait()
        if any(ticket.error is not None for ticket in tickets):
            return  # the next start tries it again
        if wrong:
            report_damage(self._storage, self._emit, _FIRST, wrong)
        else:
            self._storage.remove(_FIRST.file())


ENTRIES = Document(
    "entries",
    synced=True,
    setting="static entries, bindings",
    damaged="its entries are what the switch holds",
    limit=64 << 20,
    encode=_encode,
    decode=_decode,
    restore=_restore,
    store=EntryStore,
)
