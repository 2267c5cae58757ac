"""The current history of etcd, and recovery when there is another one.

When etcd was wiped, or restored from a snapshot, earlier leases, claims and revisions are no longer
valid, and changes since the snapshot are missing.  The members still know them (`guard`).  So each
of them gives up its switches, whose flows stay, writes back what it knows, and only then takes a
lease and claims its switches again.

The copy that counts is the one written since the new history began; else the latest by the
revisions of the old one, whether etcd's own or a member's.  A bridge's documents are not written
back once its switch has been claimed in the new history.  The age of a copy is written with it, so
that a later one, of a member that follows a moment after, still replaces it.

Histories are numbered, and the number is the upper part of an owner's generation_id.  So a switch
accepts the owners of a new history, whose terms are low again, and refuses those of an older one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, Protocol

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.controller.cluster.etcd.etcd import Delete, EtcdError, Found, Put, Record, modified
from ofapp.controller.cluster.etcd.guard import AnotherHistoryError, Copy, GuardedEtcd
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.member_events import CLUSTER_HISTORY, CLUSTER_HISTORY_CLEARED
from ofapp.controller.state.document import loads
from ofapp.controller.state.saving import Emit

LOG = rate_limited(__name__)

LOOK = 1.0
"""Seconds between checks whether etcd still has the same history."""

RETRY = 0.3
"""Seconds until failed writing back is tried again."""

TERMS = 40
"""Bits of a term in a generation_id; above them is the number of the history."""

HISTORIES = 1 << (63 - TERMS)
"""Number of possible histories: generations are compared as sequence numbers."""

AT_ONCE = 8
"""Documents that are written back at a time."""

PATIENCE = 5.0
"""Seconds to write these back."""


class HistoryHandler(Protocol):
    """The part of a member that reacts to another history."""

    def forked(self, why: str) -> int:
        """Give up all switches, as etcd has another history; returns the former lease."""

    def recovered(self, unchanged: Mapping[str, int]) -> None:
        """Prepare to use etcd again.

        unchanged: keys whose values are those that this member knows, with their new revisions.
        """


class Number(NamedTuple):
    """Number of a history.  mark: distinguishes two histories of the same number."""

    number: int = 0
    mark: str = ""

    def encoded(self) -> bytes:
        """The value in etcd."""
        return json.dumps(self._asdict()).encode()


class History:
    """etcd's history as one member knows it."""

    def __init__(self, etcd: GuardedEtcd, keys: Keys, emit: Emit) -> None:
        self.etcd = self._etcd = etcd
        self._keys = keys
        self._emit = emit
        self._number: Number | None = None

    @property
    def number(self) -> int:
        """Number of etcd histories before this one."""
        return 0 if self._number is None else self._number.number

    @property
    def recovering(self) -> str:
        """Why members are writing back what they know; empty if they are not."""
        return self._etcd.other

    def generation(self, term: int) -> int:
        """The generation of a term: higher than those of all terms of earlier histories."""
        return (self.number << TERMS) + term

    def begin(self) -> None:
        """Read the number of this history, before any other request.  Raises EtcdError."""
        while self._number is None:
            self._compare()

    def run(self, handler: HistoryHandler) -> None:
        """Check for ever."""
        while True:
            try:
                self.look(handler)
            except EtcdError as error:
                LOG.info("the history of etcd could not be read: %s", error)
                hub.sleep(RETRY)
            else:
                self._etcd.doubted.wait(LOOK)

    def look(self, handler: HistoryHandler) -> None:
        """Recover if there is another history; EtcdError if that has to be tried again."""
        if not self._etcd.other:
            try:
                self._compare()
            except AnotherHistoryError:
                pass
            else:
                return
        why = self._etcd.other
        message = (
            f"etcd was wiped or restored from a snapshot: {why}; this member gives up its"
            " switches, whose flows stay, writes back what it knows, and claims them again"
        )
        data = {"why": why}
        self._emit(None, CLUSTER_HISTORY.event(message, data=data))
        lease = handler.forked(why)
        while not self._recovered(handler, lease):
            hub.sleep(RETRY)

    # Inside

    def _compare(self) -> None:
        """Compare etcd's number with the known one.  Raises EtcdError and AnotherHistoryError."""
        answer = self._etcd.range(self._keys.history)
        record = _record(answer, self._keys.history)
        stored = None if record is None else _decoded(record)
        if stored is None:
            number = self._number or Number(0, secrets.token_hex(8))
            was = modified(self._keys.history, 0 if record is None else record.modified)
            if self._etcd.transact([was], [Put(self._keys.history, number.encoded())]).done:
                self._number = number
        elif self._number is None:
            self._number = stored
        elif stored != self._number:
            self._etcd.doubt("another member has noticed it")

    def _recovered(self, handler: HistoryHandler, lease: int) -> bool:
        """Whether all that this member knows was written back, and etcd is used again."""
        try:
            if lease:
                self._etcd.inner.revoke(lease)  # a snapshot may hold it, and claims under it
            began = self._number_it()
            written, copies = self._write_back(began)
            answer = self._etcd.inner.range(self._keys.history)
        except EtcdError as error:
            LOG.info("not all documents are written back to etcd yet: %s", error)
            return False
        known = self._etcd.copies
        handler.recovered(
            {key: now.revision for key, now in copies.items() if now.value == known[key].value}
        )
        self._etcd.accept(answer, copies)
        message = (
            f"etcd has all that this member knows again ({written} documents written back); this"
            f" is history {self.number}"
        )
        data = {"number": self.number, "written": written}
        self._emit(None, CLUSTER_HISTORY_CLEARED.event(message, data=data))
        return True

    def _number_it(self) -> int:
        """Number this history; returns the revision at which it began.  EtcdError."""
        etcd, key = self._etcd.inner, self._keys.history
        while True:
            record = etcd.get(key)
            number = None if record is None else _decoded(record)
            if record is not None and number is not None and number.number > self.number:
                if number.number > self.number + 1:  # the copies are older than the last history
                    self._etcd.copies = {}
                self._number = number
                return record.modified
            new = Number(self.number + 1, secrets.token_hex(8))
            was = modified(key, 0 if record is None else record.modified)
            outcome = etcd.transact([was], [Put(key, new.encoded())])
            if outcome.done:
                self._number = new
                return outcome.revision

    def _write_back(self, began: int) -> tuple[int, dict[str, Copy]]:
        """Write back; returns the number of documents, and etcd's copies of known keys.

        EtcdError.
        """
        written = 0
        while True:
            contents = _Contents(self._etcd.inner.range(self._keys.root), self._keys, began)
            copies = self._etcd.copies
            due = [key for key, copy in copies.items() if contents.is_older(key, copy)]
            if not due:
                return written, {key: contents.copy(key) for key in copies}
            for at in range(0, len(due), AT_ONCE):
                some = due[at : at + AT_ONCE]
                done = hub.at_once(partial(self._write, contents), some, PATIENCE)
                if len(done) < len(some) or None in done.values():
                    raise EtcdError("etcd does not answer")
                written += sum(map(bool, done.values()))

    def _write(self, contents: _Contents, key: str) -> bool | None:
        """Write a copy back; False if the key changed meanwhile, None if etcd did not answer."""
        copy = self._etcd.copies[key]
        put = Delete(key) if copy.value is None else Put(key, copy.value)
        age = Put(self._keys.copied(key), _Age(copy.revision, copy.value is None).encoded())
        conditions = [modified(each, contents.modified(each)) for each in contents.conditions(key)]
        try:
            return self._etcd.inner.transact(conditions, [put, age]).done
        except EtcdError as error:
            LOG.info("%s is not written back to etcd yet: %s", key, error)
            return None


