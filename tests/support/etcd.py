"""etcd in memory for unit tests, in virtual time: the same revisions, leases and transactions.

One `FakeEtcd` is the cluster; each member has a `client()` of it that can be cut off.  The tests of
tests/unit/cluster/test_conformance.py run on it as on a real one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ofapp.controller.cluster.etcd.etcd import (
    Aspect,
    Change,
    Condition,
    Delete,
    EtcdError,
    Found,
    FullError,
    Handler,
    Lease,
    LostError,
    Node,
    Outcome,
    Put,
    Record,
    UnreachableError,
    WatchResponse,
)

LEAST_LEASE = 2.0
"""Seconds, as etcd with its default election timeout."""


@dataclass(eq=False)
class _Lease:
    seconds: float
    end: float


@dataclass(eq=False)
class FakeEtcd:
    """now: seconds; full: its quota is exceeded; delayed: watches hear nothing until `deliver`."""

    now: float = 0.0
    full: bool = False
    delayed: bool = False
    revision: int = 1
    compacted: int = 0
    records: dict[str, Record] = field(default_factory=dict)
    leases: dict[int, _Lease] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)
    watches: list[FakeWatch] = field(default_factory=list)

    def client(self) -> FakeClient:
        """One member's."""
        return FakeClient(self)

    def advance(self, seconds: float) -> None:
        """Let time pass: leases end in their order."""
        until = self.now + seconds
        while True:
            due = [(lease.end, number) for number, lease in self.leases.items()]
            end, number = min(due, default=(math.inf, 0))
            if end > until:
                break
            self.now = max(self.now, end)
            self.end_lease(number)
        self.now = until

    def end_lease(self, number: int) -> None:
        """It and what hangs on it are gone."""
        del self.leases[number]
        gone = sorted(record.key for record in self.records.values() if record.lease == number)
        self.apply([Delete(key) for key in gone])

    def compact(self) -> None:
        """Forget the history, so that who watches from before has a gap."""
        self.compacted = self.revision
        self.history.clear()

    def snapshot(self) -> tuple[Any, ...]:
        """What a restore brings back."""
        leases = {number: _Lease(one.seconds, one.end) for number, one in self.leases.items()}
        return self.revision, dict(self.records), leases, [*self.history], self.compacted

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """What was since is gone; leases live on for as long as they were granted."""
        self.revision, records, leases, history, self.compacted = snapshot
        self.records, self.history = dict(records), [*history]
        self.leases = {
            number: _Lease(one.seconds, self.now + one.seconds) for number, one in leases.items()
        }

    def wipe(self) -> None:
        """Begin again, with nothing."""
        self.restore((1, {}, {}, [], 0))

    def deliver(self) -> None:
        """Tell the watches what has changed."""
        for watch in [*self.watches]:
            watch.catch_up()

    def apply(self, operations: Sequence[Put | Delete]) -> int:
        """One revision for all; none where nothing changes.  Gives etcd's after it."""
        for operation in operations:
            if isinstance(operation, Put) and operation.lease not in (0, *self.leases):
                raise LostError("requested lease not found")
        if any(isinstance(operation, Put) for operation in operations) and self.full:
            raise FullError("mvcc: database space exceeded")
        revision = self.revision + 1
        for operation in operations:
            old = self.records.pop(operation.key, None)
            record = None
            if isinstance(operation, Put):
                key, value, lease = operation
                made = revision if old is None else old.created
                record = self.records[key] = Record(key, value, made, revision, lease)
            if old is not None or record is not None:
                self.history.append(Change(operation.key, record, revision))
                self.revision = revision
        revision = self.revision  # a watcher may change something, too
        if not self.delayed:
            self.deliver()
        return revision

    def holds(self, condition: Condition) -> bool:
        """Whether it does now."""
        record = self.records.get(condition.key)
        if record is None:
            return condition.revision == 0
        created = condition.aspect is Aspect.CREATED
        return condition.revision == (record.created if created else record.modified)


