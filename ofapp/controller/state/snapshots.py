"""Snapshots of a bridge's protocol state, for the next process to continue with."""

from __future__ import annotations

import json
import logging
from typing import Any

from ofapp.common.portions import AT_ONCE, Portions
from ofapp.controller.state.document import Document, Store, loads
from ofapp.controller.state.marks import SLOTS
from ofapp.controller.state.saving import Emit, Ticket
from ofapp.controller.state.storage import Storage

LOG = logging.getLogger(__name__)

MAX_SNAPSHOTS = SLOTS
MAX_TOTAL = 256 << 20
"""Most octets of all snapshots of a kind."""

LONG = 1 << 19
"""Characters that take a millisecond to put together."""


class Encoded(str):
    """A document that is already JSON."""

    __slots__ = ()


def encoded(data: Any, portions: Portions) -> Encoded:
    """Encode data as JSON, the items of its lists in portions; `Encoded` stays as it is."""
    if isinstance(data, Encoded):
        return data
    if isinstance(data, dict):
        items = (f"{json.dumps(key)}: {encoded(value, portions)}" for key, value in data.items())
        text = f"{{{', '.join(items)}}}"
    elif isinstance(data, list):
        text = f"[{', '.join(map(json.dumps, portions.of(data)))}]"
    else:
        text = json.dumps(data)
    if len(text) > LONG:
        portions.rest()
    return Encoded(text)


class SnapshotStore(Store[Any]):
    """Snapshots are written often and not synced: for a crash of the controller, not the machine.

    An invalidated snapshot is not used from that very moment (`marks`).
    """

    def __init__(self, document: Document, storage: Storage, emit: Emit) -> None:
        super().__init__(document, storage, emit)
        stem = document.stem or document.name
        self._marks = storage.marks(stem, document.marked, self._values)

    def take_over(self, datapath_id: int, size: int) -> None:
        """See `Store`, also for what follows; sizes are kept in memory, and no snapshots."""
        self._values[datapath_id] = size

    def forget(self, datapath_id: int) -> Ticket:
        self._marks.drop(datapath_id)
        return super().forget(datapath_id)

    def set_aside(self, datapath_id: int, why: str) -> None:
        self._marks.drop(datapath_id)
        super().set_aside(datapath_id, why)

    def load(self, datapath_id: int) -> Any:
        try:
            data = self._storage.read(self.document.file(datapath_id), self.document.limit)
            stored = loads(data)
            if not isinstance(stored, dict) or not stored.keys() >= {"mark", "snapshot"}:
                raise ValueError("it has no mark and snapshot, as another version may write it")
            return stored["snapshot"] if stored["mark"] == self._marks.of(datapath_id) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.set_aside(datapath_id, str(error))
            return None

    def invalidate(self, datapath_id: int, valid: Any) -> None:
        """Invalidate the saved snapshot at once; `valid` replaces it, soon."""
        if self._marks.of(datapath_id) is not None:
            self._marks.renew(datapath_id)
        self.save(datapath_id, valid)

    def save(self, datapath_id: int, value: Any, sync: bool = False, first: bool = True) -> Ticket:
        mark = self._marks.of(datapath_id)
        if mark is None:
            self._make_room(datapath_id)
            mark = self._marks.renew(datapath_id)
        data = f'{{"mark": {mark}, "snapshot": {encoded(value, AT_ONCE)}}}'.encode()
        if len(data) > self.document.limit:
            LOG.warning(
                "the %s state of %016x is too large to store: %d octets",
                self.document.name,
                datapath_id,
                len(data),
            )
            return self.forget(datapath_id)
        self._values.pop(datapath_id, None)
        self._values[datapath_id] = len(data)
        ticket = self._storage.put(self.document.file(datapath_id), data, sync, first)
        while sum(self._values.values()) > MAX_TOTAL:
            self.forget(next(iter(self._values)))
        return ticket

    def _make_room(self, datapath_id: int) -> None:
        while len(self._values) + (datapath_id not in self._values) > MAX_SNAPSHOTS:
            self.forget(next(known for known in self._values if known != datapath_id))
