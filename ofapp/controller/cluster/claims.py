"""Who looks after which switch: a claim in etcd, under its owner's lease.

There is one key a switch, made in a transaction that fails where there is one already; so there is
one owner at most.  The revision of the transaction, which its record has as `modified`, is the
owner's *term*, and grows from owner to owner.  An owner hands its claim over in one transaction,
too: at no time is the switch nobody's.

What others claim is heard of by a watch.  What this member has done itself it knows at once; news
that are older than what is known are passed over.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ofapp.controller.cluster.etcd import (
    Changes,
    Condition,
    Delete,
    Etcd,
    Put,
    Record,
    absent,
    modified,
)
from ofapp.controller.cluster.keys import Keys
from ofapp.controller.cluster.tenure import clock

MAX_FORMER = 4096
"""Switches of which it is remembered who had them."""


@dataclass(frozen=True, slots=True)
class Claim:
    """term: etcd's revision; lease: etcd's number; since: seconds since the epoch."""

    datapath_id: int
    member: str
    term: int
    lease: int
    since: float
    reason: str


Heed = Callable[[int, Claim | None], None]


class Claims:
    """Of one cluster."""

    def __init__(self, etcd: Etcd, keys: Keys) -> None:
        self._etcd = etcd
        self._keys = keys
        self._claims: dict[int, Claim] = {}
        self._revisions: dict[int, int] = {}  # of the last that is known of each switch
        self._former: dict[int, str] = {}
        self._latest: dict[str, float] = {}
        self._heeds: list[Heed] = []
        self.counts: Counter[str] = Counter()
        """Claims of this member's that were granted, by whose the switch was before."""
        self.known = False
        """Whether etcd has told who has what."""

    def start(self) -> None:
        """Hear of all claims from now on."""
        self._etcd.watch(self._keys.owners, self._heed)

    def on_change(self, heed: Heed) -> None:
        """Call this with each switch whose owner is another, or none, and its claim."""
        self._heeds.append(heed)

    def of(self, datapath_id: int) -> Claim | None:
        """A switch's, None while it is nobody's."""
        return self._claims.get(datapath_id)

    def all(self) -> Iterable[Claim]:
        """Those of all switches."""
        return self._claims.values()

    def former(self, datapath_id: int) -> str | None:
        """The member that had a switch before it was nobody's, where that is known."""
        return self._former.get(datapath_id)

    def latest(self, members: Iterable[str]) -> float:
        """When, by `clock`, one of these has claimed a switch: it may be about to claim others."""
        return max((self._latest.get(name, 0.0) for name in members), default=0.0)

    def claim(self, datapath_id: int, lease: int, member: str, reason: str) -> Claim | None:
        """Make a switch this member's; None where it is another's.  EtcdError.

        A claim under this very lease that is there already is given as it is: it may have been made
        although etcd did not answer.
        """
        key, value = self._keys.owner(datapath_id), _encode(member, reason)
        outcome = self._etcd.transact([absent(key)], [Put(key, value, lease)])
        if outcome.done:
            self.counts[self.former(datapath_id) or "nobody"] += 1
            made = Record(key, value, outcome.revision, outcome.revision, lease)
            self._know(datapath_id, made, outcome.revision)
        else:
            found = outcome.records[0] if outcome.records else None
            self._know(datapath_id, found, outcome.revision)
        claim = self.of(datapath_id)
        return claim if claim is not None and claim.lease == lease else None

    def hand_over(self, claim: Claim, lease: int, member: str, reason: str) -> bool:
        """Make an own switch another member's; whether it was one's own still.  EtcdError."""
        put = Put(self._keys.owner(claim.datapath_id), _encode(member, reason), lease)
        return self._etcd.transact([self.condition(claim)], [put]).done

    def release(self, claim: Claim) -> None:
        """Make an own switch nobody's; EtcdError."""
        self._etcd.transact([self.condition(claim)], [Delete(self._keys.owner(claim.datapath_id))])

    def condition(self, claim: Claim) -> Condition:
        """That the switch is its owner's still: for what only the owner may put."""
        return modified(self._keys.owner(claim.datapath_id), claim.term)

    # Inside

    def _heed(self, changes: Changes) -> None:
        if changes.whole:
            there = {change.key for change in changes.changes}
            for datapath_id in [own for own in self._claims if self._keys.owner(own) not in there]:
                self._know(datapath_id, None, changes.revision)
        for key, record, revision in changes.changes:
            datapath_id = int(key.rpartition("/")[2], 16)
            self._know(datapath_id, record, revision)
        self.known = True

    def _know(self, datapath_id: int, record: Record | None, revision: int) -> None:
        if revision <= self._revisions.get(datapath_id, 0):
            return
        self._revisions[datapath_id] = revision
        before = self._claims.pop(datapath_id, None)
        if before is not None:
            self._former.pop(datapath_id, None)
            self._former[datapath_id] = before.member
        claim = None if record is None else _decode(datapath_id, record)
        if claim is not None:
            self._claims[datapath_id] = claim
            self._latest[claim.member] = clock()
        self._forget()
        if claim != before:
            for heed in self._heeds:
                heed(datapath_id, claim)

    def _forget(self) -> None:
        while len(self._former) > MAX_FORMER:
            datapath_id = next(iter(self._former))
            del self._former[datapath_id]
            if datapath_id not in self._claims:
                self._revisions.pop(datapath_id, None)


def _encode(member: str, reason: str) -> bytes:
    value = {"member": member, "since": time.time(), "reason": reason}
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(datapath_id: int, record: Record) -> Claim:
    try:
        told = json.loads(record.value)
        member, since, reason = str(told["member"]), float(told["since"]), str(told["reason"])
    except (ValueError, KeyError, TypeError):
        member, since, reason = "?", 0.0, "what etcd says of it cannot be read"
    return Claim(datapath_id, member, record.modified, record.lease, since, reason)
