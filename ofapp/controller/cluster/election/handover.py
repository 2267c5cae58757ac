"""Handover of switches to the members they fall to, one at a time, never with two owners.

A member that is before a switch's owner in its line requests it, by a record in etcd under its own
lease.  It requests one at a time, and the next when that one's flows are in sync.  The owner hands
a switch over only when its flows are in sync, too: the switch carries out all that was sent, then
the owner hands its claim over.  So a member that joins gets its share from all others, and all
switches of a drained member are requested.
"""

from __future__ import annotations

from typing import Protocol

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.common.request_error import RequestError
from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.election.ownership import Claim
from ofapp.controller.cluster.etcd.etcd import Etcd, EtcdError, WatchResponse
from ofapp.controller.cluster.etcd.keys import Keys, Statement

LOG = rate_limited(__name__)

LOOK = 0.5
"""Seconds between checks for switches to request or to hand over."""

PATIENCE = 10.0
"""Seconds for the owner to hand a switch over, and for its flows to be in sync."""

TURN = 2.0
"""Seconds that each member in the line waits for the one before it to make a request."""


class HandoverMember(Protocol):
    """The part of a member that this module uses.  name: name of this member."""

    name: str

    @property
    def lease(self) -> int:
        """The lease's ID in etcd; 0 without a valid one."""

    def serves(self, datapath_id: int) -> Claim | None:
        """The claim of a switch that this member owns and whose flows are in sync."""

    def could_serve(self) -> list[Claim]:
        """Claims of switches that have an owner, and that this member could serve."""

    def before(self, name: str, claim: Claim) -> int | None:
        """Number of members before this one in a switch's line; None if its owner is before it."""

    def give(self, claim: Claim, to: str) -> None:
        """Hand a switch to another member.  Raises EtcdError and RequestError."""


class Handover:
    """Handovers from and to one member."""

    def __init__(self, etcd: Etcd, keys: Keys, member: HandoverMember) -> None:
        self._etcd = etcd
        self._prefix = keys.wanted
        self._member = member
        self._wanted: set[Statement] = set()
        self._since: dict[int, float] = {}  # when a switch could first be requested
        self._news = hub.Event()

    def start(self) -> None:
        """Watch requests of others."""
        self._etcd.watch(self._prefix, self._handle)

    def ask(self) -> None:
        """Request switches that fall to this member, one after another; does not end."""
        while True:
            claim = self._next()
            if claim is None or not self._got(claim):
                hub.sleep(LOOK)

    def grant(self) -> None:
        """Hand over switches that others request, one after another; does not end."""
        while True:
            self._news.wait(LOOK)
            self._news.clear()
            for wanted in sorted(self._wanted):
                self._consider(wanted)

    # Inside

    def _next(self) -> Claim | None:
        """The claim of the switch to request now."""
        member, now = self._member, clock()
        turns = {claim: member.before(member.name, claim) for claim in member.could_serve()}
        due = {claim: turn for claim, turn in turns.items() if turn is not None}
        self._since = {claim.datapath_id: self._since.get(claim.datapath_id, now) for claim in due}
        return next(
            (
                claim
                for claim, turn in due.items()
                if now - self._since[claim.datapath_id] >= turn * TURN
            ),
            None,
        )

    def _got(self, claim: Claim) -> bool:
        try:
            return self._ask_for(claim)
        except EtcdError as error:
            LOG.info("the switch %016x was not requested: %s", claim.datapath_id, error)
            return False

    def _ask_for(self, claim: Claim) -> bool:
        lease = self._member.lease
        if not lease:
            return False
        key = Statement(claim.datapath_id, self._member.name).key(self._prefix)
        self._etcd.put(key, b"", lease)
        end, got = clock() + PATIENCE, False
        while clock() < end and not got:
            hub.sleep(LOOK / 10)
            got = self._member.serves(claim.datapath_id) is not None
        self._since.pop(claim.datapath_id, None)
        self._etcd.delete(key)
        return got

    def _consider(self, wanted: Statement) -> None:
        claim, name = self._member.serves(wanted.datapath_id), wanted.member
        if claim is None or name == self._member.name or self._member.before(name, claim) is None:
            return
        try:
            self._member.give(claim, name)
        except (EtcdError, RequestError) as error:
            LOG.warning("%016x was not handed over to %s: %s", claim.datapath_id, name, error)

    def _handle(self, changes: WatchResponse) -> None:
        if changes.whole:
            self._wanted.clear()
        for change in changes.changes:
            if (wanted := Statement.read(self._prefix, change.key)) is None:
                continue
            if change.record is None:
                self._wanted.discard(wanted)
            else:
                self._wanted.add(wanted)
        self._news.set()
