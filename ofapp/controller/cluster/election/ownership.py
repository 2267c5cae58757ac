"""Ownership of switches: a claim in etcd for each, under its owner's lease.

There is one key for each switch, made in a transaction that fails if the key exists; so there is
one owner at most.  The revision of the transaction, `modified` in its record, is the owner's
*term*, and grows from owner to owner.  An owner hands its claim over in one transaction, too: at no
time is the switch without an owner.

A fabric is claimed by the key of its bridge, which is that of its first member.  The owner also has
a claim of each other member that is connected to it, which says so (`Claim.bridge`).  So a switch
has one owner even while members of the cluster have different configurations.

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
    Condition,
    Delete,
    Etcd,
    Put,
    Record,
    WatchResponse,
    absent,
    modified,
)
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.etcd.values import moment
from ofapp.controller.state.document import loads

MOST_CHECKED = 100
"""Most switches of a fabric that are checked as it is claimed: etcd limits a transaction."""

MAX_FORMER = 4096
"""Switches whose former owner is remembered."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A member's claim of a switch.

    term: etcd's revision; lease: its ID in etcd; since: seconds since the epoch.
    bridge: datapath id of the bridge that the switch belongs to.
    """

    datapath_id: int
    member: str
    term: int
    lease: int
    since: float
    reason: str
    bridge: int

    @property
    def of_member(self) -> bool:
        """Whether it is of a switch that belongs to a fabric, whose bridge another claim is of."""
        return self.bridge != self.datapath_id


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
        """The claims of all bridges."""
        return (claim for claim in self._claims.values() if not claim.of_member)

    def switches(self) -> Iterable[Claim]:
        """The claims of all switches, those of fabrics' members among them."""
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

    def claim(
        self,
        datapath_id: int,
        lease: int,
        member: str,
        reason: str,
        bridge: int | None = None,
        switches: Iterable[int] = (),
    ) -> Claim | None:
        """Claim a switch for this member; None if another member owns it.  EtcdError.

        bridge: that of the fabric that the switch belongs to; None: the switch's own.
        switches: those of the fabric whose bridge is claimed, of which other members own none: so a
        member whose file has them in another order does not own a part of it.
        An existing claim under the same lease is returned as it is: it may have been made although
        etcd did not answer.  A record without a lease belongs to no member, and is replaced.
        """
        key, value = self._keys.owner(datapath_id), _encode(member, reason, bridge)
        put = Put(key, value, lease)
        free = [self._is_free(switch, lease) for switch in switches if switch != datapath_id]
        outcome = self._etcd.transact([absent(key), *free[:MOST_CHECKED]], [put])
        there = _of(key, outcome.records)
        if there is not None and not there.lease:
            outcome = self._etcd.transact([modified(key, there.modified)], [put])
        if outcome.done:
            if bridge is None:
                self.counts[self.former(datapath_id) or "nobody"] += 1
            made = Record(key, value, outcome.revision, outcome.revision, lease)
            self._know(datapath_id, made, outcome.revision)
        else:
            self._know(datapath_id, _of(key, outcome.records), outcome.revision)
        claim = self.of(datapath_id)
        return claim if claim is not None and claim.lease == lease else None

    def hand_over(
        self, claim: Claim, lease: int, member: str, reason: str, others: Iterable[Claim] = ()
    ) -> bool:
        """Hand an own bridge to another member; False if it was no longer owned.  EtcdError.

        others: claims of a fabric's members, which go with it; 127 at most (see `transact`).
        """
        puts, conditions = [], []
        for each in (claim, *others):
            bridge = each.bridge if each.of_member else None
            value = _encode(member, reason, bridge)
            puts.append(Put(self._keys.owner(each.datapath_id), value, lease))
            conditions.append(self.condition(each))
        return self._etcd.transact(conditions, puts).done

    def release(self, claim: Claim) -> None:
        """Delete the claim of an own switch.  Raises EtcdError."""
        self._etcd.transact([self.condition(claim)], [Delete(self._keys.owner(claim.datapath_id))])

    def condition(self, claim: Claim) -> Condition:
        """Condition that the claim is unchanged: for what only the owner may write."""
        return modified(self._keys.owner(claim.datapath_id), claim.term)

    def _is_free(self, switch: int, lease: int) -> Condition:
        """Condition that no other member owns a switch."""
        claim = self.of(switch)
        if claim is not None and claim.lease == lease:
            return self.condition(claim)
        return absent(self._keys.owner(switch))

    def forget(self) -> None:
        """Forget all claims until they are read again: etcd has another history."""
        self.known = False
        self._revisions.clear()
        for datapath_id in [*self._claims]:
            self._know(datapath_id, None, 1)
        self._revisions.clear()

    # Inside

    def _handle(self, changes: WatchResponse) -> None:
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


def _of(key: str, records: Iterable[Record]) -> Record | None:
    return next((record for record in records if record.key == key), None)


def _encode(member: str, reason: str, bridge: int | None) -> bytes:
    value = {"member": member, "since": time.time(), "reason": reason}
    if bridge is not None:
        value["bridge"] = f"{bridge:016x}"
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(datapath_id: int, record: Record) -> Claim:
    try:
        fields = loads(record.value)
        member, since, reason = (
            str(fields["member"]),
            moment(fields["since"]),
            str(fields["reason"]),
        )
        bridge = int(str(fields.get("bridge", f"{datapath_id:x}")), 16)
    except (ValueError, KeyError, TypeError):
        member, since, reason = "?", 0.0, "the record in etcd is not valid"
        bridge = datapath_id
    return Claim(datapath_id, member, record.modified, record.lease, since, reason, bridge)
