"""Declaration of a stored document, and the store of all bridges' documents of one kind.

A declaration stands beside what it stores, and `documents.DOCUMENTS` has one line for each.  Files,
etcd, takeover, forgetting and the check of etcd's keys iterate over that tuple.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Severity
from ofapp.common.portions import Portions
from ofapp.controller.state.events import STATE_DAMAGED
from ofapp.controller.state.saving import Emit, Ticket, done
from ofapp.controller.state.storage import Storage

LOG = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Lets a document wait until its state is stable, and its switch has carried everything out.

    unsaved: the revision that is not stored yet, None without one; saved: note that it is stored.
    """

    unsaved: Callable[[Bridge], Any]
    saved: Callable[[Bridge, Any], object]


@dataclass(frozen=True, slots=True)
class Document:
    """Declaration of a stored document.

    name: name of the protocol, for protocol state; the document's file is `stem`, by default the
    name.
    per_bridge: one for each bridge, else one for the controller; local: never shared in a cluster.
    synced: on disk before a request is answered; protocol state is only to survive a crash of the
    process.
    setting: what a user has set, in words: it is reported when it is lost; empty for the rest.
    damaged: consequence of an unreadable document, in words.
    limit: octets.
    encode, decode: of a value that is kept in memory, too; ValueError for any other content.
    dump: protocol state of a bridge, as JSON-serialisable data, stored after `StateChanged`.
    restore: put a value or protocol state into a bridge without ports; gives the reasons why parts
    start again; ValueError if it is damaged.
    delay: least seconds between two writes of protocol state.
    marked: an outdated state would do harm, and is invalidated before the change: by a mark in a
    file, or in the switch in a cluster.  A switch has one mark, so at most one document has this.
    revision: lets protocol state wait until it is stable; None: any moment's state will do.
    store: class of the store, other than `Store` for values and `SnapshotStore` for the rest.
    """

    name: str
    stem: str = ""
    per_bridge: bool = True
    local: bool = False
    synced: bool = False
    setting: str = ""
    damaged: str = "its protocol starts again"
    limit: int = 12 << 20
    encode: Callable[[Any], bytes] | None = None
    decode: Callable[[bytes], Any] | None = None
    dump: Callable[[Bridge, Portions], Any] | None = None
    restore: Callable[[Bridge, Any], Iterable[str]] | None = None
    delay: float = 0.05
    marked: bool = False
    revision: Revision | None = None
    store: Callable[[Document, Storage, Emit], Store[Any]] | None = None

    def file(self, datapath_id: int | None = None) -> str:
        """File name of the document, of this bridge if it is one of a bridge."""
        stem = self.stem or self.name
        return f"{stem}.json" if datapath_id is None else f"{stem}-{datapath_id:016x}.json"

    def bridge(self, file: str) -> int | None:
        """The bridge of the document with this file name; None for other names."""
        named = re.fullmatch(rf"{self.stem or self.name}-([0-9a-f]{{16}})\.json", file)
        return None if named is None else int(named[1], 16)


