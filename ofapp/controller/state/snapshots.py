"""Snapshots of a bridge's protocol state, for the next process to continue with."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.common.portions import AT_ONCE, Portions
from ofapp.controller.state.documents import Documents
from ofapp.controller.state.entries import loads
from ofapp.controller.state.keeper import Tell

LOG = logging.getLogger(__name__)

MAX_SNAPSHOTS = 1024
"""Most snapshots; a host that reaches the OpenFlow port can invent endless datapath ids."""

MAX_BYTES = 12 << 20
"""Most bytes of one: for the most ports, all different; usually it is at most a megabyte."""

MAX_TOTAL = 256 << 20
"""Most bytes of all."""

LONG = 1 << 19
"""Characters that take a millisecond to put together."""


class Encoded(str):
    """A document that is already JSON."""

    __slots__ = ()


def encoded(document: Any, portions: Portions) -> Encoded:
    """Encode a document as JSON, the items of its lists in portions; `Encoded` stays as it is."""
    if isinstance(document, Encoded):
        return document
    if isinstance(document, dict):
        items = (f"{json.dumps(key)}: {encoded(own, portions)}" for key, own in document.items())
        text = f"{{{', '.join(items)}}}"
    elif isinstance(document, list):
        text = f"[{', '.join(map(json.dumps, portions.of(document)))}]"
    else:
        text = json.dumps(document)
    if len(text) > LONG:
        portions.rest()
    return Encoded(text)


class Snapshots:
    """Snapshots are written often and not synced: for a crash of the controller, not the machine.

    An invalidated snapshot is not used from that very moment (`marks`).

    kind: prefix of the documents' names.
    """

    def __init__(self, documents: Documents, tell: Tell, kind: str = "bridge") -> None:
        self._documents = documents
        self._kind = kind
        self._tell = tell
        name = re.compile(rf"{kind}-([0-9a-f]{{16}})\.json")
        found = ((name.fullmatch(each), size) for each, size in documents.names())
        self._sizes = {
            int(named[1], 16): size for named, size in found if named
        }  # the oldest first
        self._marks = documents.marks(kind, MAX_SNAPSHOTS, self._sizes)

    def take_up(self, datapath_id: int, size: int) -> None:
        """Note a bridge's snapshot that another member has made."""
        self._sizes[datapath_id] = size

    def let_go(self, datapath_id: int) -> None:
        """Leave the bridge's snapshot to another controller."""
        self._sizes.pop(datapath_id, None)

    def known(self) -> list[int]:
        """Datapath ids of the bridges with snapshots."""
        return [*self._sizes]

    def strike(self, datapath_id: int, document: Any) -> None:
        """Invalidate the saved snapshot at once; `document` replaces it, soon."""
        self._save(datapath_id, document, struck=True)

    def save(self, datapath_id: int, document: Any) -> None:
        """Replace the bridge's snapshot, soon."""
        self._save(datapath_id, document, struck=False)

    def _save(self, datapath_id: int, document: Any, struck: bool) -> None:
        mark = self._marks.of(datapath_id)
        if mark is None:
            self._make_room(datapath_id)
        if mark is None or struck:
            mark = self._marks.renew(datapath_id)
        data = f'{{"mark": {mark}, "snapshot": {encoded(document, AT_ONCE)}}}'.encode()
        if len(data) > MAX_BYTES:
            LOG.warning(
                "the snapshot of %016x is too large to store: %d bytes", datapath_id, len(data)
            )
            self.delete(datapath_id)
            return
        self._sizes.pop(datapath_id, None)
        self._sizes[datapath_id] = len(data)
        self._documents.put(self._named(datapath_id), data, sync=False, first=True)
        while sum(self._sizes.values()) > MAX_TOTAL:
            self.delete(next(iter(self._sizes)))

    def _make_room(self, datapath_id: int) -> None:
        while len(self._sizes) + (datapath_id not in self._sizes) > MAX_SNAPSHOTS:
            self.delete(next(known for known in self._sizes if known != datapath_id))

    def load(self, datapath_id: int) -> Any:
        """The bridge's snapshot, None without a valid and readable one."""
        try:
            kept = loads(self._documents.read(self._named(datapath_id), MAX_BYTES))
            if "mark" not in kept:
                return None  # of an earlier version
            return kept["snapshot"] if kept["mark"] == self._marks.of(datapath_id) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            self.refuse(datapath_id, str(error))
            return None

    def refuse(self, datapath_id: int, why: str) -> None:
        """Set aside an invalid snapshot of the bridge and log an event."""
        self._marks.drop(datapath_id)
        name = self._named(datapath_id)
        message = f"{name} is not a valid snapshot, its protocols start again: {why}"
        try:
            message += f"; it is {self._documents.set_aside(name)} now"
        except OSError as error:
            message += f"; it stays: {error.strerror}"
        self._sizes.pop(datapath_id, None)
        event = Event(
            "state.damaged", message, Severity.WARNING, data={"file": self._documents.place(name)}
        )
        self._tell(datapath_id, event)

    def delete(self, datapath_id: int) -> None:
        """Delete the bridge's snapshot."""
        self._marks.drop(datapath_id)
        if self._sizes.pop(datapath_id, None) is not None:
            self._documents.remove(self._named(datapath_id))

    def _named(self, datapath_id: int) -> str:
        return f"{self._kind}-{datapath_id:016x}.json"
