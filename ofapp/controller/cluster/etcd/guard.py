"""etcd as long as its history continues: requests and notifications stop when it does not.

Revisions only grow, and each answer has etcd's cluster ID.  If a revision is lower than before, or
the ID differs, etcd was wiped, or restored from a snapshot: claims, leases and revisions that this
member knows are not valid there.  From then on each call raises `AnotherHistoryError`, and watches
report nothing, until `accept`: by then `history` has written back what this member knows.  Then all
watches start again with all existing records.

Only answers to reads and writes of keys are compared, as a majority of etcd's nodes has agreed to
these.  Answers about leases, and notifications of a watch, may be a little older.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import (
    Change,
    Condition,
    Delete,
    Etcd,
    Found,
    Handler,
    Lease,
    Node,
    Outcome,
    Put,
    Record,
    UnreachableError,
    Watch,
    WatchResponse,
)
from ofapp.controller.cluster.etcd.invalid import Emit, InvalidKeys
from ofapp.controller.cluster.etcd.keys import Keys


class AnotherHistoryError(UnreachableError):
    """etcd was wiped or restored, and what members know has yet to be written back."""


class Copy(NamedTuple):
    """A key's value at a revision, as this member knows it; value: None for no such key."""

    revision: int
    value: bytes | None


class GuardedEtcd:
    """`etcd.Etcd`, with copies of what this member knows of it."""

    def __init__(self, etcd: Etcd, keys: Keys, emit: Emit) -> None:
        self.inner = etcd
        self.invalid = InvalidKeys(keys, emit)
        self.copies: dict[str, Copy] = {}
        """Copies of all lasting keys (`Keys.lasts`) that this member read or wrote, by key."""
        self.other = ""
        """Why this is another history than the known one; empty if it is not."""
        self.doubted = hub.Event()
        self._lasts = keys.lasts
        self._latest = 0
        self._cluster = ""
        self._watches: list[_GuardedWatch] = []

    # As `Etcd`

    def get(self, key: str) -> Record | None:
        """See `etcd.Etcd`, also for all that follows."""
        before = self.check()
        record = self.inner.get(key)
        self.invalid.judge(key, WatchResponse((Change(key, record, before),), before))
        return record

    def range(self, prefix: str) -> Found:
        before = self.check()
        answer = self.inner.range(prefix)
        if self._cluster and answer.cluster != self._cluster:
            self.doubt("it is an etcd with another cluster ID")
        self._compare(before, answer.revision)
        self._cluster = answer.cluster
        self.keep(WatchResponse(_changes(answer), answer.revision, whole=True), prefix)
        return answer

    def keys(self, prefix: str) -> tuple[str, ...]:
        self.check()
        return self.inner.keys(prefix)

    def put(self, key: str, value: bytes, lease: int = 0) -> int:
        before = self.check()
        revision = self.inner.put(key, value, lease)
        self._wrote(before, [Put(key, value, lease)], revision)
        return revision

    def delete(self, key: str) -> int:
        before = self.check()
        revision = self.inner.delete(key)
        self._wrote(before, [Delete(key)], revision)
        return revision

    def transact(self, conditions: Sequence[Condition], then: Sequence[Put | Delete]) -> Outcome:
        before = self.check()
        outcome = self.inner.transact(conditions, then)
        self._wrote(before, then if outcome.done else (), outcome.revision)
        return outcome

    def grant(self, seconds: float) -> Lease:
        self.check()
        return self.inner.grant(seconds)

    def renew(self, lease: int, patience: float | None = None) -> float:
        self.check()
        return self.inner.renew(lease, patience)

    def remaining(self, lease: int, patience: float | None = None) -> float:
        self.check()
        return self.inner.remaining(lease, patience)

    def revoke(self, lease: int) -> None:
        self.check()
        self.inner.revoke(lease)

    def watch(self, prefix: str, handle: Handler, since: int | None = None) -> Watch:
        watch = _GuardedWatch(self, prefix, handle)
        self._watches.append(watch)
        watch.begin(since)
        return watch

    def catch_up(self) -> None:
        self.check()
        self.inner.catch_up()

    def nodes(self) -> tuple[Node, ...]:
        return self.inner.nodes()

    def close(self) -> None:
        self.inner.close()

    # For `history`

    def check(self, maybe: bool = False) -> int:
        """The latest known revision; AnotherHistoryError, with `maybe` as in UnreachableError."""
        if self.other:
            raise AnotherHistoryError(
                f"etcd has another history than before ({self.other}): what members know is"
                " written back first",
                maybe,
            )
        return self._latest

    def doubt(self, why: str) -> None:
        """Record that this is another history.  Raises AnotherHistoryError."""
        self.other = self.other or why
        self.doubted.set()
        self.check(maybe=True)

    def accept(self, answer: Found, copies: dict[str, Copy]) -> None:
        """Use this history of etcd from now on; copies: what is known of it."""
        self.other, self._latest, self._cluster = "", answer.revision, answer.cluster
        self.copies = copies
        self.doubted.clear()
        for watch in self._watches:
            watch.restart()

    def keep(self, changes: WatchResponse, prefix: str) -> None:
        """Update the copies of lasting keys below a prefix, and the invalid keys."""
        self.invalid.judge(prefix, changes)
        if changes.whole:
            there = {change.key for change in changes.changes}
            for key, copy in self.copies.items():
                gone = key.startswith(prefix) and key not in there
                if gone and copy.value is not None and copy.revision <= changes.revision:
                    self.copies[key] = Copy(changes.revision, None)
        for key, record, revision in changes.changes:
            if record is None or not record.lease:
                self._keep(key, Copy(revision, None if record is None else record.value))

    # Inside

    def forget(self, watch: _GuardedWatch) -> None:
        """Forget a cancelled watch."""
        self._watches.remove(watch)

    def _wrote(self, before: int, done: Sequence[Put | Delete], revision: int) -> None:
        self._compare(before, revision)
        for operation in done:
            if isinstance(operation, Delete):
                self._keep(operation.key, Copy(revision, None))
            elif not operation.lease:
                self._keep(operation.key, Copy(revision, operation.value))

    def _keep(self, key: str, copy: Copy) -> None:
        known = self.copies.get(key)
        if self._lasts(key) and (known is None or known.revision <= copy.revision):
            self.copies[key] = copy

    def _compare(self, before: int, revision: int) -> None:
        """Compare revisions; before: the latest that was known at the request."""
        self.check(maybe=True)
        if revision < before:
            self.doubt(f"its revision went back from {before} to {revision}")
        self._latest = max(self._latest, revision)