class _Contents:
    """Contents of a new history.  began: the revision at which it was numbered."""

    def __init__(self, answer: Found, keys: Keys, began: int) -> None:
        self._records = {record.key: record for record in answer.records}
        self._revision = answer.revision
        self._keys = keys
        self._began = began

    def modified(self, key: str) -> int:
        """The revision of a key; 0 if it does not exist."""
        record = self._records.get(key)
        return 0 if record is None else record.modified

    def copy(self, key: str) -> Copy:
        """The state of a key in etcd."""
        record = self._records.get(key)
        if record is None:
            return Copy(self._revision, None)
        return Copy(record.modified, record.value)

    def conditions(self, key: str) -> list[str]:
        """The keys that must be unchanged for a copy to be written back."""
        owner = self._keys.owner_of(key)
        return [key, self._keys.copied(key), *([] if owner is None else [owner])]

    def is_older(self, key: str, copy: Copy) -> bool:
        """Whether etcd's copy is older than a member's, which then has to be written back."""
        owner, record = self._keys.owner_of(key), self._records.get(key)
        if owner is not None and self.modified(owner) > self._began:
            return False
        note = self._records.get(self._keys.copied(key))
        age = None if note is None or note.modified <= self._began else _age(note)
        if note is not None and age is not None:
            # Written back by a member: unless it was changed since, the age of that copy counts.
            unchanged = age.gone if record is None else record.modified == note.modified
            return unchanged and age.revision < copy.revision
        if record is None:
            return copy.value is not None
        return record.modified <= self._began and record.modified < copy.revision


class _Age(NamedTuple):
    """Age of a copy that was written back.  gone: the key did not exist."""

    revision: int
    gone: bool

    def encoded(self) -> bytes:
        """The value in etcd."""
        return json.dumps(self).encode()


def _age(record: Record) -> _Age | None:
    """The age in a record; None if it is not valid."""
    try:
        revision, gone = loads(record.value)
        return _Age(int(revision), bool(gone))
    except (ValueError, TypeError, OverflowError):
        return None


def _record(answer: Found, key: str) -> Record | None:
    return next((record for record in answer.records if record.key == key), None)


def _decoded(record: Record) -> Number | None:
    """The number in a record; None if it is not valid."""
    try:
        value = loads(record.value)
        number = Number(int(value["number"]), str(value["mark"]))
        return number if 0 <= number.number < HISTORIES else None
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
