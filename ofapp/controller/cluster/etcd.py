"""What the cluster asks of etcd, in our words: `gateway` speaks to a real one, tests have a fake.

Nobody outside of these two knows how etcd is spoken to.  Every call waits at most for the client's
patience, and lets other greenlets go on meanwhile.  A key is text, a value octets.

Revisions count all changes that etcd has ever made, one for each transaction.  A record that was
deleted and made again has another `created`; so a claim is told from a later one by whoever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol


class EtcdError(Exception):
    """What was asked for was not answered as it should have been; a sentence for people."""


class UnreachableError(EtcdError):
    """No node answered in time, or none that has a majority behind it.

    maybe: it may have been carried out nevertheless, or yet be.
    """

    def __init__(self, message: str, maybe: bool = False) -> None:
        super().__init__(message)
        self.maybe = maybe


class LostError(EtcdError):
    """There is no such lease any more: it ran out or was revoked, and what hung on it is gone."""


class RefusedError(EtcdError):
    """etcd will not: no such user, not allowed, not TLS, not well-formed. To repeat is no use."""


class FullError(EtcdError):
    """etcd's quota is exceeded (alarm NOSPACE): it only reads and deletes, and renews leases."""


@dataclass(frozen=True, slots=True)
class Record:
    """A key's value.

    created, modified: the revisions at which it was made and last put; lease: 0 without one.
    """

    key: str
    value: bytes
    created: int
    modified: int
    lease: int = 0


class Found(NamedTuple):
    """What a range held at a revision, by key."""

    records: tuple[Record, ...]
    revision: int


class Aspect(Enum):
    """What of a record is compared; a key that is not there has 0."""

    CREATED = "CREATE"
    MODIFIED = "MOD"


class Condition(NamedTuple):
    """That the aspect of a key's record is this revision."""

    key: str
    aspect: Aspect
    revision: int


def absent(key: str) -> Condition:
    """There is no such key."""
    return Condition(key, Aspect.CREATED, 0)


def created(key: str, revision: int) -> Condition:
    """It is there since this revision, without having been away; it may have been put since."""
    return Condition(key, Aspect.CREATED, revision)


def modified(key: str, revision: int) -> Condition:
    """It has not been put since this revision."""
    return Condition(key, Aspect.MODIFIED, revision)


class Put(NamedTuple):
    """Have a key hold a value, for as long as the lease lives; 0: for ever."""

    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """Have no such key."""

    key: str


class Outcome(NamedTuple):
    """What became of a transaction.

    done: all conditions held, and all of it is done; otherwise nothing is.
    revision: etcd's after it; where something was changed, that of the change.
    records: where it was not done, what the conditions' keys hold (those that are there).
    """

    done: bool
    revision: int
    records: tuple[Record, ...] = ()


class Lease(NamedTuple):
    """number: etcd's; seconds: how long etcd lets it live from its grant on without a renewal.

    etcd has its least (1.5 elections, 2 s by default), so it may be more than was asked for.
    """

    number: int
    seconds: float


class Change(NamedTuple):
    """A key has got a record at this revision, or None: it is gone, or its lease has ended."""

    key: str
    record: Record | None
    revision: int


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes up to a revision since the last such, in etcd's order.

    whole: these are all the records that there are now; whatever else one knew is gone.  So it is
    in the beginning, and after a gap that etcd could not bridge (it keeps a bounded history).
    """

    changes: tuple[Change, ...]
    revision: int
    whole: bool = False


Heed = Callable[[Changes], None]


class Watch(Protocol):
    """Somebody is told of changes, from a greenlet of its own, one call at a time and in order."""

    def cancel(self) -> None:
        """Tell no more."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a node of etcd says of itself, or why it says nothing.

    size: octets of its database; alarms: NOSPACE, CORRUPT.
    """

    endpoint: str
    error: str = ""
    version: str = ""
    leader: bool = False
    has_leader: bool = False
    size: int = 0
    alarms: tuple[str, ...] = field(default=())


class Etcd(Protocol):
    """A client.  Each call raises UnreachableError and RefusedError; those that put, FullError."""

    def get(self, key: str) -> Record | None:
        """As a majority of etcd has it now."""

    def range(self, prefix: str) -> Found:
        """All whose keys begin so."""

    def put(self, key: str, value: bytes, lease: int = 0) -> int:
        """Have a key hold a value; gives the revision.  LostError: there is no such lease."""

    def delete(self, key: str) -> int:
        """Have no such key; gives etcd's revision then."""

    def transact(self, conditions: Sequence[Condition], then: Sequence[Put | Delete]) -> Outcome:
        """All of it where all conditions hold, otherwise nothing.  LostError: no such lease.

        Never repeated by itself: where it fails with `maybe`, look what is there.  No key may come
        twice in `then`; etcd takes 128 operations by default.
        """

    def grant(self, seconds: float) -> Lease:
        """A lease that lives for so long unless it is renewed (whole seconds, rounded up)."""

    def renew(self, lease: int, patience: float | None = None) -> float:
        """For how many seconds it lives on, counted from before this was asked.  LostError.

        patience: seconds to wait at most, where it is other than the client's.
        """

    def remaining(self, lease: int, patience: float | None = None) -> float:
        """For how many seconds it lives on unless it is renewed, as etcd counts.  LostError.

        patience: as for `renew`.
        """

    def revoke(self, lease: int) -> None:
        """End it: all that hangs on it is gone.  Of one that is not there nothing is said."""

    def watch(self, prefix: str, heed: Heed, since: int | None = None) -> Watch:
        """Tell of every change of what begins so, for ever, across the loss of any node.

        since: from after this revision on; without, begin with all that is there (`whole`).
        """

    def nodes(self) -> tuple[Node, ...]:
        """What each of etcd's nodes says of itself; never raises."""

    def close(self) -> None:
        """End all connections and watches."""