@dataclass(eq=False)
class _GuardedWatch:
    """A watch that reports nothing of another history until that is accepted."""

    _etcd: GuardedEtcd
    _prefix: str
    _handle: Handler
    _watch: Watch | None = None
    _at: int = 0
    _anew: bool = False

    def begin(self, since: int | None) -> None:
        self._watch = self._etcd.inner.watch(self._prefix, self._deliver, since)

    def restart(self) -> None:
        """Start again in another history, with all existing records."""
        if self._watch is not None:
            self._watch.cancel()
        self._at, self._anew = 0, True
        self.begin(None)

    def cancel(self) -> None:
        """See `etcd.Watch`."""
        if self._watch is not None:
            self._watch.cancel()
        self._etcd.forget(self)

    def _deliver(self, changes: WatchResponse) -> None:
        etcd = self._etcd
        if etcd.other:
            return
        if changes.revision < self._at:
            try:
                etcd.doubt(f"a watch went back from revision {self._at} to {changes.revision}")
            except AnotherHistoryError:
                return
        self._at = changes.revision
        etcd.keep(changes, self._prefix)
        anew, self._anew = self._anew, False
        self._handle(WatchResponse(changes.changes, changes.revision, changes.whole, anew))


def _changes(answer: Found) -> tuple[Change, ...]:
    return tuple(Change(record.key, record, record.modified) for record in answer.records)
