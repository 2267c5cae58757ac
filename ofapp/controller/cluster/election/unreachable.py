"""Takeover of a switch that its owner cannot reach any more, though both of them work.

The owner renews the lease in the switch each second, and other members read its age there.  If it
is too old, one of them reports to the owner through etcd that it does not reach the switch.  The
owner sends the switch an echo; without an answer it hands the switch to that member.  So no member
loses a switch on another one's report alone, and a busy switch is busy for all of them.  The owner
need not wait as long as for a switch that has no other controller.
"""

from __future__ import annotations

from typing import Protocol

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.common.request_error import RequestError
from ofapp.controller.cluster.election.ownership import Claim
from ofapp.controller.cluster.etcd.etcd import Etcd, EtcdError, WatchResponse
from ofapp.controller.cluster.etcd.keys import Keys, Statement

LOG = rate_limited(__name__)

SILENT = 1.5
"""Maximum age of the lease in the switch, in seconds: it is renewed each second."""

ANSWER = 0.7
"""Seconds for a switch to answer its owner."""


class Owner(Protocol):
    """The part of a member that this module uses.  name: name of this member."""

    name: str

    @property
    def lease(self) -> int:
        """The lease's ID in etcd; 0 without a valid one."""

    def owns(self, datapath_id: int) -> Claim | None:
        """The claim of a switch that this member owns."""

    def is_heard(self, datapath_id: int, patience: float) -> bool:
        """Whether the switch answers this member."""

    def yield_unreachable(self, claim: Claim, to: str) -> None:
        """Hand a switch that does not answer to another member.

        Raises EtcdError and RequestError.
        """


class Unreachable:
    """Reports from and to one member."""

    def __init__(self, etcd: Etcd, keys: Keys, member: Owner) -> None:
        self._etcd = etcd
        self._prefix = keys.unreachable
        self._member = member
        self._asked: set[Statement] = set()

    def start(self) -> None:
        """Watch reports of others."""
        self._etcd.watch(self._prefix, self._handle)

    def report(self, datapath_id: int) -> None:
        """Report that the owner does not reach a switch.  Raises EtcdError."""
        if lease := self._member.lease:
            self._etcd.put(self._key(datapath_id), b"", lease)

    def withdraw(self, datapath_id: int) -> None:
        """Withdraw the report: the owner reaches it again, or has changed.  Raises EtcdError."""
        self._etcd.delete(self._key(datapath_id))

    # Inside

    def _key(self, datapath_id: int) -> str:
        return Statement(datapath_id, self._member.name).key(self._prefix)

    def _handle(self, changes: WatchResponse) -> None:
        for change in changes.changes:
            report = Statement.read(self._prefix, change.key)
            if change.record is not None and report is not None and report not in self._asked:
                hub.spawn(self._consider, report)

    def _consider(self, report: Statement) -> None:
        claim = self._member.owns(report.datapath_id)
        if claim is None or report.member == self._member.name:
            return
        self._asked.add(report)
        try:
            if not self._member.is_heard(claim.datapath_id, ANSWER):
                self._member.yield_unreachable(claim, report.member)
        except (EtcdError, RequestError) as error:
            LOG.warning("%016x does not answer, but is kept: %s", claim.datapath_id, error)
        finally:
            self._asked.discard(report)