class FakeClient:
    """cut: nothing reaches etcd; deaf: all does, but no answer comes back."""

    def __init__(self, etcd: FakeEtcd) -> None:
        self.etcd = etcd
        self.cut = False
        self.deaf = False

    def get(self, key: str) -> Record | None:
        self._ask()
        return self.etcd.records.get(key)

    def range(self, prefix: str) -> Found:
        self._ask()
        return self.found(prefix)

    def keys(self, prefix: str) -> tuple[str, ...]:
        return tuple(record.key for record in self.range(prefix).records)

    def put(self, key: str, value: bytes, lease: int = 0) -> int:
        return self._change([Put(key, value, lease)])

    def delete(self, key: str) -> int:
        return self._change([Delete(key)])

    def transact(self, conditions: Sequence[Condition], then: Sequence[Put | Delete]) -> Outcome:
        if len({operation.key for operation in then}) < len(then):
            raise ValueError("a key comes twice in a transaction")
        self._reach()
        if all(map(self.etcd.holds, conditions)):
            outcome = Outcome(True, self.etcd.apply(then))
        else:
            keys = dict.fromkeys(condition.key for condition in conditions)
            held = tuple(self.etcd.records[key] for key in keys if key in self.etcd.records)
            outcome = Outcome(False, self.etcd.revision, held)
        self._answer()
        return outcome

    def grant(self, seconds: float) -> Lease:
        self._reach()
        lives = max(LEAST_LEASE, float(math.ceil(seconds)))
        number = 1000 + self.etcd.revision * 1000 + len(self.etcd.leases)
        while number in self.etcd.leases:
            number += 1
        self.etcd.leases[number] = _Lease(lives, self.etcd.now + lives)
        self._answer()
        return Lease(number, lives)

    def renew(self, lease: int, patience: float | None = None) -> float:
        del patience
        self._reach()
        found = self._lease(lease)
        found.end = self.etcd.now + found.seconds
        self._answer()
        return found.seconds

    def remaining(self, lease: int, patience: float | None = None) -> float:
        del patience
        self._ask()
        return self._lease(lease).end - self.etcd.now

    def revoke(self, lease: int) -> None:
        self._reach()
        if lease in self.etcd.leases:
            self.etcd.end_lease(lease)
        self._answer()

    def watch(self, prefix: str, handle: Handler, since: int | None = None) -> FakeWatch:
        watch = FakeWatch(self, prefix, handle, since)
        self.etcd.watches.append(watch)
        if not self.etcd.delayed:
            watch.catch_up()
        return watch

    def catch_up(self) -> None:
        self._ask()
        for watch in [*self.etcd.watches]:
            if watch.client is self:
                watch.restart()

    def nodes(self) -> tuple[Node, ...]:
        if self.cut or self.deaf:
            return (Node("fake:2379", error="it does not answer"),)
        alarms = ("NOSPACE",) if self.etcd.full else ()
        return (Node("fake:2379", "", "fake", True, True, len(self.etcd.records), alarms),)

    def close(self) -> None:
        for watch in [*self.etcd.watches]:
            if watch.client is self:
                watch.cancel()

    def found(self, prefix: str) -> Found:
        """Without asking whether etcd can be reached."""
        keys = sorted(key for key in self.etcd.records if key.startswith(prefix))
        return Found(tuple(self.etcd.records[key] for key in keys), self.etcd.revision)

    def _lease(self, lease: int) -> _Lease:
        if lease not in self.etcd.leases:
            raise LostError("requested lease not found")
        return self.etcd.leases[lease]

    def _change(self, operations: Sequence[Put | Delete]) -> int:
        self._reach()
        revision = self.etcd.apply(operations)
        self._answer()
        return revision

    def _ask(self) -> None:
        self._reach()
        self._answer()

    def _reach(self) -> None:
        if self.cut:
            raise UnreachableError("etcd does not answer")

    def _answer(self) -> None:
        if self.deaf:
            raise UnreachableError("etcd does not answer", maybe=True)


class FakeWatch:
    """Tells in the call that changes something, or in `deliver`; never while it tells already."""

    def __init__(self, client: FakeClient, prefix: str, handle: Handler, since: int | None) -> None:
        self.client = client
        self._prefix = prefix
        self._handle = handle
        self._since = since
        self._delivering = False

    def cancel(self) -> None:
        if self in self.client.etcd.watches:
            self.client.etcd.watches.remove(self)

    def restart(self) -> None:
        """Tell all there is."""
        self._since = None
        self.catch_up()

    def catch_up(self) -> None:
        """Tell what is new, where the client can hear it."""
        if self._delivering:
            return  # it gets changes when it is back
        self._delivering = True
        try:
            while (changes := self._next()) is not None:
                self._handle(changes)
        finally:
            self._delivering = False

    def _next(self) -> WatchResponse | None:
        etcd = self.client.etcd
        if self.client.cut or self.client.deaf or self not in etcd.watches:
            return None
        if self._since is None or self._since < etcd.compacted:
            records, revision, _ = self.client.found(self._prefix)
            self._since = revision
            changes = (Change(record.key, record, record.modified) for record in records)
            return WatchResponse(tuple(changes), revision, whole=True)
        new = deque(
            change
            for change in etcd.history
            if change.revision > self._since and change.key.startswith(self._prefix)
        )
        self._since = etcd.revision
        return WatchResponse(tuple(new), etcd.revision) if new else None


__all__ = ["EtcdError", "FakeClient", "FakeEtcd", "FakeWatch"]
