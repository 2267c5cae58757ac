"""Interface to etcd: `gateway` implements it for a real etcd, tests have a fake.

Only these two know etcd's protocol.  Every call waits at most for the client's patience, and lets
other greenlets run meanwhile.  A key is text, a value octets.

Revisions count all changes that etcd has ever made, one for each transaction.  A record that was
deleted and created again has another `created`, which distinguishes a claim from a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol


class EtcdError(Exception):
    """A request failed; the message is a sentence for people."""


class UnreachableError(EtcdError):
    """No node answered in time, or none that has a majority behind it.

    maybe: the request may have been carried out nevertheless, or may be later.
    """

    def __init__(self, message: str, maybe: bool = False) -> None:
        super().__init__(message)
        self.maybe = maybe


class LostError(EtcdError):
    """The lease no longer exists: it expired or was revoked, and its keys are gone."""


class RefusedError(EtcdError):
    """etcd refuses: no such user, not allowed, not TLS, malformed.  Repeating is of no use."""


class FullError(EtcdError):
    """etcd's quota is exceeded (alarm NOSPACE): it only reads and deletes, and renews leases."""


@dataclass(frozen=True, slots=True)
class Record:
    """A key with its value.

    created, modified: the revisions at which it was created and last put; lease: 0 without one.
    """

    key: str
    value: bytes
    created: int
    modified: int
    lease: int = 0


class Found(NamedTuple):
    """Records of a range at a revision, by key.  cluster: etcd's cluster ID."""

    records: tuple[Record, ...]
    revision: int
    cluster: str = ""


class Aspect(Enum):
    """The revision of a record that is compared; 0 for a key that does not exist."""

    CREATED = "CREATE"
    MODIFIED = "MOD"


class Condition(NamedTuple):
    """Comparison of a key's created or modified revision with a value."""

    key: str
    aspect: Aspect
    revision: int


def absent(key: str) -> Condition:
    """Condition that a key does not exist."""
    return Condition(key, Aspect.CREATED, 0)


def created(key: str, revision: int) -> Condition:
    """Condition that a key was created at this revision; it may have been put since."""
    return Condition(key, Aspect.CREATED, revision)


def modified(key: str, revision: int) -> Condition:
    """Condition that a key was last put at this revision."""
    return Condition(key, Aspect.MODIFIED, revision)


class Put(NamedTuple):
    """Set a key to a value, for as long as the lease lives; 0: for ever."""

    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """Delete a key."""

    key: str


class Outcome(NamedTuple):
    """Result of a transaction.

    done: all conditions held, and all operations were carried out; otherwise none was.
    revision: etcd's afterwards; if it changed something, that of the change.
    records: if it was not done, the existing records of the conditions' keys.
    """

    done: bool
    revision: int
    records: tuple[Record, ...] = ()


class Lease(NamedTuple):
    """A granted lease.

    number: its ID in etcd; seconds: its lifetime from the grant without a renewal.  etcd has a
    minimum (1.5 elections, 2 s by default), so it may be longer than requested.
    """

    number: int
    seconds: float


class Change(NamedTuple):
    """A new record of a key at a revision; None: it was deleted, or its lease has ended."""

    key: str
    record: Record | None
    revision: int


@dataclass(frozen=True, slots=True)
class WatchResponse:
    """All changes up to a revision since the previous notification, in etcd's order.

    whole: these are all existing records; any other known key is gone.  This is so at the start,
    and after a gap that etcd could not bridge (it keeps a bounded history).
    """

    changes: tuple[Change, ...]
    revision: int
    whole: bool = False
    anew: bool = False
    """etcd has another history than before (`guard`): earlier revisions are no longer valid."""


Handler = Callable[[WatchResponse], None]


class Watch(Protocol):
    """A watch: calls a handler with changes from a separate greenlet, one at a time, in order."""

    def cancel(self) -> None:
        """Stop calling the handler."""


@dataclass(frozen=True, slots=True)
class Node:
    """Status of a node of etcd, or why it did not answer.

    size: octets of its database; alarms: NOSPACE, CORRUPT; seconds: response time.
    ahead: seconds that its clock is ahead of this host's.
    """

    endpoint: str
    error: str = ""
    version: str = ""
    leader: bool = False
    has_leader: bool = False
    size: int = 0
    alarms: tuple[str, ...] = field(default=())
    seconds: float = 0.0
    ahead: float = 0.0


class Etcd(Protocol):
    """A client.  Each call raises UnreachableError and RefusedError; those that put, FullError."""

    def get(self, key: str) -> Record | None:
        """Linearizable read of a key; None if it does not exist."""

    def range(self, prefix: str) -> Found:
        """All records whose keys have this prefix."""

    def keys(self, prefix: str) -> tuple[str, ...]:
        """All keys with this prefix, without their values."""

    def put(self, key: str, value: bytes, lease: int = 0) -> int:
        """Set a key; returns the revision.  LostError: there is no such lease."""

    def delete(self, key: str) -> int:
        """Delete a key; returns etcd's revision afterwards."""

    def transact(self, conditions: Sequence[Condition], then: Sequence[Put | Delete]) -> Outcome:
        """Carry out all operations if all conditions hold.  LostError: no such lease.

        Never repeated automatically: if it fails with `maybe`, read the keys.  No key may
        occur twice in `then`; etcd accepts 128 operations by default.
        """

    def grant(self, seconds: float) -> Lease:
        """Request a lease with this lifetime (whole seconds, rounded up)."""

    def renew(self, lease: int, patience: float | None = None) -> float:
        """Renew a lease; returns its lifetime in seconds, from before the request.  LostError.

        patience: seconds to wait at most, where it is other than the client's.
        """

    def remaining(self, lease: int, patience: float | None = None) -> float:
        """Seconds until a lease ends without a renewal, by etcd's clock.  LostError.

        patience: as for `renew`.
        """

    def revoke(self, lease: int) -> None:
        """Revoke a lease, which deletes its keys; not an error if it does not exist."""

    def watch(self, prefix: str, handle: Handler, since: int | None = None) -> Watch:
        """Report every change of keys with this prefix, for ever, across the loss of any node.

        since: start after this revision; None: start with all existing records (`whole`).
        """

    def catch_up(self) -> None:
        """Have all watches report all records (`whole`): after an outage they may be late."""

    def nodes(self) -> tuple[Node, ...]:
        """Status of each of etcd's nodes; never raises."""

    def close(self) -> None:
        """End all connections and watches."""
