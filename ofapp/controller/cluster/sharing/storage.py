"""Stored documents in etcd: the next owner of a switch finds them as the last owner left them.

Each document is a key.  Only the owner of a switch may write its bridge's documents: the
transaction compares the owner's claim with the one that this member made.  So a member that was
away for too long changes nothing, however late its writes arrive.  The transaction also compares
the document with what this member wrote or read last: a write that was sent twice, as the first try
seemed lost, cannot arrive late and replace something newer.

Writes that etcd has not acknowledged are tried again as long as no other member has claimed the
switch, also under a later claim of this member.  Whether the lease is valid makes no difference, as
etcd decides who owns the switch.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import re
import secrets
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import (
    Delete,
    Etcd,
    EtcdError,
    FullError,
    Outcome,
    Put,
    Record,
    UnreachableError,
    WatchResponse,
    modified,
)
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.state import documents
from ofapp.controller.state.marks import Marks
from ofapp.controller.state.saving import CancelledError, SaveQueue, Ticket, UnreachedError

LOG = logging.getLogger(__name__)

LARGE = 4096
"""Octets from which on a document is compressed: a tree of 4,095 ports has a megabyte or several,
and etcd takes 1.5 MB at a time."""

IN_THREAD = 1 << 16
"""Octets from which on compression runs in a thread, as it would delay other greenlets."""

MOST = 1 << 20
"""Octets of a document as etcd has it."""

TRIES = 3

NO_TERM = 0
"""No claim: the member that claims next reads afterwards what was written before."""

CHANGED = -1
"""A revision that no key has."""

NOT_OWNER = "this member does not have the switch any more"

_BRIDGES = re.compile(r"[a-z]+-([0-9a-f]{16})\.json")
_ZLIB = b"\x78"  # no JSON begins so

Lost = Callable[[int], None]
Write = Callable[[int, int | None], None]


def _ignore(_datapath_id: int, _mark: int | None) -> None:
    return


class SwitchMarks:
    """Marks of snapshots, which the switch itself stores (see `openflow.switch.mastership.marks`).

    write: set or delete the mark in a connected switch, before later messages to it.
    """

    def __init__(self) -> None:
        self.write: Write = _ignore
        self._marks: dict[int, int] = {}

    def read(self, datapath_id: int, mark: int | None) -> None:
        """Record the mark that the switch had when it was taken over."""
        self._marks.pop(datapath_id, None)
        if mark is not None:
            self._marks[datapath_id] = mark

    def repeat(self, datapath_id: int) -> None:
        """Set the mark again, as the switch reconnected and may not have received the last."""
        self.write(datapath_id, self._marks.get(datapath_id))

    def of(self, datapath_id: int) -> int | None:
        """See `state.marks.Marks`, also for what follows."""
        return self._marks.get(datapath_id)

    def renew(self, datapath_id: int) -> int:
        mark = self._marks[datapath_id] = secrets.randbits(32)
        self.write(datapath_id, mark)
        return mark

    def drop(self, datapath_id: int) -> None:
        if self._marks.pop(datapath_id, None) is not None:
            self.write(datapath_id, None)


class Always:
    """Any stored document counts: none can be worse than knowing nothing (LACP)."""

    def of(self, datapath_id: int) -> int | None:
        """See `state.marks.Marks`, also for what follows."""
        del datapath_id
        return 1

    def renew(self, datapath_id: int) -> int:
        del datapath_id
        return 1

    def drop(self, datapath_id: int) -> None:
        """Do nothing: the mark goes with its document."""


@dataclass(eq=False)
class _Ownership:
    """Ownership of one bridge, from a claim on until another member has one.

    term: term of the last claim; NO_TERM when no member has one.
    """

    term: int


class _Version(NamedTuple):
    """A document as it was read or written last; data: until this member writes it."""

    revision: int
    size: int
    data: bytes | None


class EtcdStorage:
    """`state.storage.Storage` in etcd.

    lost: called from within a job when another member has claimed a switch.
    """

    def __init__(self, etcd: Etcd, keys: Keys, queue: SaveQueue, lost: Lost) -> None:
        self._etcd = etcd
        self._keys = keys
        self._queue = queue
        self._lost = lost
        self._known: dict[str, _Version] = {}
        self._sent: dict[str, set[bytes]] = {}  # digests of what may have arrived
        self._owned: dict[int, _Ownership] = {}
        self.switch_marks = SwitchMarks()

    # Ownership

    def take_over(self, datapath_id: int, term: int) -> set[str] | None:
        """Read the documents of a bridge whose switch this member owns.  Raises EtcdError.

        term: the revision of the claim.  Returns the names of documents that this member has yet
        to write, which count instead.  Returns None, and changes nothing, if this member still
        believed to be the owner and another member has written since.
        """
        stored = self._etcd.range(self._keys.bridge(datapath_id)).records
        names = of_bridge(datapath_id)
        records = {self._keys.name(record.key): record for record in stored}
        ownership = self._owned.get(datapath_id)
        if ownership is not None and not all(
            self._is_known(name, records.get(name)) for name in names
        ):
            return None
        unsaved = set() if ownership is None else set(filter(self.pending, names))
        if ownership is None:
            self._owned[datapath_id] = _Ownership(term)
        else:
            ownership.term = term
        self._note(record for name, record in records.items() if name in names)
        return unsaved

    def release(self, datapath_id: int) -> list[str]:
        """Stop writing documents of a bridge, as another member owns it.

        Returns the names of documents that were still to be written.
        """
        self._owned.pop(datapath_id, None)
        names = of_bridge(datapath_id)
        for name in names:
            self._known.pop(name, None)
            self._sent.pop(name, None)
        return self._queue.cancel(names, NOT_OWNER)

    def rebase(self, unchanged: Mapping[str, int]) -> None:
        """Use the revisions of another history of etcd (`history`).

        unchanged: the new revisions of keys whose values are those that this member knows.
        """
        for ownership in self._owned.values():
            ownership.term = NO_TERM
        for name, known in self._known.items():
            self._known[name] = known._replace(revision=unchanged.get(self._keys.of(name), CHANGED))

    def size(self, name: str) -> int | None:
        """Octets of a document; None if there is none."""
        known = self._known.get(name)
        return None if known is None else known.size

    def term(self, datapath_id: int) -> int | None:
        """The revision of this member's claim of the switch; None without a claim."""
        ownership = self._owned.get(datapath_id)
        return None if ownership is None else ownership.term

    def read_common(self) -> None:
        """Read the documents that belong to no bridge.  Raises EtcdError."""
        stored = self._etcd.range(self._keys.common).records
        self._note(record for record in stored if self._is_document(record.key))

    def apply_common(self, changes: WatchResponse) -> list[str]:
        """Apply changes by other members; returns the names of the documents that changed."""
        changed = []
        if changes.whole:
            there = {self._keys.name(change.key) for change in changes.changes}
            changed = [name for name in self._known if _bridge(name) is None and name not in there]
            for name in changed:
                del self._known[name]
        for change in changes.changes:
            if not self._is_document(change.key):
                continue
            name, known = self._keys.name(change.key), None
            if change.record is not None:
                known = self._known.get(name)
                if known is not None and known.revision >= change.revision:
                    continue
                self._note([change.record])
            elif self._known.pop(name, None) is None:
                continue
            changed.append(name)
        return changed

    # As `Storage`

    def names(self) -> list[tuple[str, int]]:
        """See `state.storage.Storage`, also for all that follows."""
        return [(name, known.size) for name, known in self._known.items()]

    def read(self, name: str, most: int) -> bytes:
        known = self._known.get(name)
        if known is None or known.data is None:
            raise FileNotFoundError(errno.ENOENT, "there is none in etcd", name)
        try:
            data = _unpacked(known.data, most + 1)
        except zlib.error as error:
            raise ValueError(f"it is damaged: {error}") from None
        if len(data) > most:
            raise ValueError(f"it is larger than {most >> 20} MiB")
        return data

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Ticket:
        del sync  # a majority of etcd's nodes has synced each write
        return self._queue.put(name, partial(self._put, name, data, self._ownership(name)), first)

    def remove(self, name: str) -> Ticket:
        return self._queue.put(name, partial(self._write, name, None, self._ownership(name)))

    def pending(self, name: str) -> bool:
        return self._queue.pending(name)

    def set_aside(self, name: str) -> str:
        known = self._known.get(name)
        aside = f"{name}.damaged"
        if known is None or known.data is None:
            raise FileNotFoundError(errno.ENOENT, "there is none in etcd", name)
        self._queue.put(aside, partial(self._write, aside, known.data, self._ownership(name)))
        self.remove(name)
        return aside

    def place(self, name: str) -> str:
        return self._keys.of(name)

    def marks(self, stem: str, marked: bool, wanted: Collection[int]) -> Marks:
        del stem, wanted
        return self.switch_marks if marked else Always()

    # Inside

    def _note(self, records: Iterable[Record]) -> None:
        for record in sorted(records, key=lambda record: record.modified):
            name = self._keys.name(record.key)
            self._known[name] = _Version(record.modified, len(record.value), record.value)

    def _is_document(self, key: str) -> bool:
        return self._keys.of(self._keys.name(key)) == key

    def _ownership(self, name: str) -> _Ownership | None:
        bridge = _bridge(name)
        return None if bridge is None else self._owned.get(bridge)

    def _is_known(self, name: str, record: Record | None) -> bool:
        """Whether this is the version that this member read or wrote last, or has sent."""
        known = self._known.get(name)
        revision = 0 if known is None else known.revision
        there = 0 if record is None else record.modified
        return revision == there or self._has_sent(name, record)

    def _has_sent(self, name: str, record: Record | None) -> bool:
        return _digest(None if record is None else record.value) in self._sent.get(name, ())

    def _put(self, name: str, data: bytes, ownership: _Ownership | None) -> None:
        value = data
        if len(data) >= LARGE:
            compress = partial(zlib.compress, data, 1)
            value = hub.in_thread(compress) if len(data) >= IN_THREAD else compress()
        if len(value) > MOST:
            raise OSError(errno.EFBIG, f"{len(value)} octets are too many for etcd", name)
        self._write(name, value, ownership)

    def _write(self, name: str, value: bytes | None, ownership: _Ownership | None) -> None:
        """Write a document, or delete it (value: None), under an ownership.  OSError."""
        for _ in range(TRIES):
            if _bridge(name) is not None and (
                ownership is None or ownership is not self._ownership(name)
            ):
                raise CancelledError(errno.EPERM, NOT_OWNER)
            term = 0 if ownership is None else ownership.term
            outcome = self._transact(name, value, term)
            if not outcome.done:
                self._explain(name, outcome.records, term, ownership)
            elif ownership is self._ownership(name):
                self._sent.pop(name, None)
                self._known.pop(name, None)
                if value is not None:
                    self._known[name] = _Version(outcome.revision, len(value), None)
                return
        raise OSError(errno.EAGAIN, "it changes while it is written", name)

    def _explain(
        self, name: str, records: Iterable[Record], term: int, ownership: _Ownership | None
    ) -> None:
        """Find out why a write in a term failed that was current then.  CancelledError."""
        there = {record.key: record for record in records}
        document, bridge = there.get(self._keys.of(name)), _bridge(name)
        if bridge is None and not self._has_sent(name, document):
            self._sent.pop(name, None)
            raise CancelledError(
                errno.EAGAIN, "another member has just changed it: try again", name
            )
        if bridge is not None and ownership is not None and ownership.term == term:
            owner = there.get(self._keys.owner(bridge))
            if owner is None:
                ownership.term = NO_TERM
            elif owner.modified != term:
                self._lost(bridge)
                raise CancelledError(errno.EPERM, NOT_OWNER)
        self._known.pop(name, None)
        if document is not None:  # our own write, which seemed lost
            self._known[name] = _Version(document.modified, len(document.value), None)

    def _transact(self, name: str, value: bytes | None, term: int) -> Outcome:
        key, bridge, known = self._keys.of(name), _bridge(name), self._known.get(name)
        conditions = [modified(key, 0 if known is None else known.revision)]
        if bridge is not None:
            conditions.append(modified(self._keys.owner(bridge), term))
        then = Delete(key) if value is None else Put(key, value)
        self._sent.setdefault(name, set()).add(_digest(value))
        try:
            return self._etcd.transact(conditions, [then])
        except FullError as error:
            raise OSError(errno.ENOSPC, str(error)) from None
        except UnreachableError as error:
            raise UnreachedError(errno.ETIMEDOUT, str(error)) from None
        except EtcdError as error:
            raise OSError(errno.EACCES, str(error)) from None


def of_bridge(datapath_id: int) -> tuple[str, ...]:
    """Names of the documents of a bridge; documents that were set aside may exist beside them."""
    return tuple(
        document.file(datapath_id) for document in documents.DOCUMENTS if document.per_bridge
    )


def _bridge(name: str) -> int | None:
    """The bridge that a document belongs to; None if to none."""
    named = _BRIDGES.match(name)
    return None if named is None else int(named[1], 16)


def _digest(value: bytes | None) -> bytes:
    return b"" if value is None else hashlib.sha256(value).digest()


def _unpacked(data: bytes, most: int) -> bytes:
    return zlib.decompressobj().decompress(data, most) if data.startswith(_ZLIB) else data