class Store(Generic[T]):
    """Documents of one kind, by datapath id; their values are kept in memory, too.

    The longest unchanged come first.
    """

    def __init__(self, document: Document, storage: Storage, emit: Emit) -> None:
        self.document = document
        self._storage = storage
        self._emit = emit
        self._values: dict[int, T] = {}
        for name, size in storage.names():
            if (datapath_id := document.bridge(name)) is not None:
                self.take_over(datapath_id, size)

    @property
    def bridges(self) -> list[int]:
        """Datapath ids of the bridges with such a document."""
        return [*self._values]

    def load(self, datapath_id: int) -> T | None:
        """The stored value; None without a valid one."""
        return self._values.get(datapath_id)

    def take_over(self, datapath_id: int, size: int) -> None:
        """Use the document that another process has written; size: octets."""
        del size
        decode = self.document.decode
        assert decode is not None
        try:
            data = self._storage.read(self.document.file(datapath_id), self.document.limit)
            self._values[datapath_id] = decode(data)
        except (OSError, ValueError) as error:
            self.set_aside(datapath_id, str(error))

    def release(self, datapath_id: int) -> None:
        """Leave the bridge's document to another controller."""
        self._values.pop(datapath_id, None)

    def forget(self, datapath_id: int) -> Ticket:
        """Delete the bridge's document."""
        name = self.document.file(datapath_id)
        if self._values.pop(datapath_id, None) is None and not self._storage.pending(name):
            return done()
        return self._storage.remove(name)

    def save(self, datapath_id: int, value: T, sync: bool = True, first: bool = True) -> Ticket:
        """Store a value; wait for the ticket until it is saved.

        sync: if the document is synced; first: before others that wait.
        """
        encode = self.document.encode
        assert encode is not None
        name, old = self.document.file(datapath_id), self._values.pop(datapath_id, None)
        if old is not None and old == value:
            value = old  # it may keep its encoded form
        self._values[datapath_id] = value
        if old is value and not self._storage.pending(name):
            return done()
        return self._storage.put(name, encode(value), sync and self.document.synced, first)

    def restore(self, bridge: Bridge) -> None:
        """Put what is stored into a new bridge; damaged documents are set aside."""
        if self.document.restore is None:
            return
        stored = self.load(bridge.datapath_id)
        if stored is None:
            return
        try:
            for why in self.document.restore(bridge, stored):
                name = self.document.name
                LOG.info("%s of %016x starts again: %s", name, bridge.datapath_id, why)
        except ValueError as error:
            self.set_aside(bridge.datapath_id, str(error))

    def set_aside(self, datapath_id: int, why: str) -> None:
        """Set a damaged document aside, and emit an event."""
        self.release(datapath_id)
        report_damage(self._storage, self._emit, self.document, why, datapath_id)


class CommonDocument(Generic[T]):
    """A document of the whole controller, as one JSON object: one with all labels, for example."""

    def __init__(self, document: Document, storage: Storage, emit: Emit, version: int = 1) -> None:
        self._document = document
        self._storage = storage
        self._emit = emit
        self._version = version

    def read(self, decode: Callable[[dict[str, Any]], T], empty: T, present: T) -> T:
        """What `decode` makes of the object; `empty` without a document.

        A damaged document is set aside, with an event: then it is `present`.
        """
        try:
            data = self._storage.read(self._document.file(), self._document.limit)
            return decode(loaded(data, self._version))
        except FileNotFoundError:
            return empty
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            why = str(error) or repr(error)
            report_damage(self._storage, self._emit, self._document, why)
            return present

    def save(self, **content: object) -> Ticket:
        """Store the object; wait for the ticket until it is saved."""
        data = json.dumps({"version": self._version, **content}).encode()
        return self._storage.put(self._document.file(), data, self._document.synced)


def report_damage(
    storage: Storage,
    emit: Emit,
    document: Document,
    why: str,
    bridge: int | None = None,
) -> None:
    """Set a damaged document aside, and emit an event."""
    name = document.file(bridge)
    message = f"{name} is not what ofapp has saved: {why}; {document.damaged}"
    try:
        message += f"; the file is {storage.set_aside(name)} now"
    except OSError as error:
        message += f"; it cannot be set aside: {error.strerror}"
    severity = Severity.ERROR if document.setting else Severity.WARNING
    emit(
        bridge, STATE_DAMAGED.event(message, data={"file": storage.place(name)}, severity=severity)
    )


def loads(data: bytes) -> Any:
    """JSON from a document with any content.  Raises ValueError.

    Infinite times are valid.  NaN is not: a time that is NaN never comes.
    """
    try:
        return json.loads(data, parse_constant=_infinite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _infinite(name: str) -> float:
    if name == "NaN":
        raise ValueError("it has a number that is none")
    return float(name)


def loaded(data: bytes, version: int) -> dict[str, Any]:
    """The object in a document of that version.  Raises ValueError."""
    document = loads(data)
    if not isinstance(document, dict) or document.get("version") != version:
        raise ValueError(f"it is not a document of version {version}")
    return document
