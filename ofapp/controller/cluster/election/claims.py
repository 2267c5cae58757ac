"""Ownership of switches: a claim in etcd for each, under its owner's lease.

There is one key for each switch, made in a transaction that fails if the key exists; so there is
one owner at most.  The revision of the transaction, `modified` in its record, is the owner's
*term*, and grows from owner to owner.  An owner hands its claim over in one transaction, too: at no
time is the switch without an owner.

Claims of others are learned by a watch.  This member knows its own changes at once; notifications
that are older than that are ignored.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.etcd.etcd import (
    Changes,
    Condition,
    Delete,
    Etcd,
    Put,
    Record,
    absent,
    modified,
)
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.etcd.values import moment
from ofapp.controller.state.document import loads

MAX_FORMER = 4096
"""Switches whose former owner is remembered."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A member's claim of a switch.

    term: etcd's revision; lease: its ID in etcd; since: seconds since the epoch.
    """

    datapath_id: int
    member: str
    term: int
    lease: int
    since: float
    reason: str


Handler = Callable[[int, Claim | None], None]


class Claims:
    """The claims of one cluster."""

    def __init__(self, etcd: Etcd, keys: Keys) -> None:
        self._etcd = etcd
        self._keys = keys
        self._claims: dict[int, Claim] = {}
        self._revisions: dict[int, int] = {}  # of the latest known change to each claim
        self._former: dict[int, str] = {}
        self._freed: dict[int, float] = {}
        self._latest: dict[str, float] = {}
        self._handlers: list[Handler] = []
        self.counts: Counter[str] = Counter()
        """Claims that this member was granted, by the switch's former owner."""
        self.known = False
        """Whether the claims have been read from etcd."""

    def start(self) -> None:
        """Watch all claims from now on."""
        self._etcd.watch(self._keys.owners, self._handle)

    def on_change(self, handle: Handler) -> None:
        """Call this with each switch whose owner changes, and its new claim or None."""
        self._handlers.append(handle)

    def of(self, datapath_id: int) -> Claim | None:
        """The claim of a switch; None while it has no owner."""
        return self._claims.get(datapath_id)

    def all(self) -> Iterable[Claim]:
        """The claims of all switches."""
        return self._claims.values()

    def former(self, datapath_id: int) -> str | None:
        """The last owner of a switch that has none now; None if not known."""
        return self._former.get(datapath_id)

    def freed(self, seconds: float) -> Iterator[int]:
        """Switches that lost their owner less than `seconds` ago and have no other."""
        since = clock() - seconds
        return (datapath_id for datapath_id, when in self._freed.items() if when > since)

    def latest(self, members: Iterable[str]) -> float:
        """Time by `clock` of the latest claim by one of these: it may be about to claim others."""
        return max((self._latest.get(name, 0.0) for name in members), default=0.0)

    def claim(self, datapath_id: int, lease: int, member: str, reason: str) -> Claim | None:
        """Claim a switch for this member; None if another member owns it.  EtcdError.

        An existing claim under the same lease is returned as it is: it may have been made although
        etcd did not answer.  A record without a lease belongs to no member, and is replaced.
        """
        key, value = self._keys.owner(datapath_id), _encode(member, reason)
        put = Put(key, value, lease)
        outcome = self._etcd.transact([absent(key)], [put])
        if outcome.records and not outcome.records[0].lease:
            outcome = self._etcd.transact([modified(key, outcome.records[0].modified)], [put])
        if outcome.done:
            self.counts[self.former(datapath_id) or "nobody"] += 1
            made = Record(key, value, outcome.revision, outcome.revision, lease)
            self._know(datapath_id, made, outcome.revision)
        else:
            record = outcome.records[0] if outcome.records else None
            self._know(datapath_id, record, outcome.revision)
        claim = self.of(datapath_id)
        return claim if claim is not None and claim.lease == lease else None

    def hand_over(self, claim: Claim, lease: int, member: str, reason: str) -> bool:
        """Hand an own switch to another member; False if it was no longer owned.  EtcdError."""
        put = Put(self._keys.owner(claim.datapath_id), _encode(member, reason), lease)
        return self._etcd.transact([self.condition(claim)], [put]).done

    def release(self, claim: Claim) -> None:
        """Delete the claim of an own switch; EtcdError."""
        self._etcd.transact([self.condition(claim)], [Delete(self._keys.owner(claim.datapath_id))])

    def condition(self, claim: Claim) -> Condition:
        """Condition that the claim is unchanged: for what only the owner may write."""
        return modified(self._keys.owner(claim.datapath_id), claim.term)

    def forget(self) -> None:
        """Forget all claims until they are read again: etcd has another history."""
        self.known = False
        self._revisions.clear()
        for datapath_id in [*self._claims]:
            self._know(datapath_id, None, 1)
        self._revisions.clear()

    # Inside

    def _handle(self, changes: Changes) -> None:
        if changes.whole:
            there = {change.key for change in changes.changes}
            for datapath_id in [
                claimed for claimed in self._claims if self._keys.owner(claimed) not in there
            ]:
                self._know(datapath_id, None, changes.revision)
        for key, record, revision in changes.changes:
            if (switch := self._keys.claimed(key)) is not None:
                self._know(switch, record, revision)
        self.known = True

    def _know(self, datapath_id: int, record: Record | None, revision: int) -> None:
        if revision <= self._revisions.get(datapath_id, 0):
            return
        self._revisions[datapath_id] = revision
        before = self._claims.pop(datapath_id, None)
        if before is not None:
            self._former.pop(datapath_id, None)
            self._former[datapath_id] = before.member
        claim = None if record is None or not record.lease else _decode(datapath_id, record)
        self._freed.pop(datapath_id, None)
        if claim is None and before is not None:
            self._freed[datapath_id] = clock()
        if claim is not None:
            self._claims[datapath_id] = claim
            self._latest[claim.member] = clock()
        self._forget()
        if claim != before:
            for handle in self._handlers:
                handle(datapath_id, claim)

    def _forget(self) -> None:
        while len(self._former) > MAX_FORMER:
            datapath_id = next(iter(self._former))
            del self._former[datapath_id]
            self._freed.pop(datapath_id, None)
            if datapath_id not in self._claims:
                self._revisions.pop(datapath_id, None)


def _encode(member: str, reason: str) -> bytes:
    value = {"member": member, "since": time.time(), "reason": reason}
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(datapath_id: int, record: Record) -> Claim:
    try:
        fields = loads(record.value)
        member, since, reason = (
            str(fields["member"]),
            moment(fields["since"]),
            str(fields["reason"]),
        )
    except (ValueError, KeyError, TypeError):
        member, since, reason = "?", 0.0, "the record in etcd is not valid"
    return Claim(datapath_id, member, record.modified, record.lease, since, reason)
