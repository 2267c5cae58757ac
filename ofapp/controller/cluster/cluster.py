"""A member of a cluster: `controller.owners.Owners`, by claims in etcd.

For a claimed switch the connection is MASTER, a session brings the flows in line with a new bridge,
and both end with the claim.  A connection is master once: a member that loses or gives up a switch
ends the connection, and becomes SLAVE when the switch connects again.  So no message of one term is
ever left over for another.

Where etcd does not answer, or the process was stopped for too long, this member is on standby: it
ends the connections on which it was master, claims no switch, and reports it; the flows stay.  Only
the last LACPDUs to partners of aggregations are repeated (`election`).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import ofapp
from ofapp.bridge.lldp import OwnAgents
from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.common.request_error import RequestError
from ofapp.controller.bridges.datapath import Connection
from ofapp.controller.bridges.openflow_datapath import (
    BRIDGE_LOST,
    Channel,
    Mastership,
    Ownership,
    StaleError,
    answers,
    number,
    read_mark,
)
from ofapp.controller.bridges.owners import SwitchService
from ofapp.controller.cluster.election.claims import Claim, Claims
from ofapp.controller.cluster.election.election import Campaign, Election
from ofapp.controller.cluster.election.generation_base import GenerationBases
from ofapp.controller.cluster.election.handover import Handover
from ofapp.controller.cluster.election.lease_keeper import LeaseKeeper
from ofapp.controller.cluster.election.unreachable import Unreachable
from ofapp.controller.cluster.etcd import invalid
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.health import EtcdHealth
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.events import SERVICE_FAULT
from ofapp.controller.member_events import CLUSTER_LOST, CLUSTER_LOST_CLEARED, CLUSTER_OWNER
from ofapp.controller.state.saving import Emit

LOG = rate_limited(__name__)

LLDP = b"LLDP"
LIFE = 23
"""Bits of the number that identifies a run of a member."""

PATIENCE = 0.5
"""Seconds to finish writing the documents of a switch that is given up."""

EXPECTED = 30.0
"""Seconds for which a switch that lost its owner is expected to get another one."""

CATCH_UP = 0.3
"""Seconds until reading after an outage is tried again."""

SWEEP = 2.0
"""Seconds between checks for claims of this member without a connection."""


@dataclass(frozen=True, slots=True)
class Membership:
    """This member's place in a cluster.

    keys: of the cluster in etcd; lease: its lifetime in seconds; place: see `MemberRecord`.
    """

    keys: Keys
    name: str
    lease: float
    place: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    """A switch that this member owns, and the connection on which it is, or will be, MASTER."""

    channel: Channel
    claim: Claim


class Cluster:
    """A cluster as one member sees it.

    history: of the cluster's etcd; state: stored documents of each bridge; emit: emits events.
    """

    waits = True

    def __init__(
        self, history: History, membership: Membership, state: SharedState, emit: Emit
    ) -> None:
        keys = membership.keys
        self.name, self.cluster = membership.name, keys.cluster
        self._keys = keys
        self.history, etcd = history, history.etcd
        self.members = Members(etcd, keys.root, membership.name, emit, membership.place)
        self.claims = Claims(etcd, keys)
        self.lease_keeper = LeaseKeeper(etcd, membership.lease, self)
        self.health = EtcdHealth(etcd, emit, membership.lease)
        generation_bases = GenerationBases(etcd, keys, self.claims, emit)
        cluster = number("a cluster of ofapp", keys.cluster)
        self._unreachable = Unreachable(etcd, keys, self)
        self._campaign = Campaign(
            self.history,
            self.claims,
            generation_bases,
            self.members,
            self.lease_keeper,
            self._unreachable,
            cluster,
            emit,
            self._last_words,
            {},
        )
        self._handover = Handover(etcd, keys, self)
        self._state = state
        self._emit = emit
        self._waiting: dict[int, Election] = {}
        self._owned: dict[int, Owned] = {}
        self._giving: set[int] = set()
        self._unused: set[int] = set()
        self._service: SwitchService | None = None
        self._outages = self._caught_up = 0
        self._regained = hub.Event()

    # For the controller that has the connections

    def agents(self) -> OwnAgents:
        """See `Owners`: all members seal LLDP alike, so that one map has the links between them."""
        key = hmac.digest(self.members.secret(), LLDP, "sha256")
        return OwnAgents(key, secrets.randbits(LIFE))

    def start(self, service: SwitchService) -> None:
        """See `Owners`."""
        self._service = service
        self._state.on_lost = self._give_up
        self.claims.on_change(self._handle)
        self.members.on_change(self._wake)
        self.members.start()
        self.claims.start()
        self._handover.start()
        self._unreachable.start()
        for loop in (
            self.lease_keeper.run,
            self.health.run,
            lambda: self.history.run(self),
            self._look_for_invalid,
            self._sweep,
            self._handover.ask,
            self._handover.grant,
            self._catch_up,
        ):
            hub.keep(self._failed, loop)

    def obtain(self, channel: Channel) -> Ownership | None:
        """See `Owners`; only the cluster's lease in the switch is left to acquire then.

        It is the same for all members, and keeps out controllers that are in no cluster.
        """
        election = Election(channel, self._campaign)
        election.begin()
        self._waiting[channel.id] = election
        try:
            claim = election.win()
            if claim is None:
                return None
            self._owned[channel.id] = Owned(channel, claim)
        finally:
            if self._waiting.get(channel.id) is election:
                del self._waiting[channel.id]
        try:
            if channel.dead:
                raise RequestError("the connection ended while the switch was claimed")
            election.become_master(claim)
            counts = self._state.take_over(channel.id, claim.term, read_mark(channel))
            if not counts and self._service is not None:
                self._service.release(channel.id)
        except (RequestError, EtcdError, ValueError) as error:
            self.ended(channel)
            raise RequestError(str(error)) from None
        if channel.dead:  # it ended before this member owned the switch
            self.ended(channel)
            return None
        message = f"member {claim.member} is master of the switch now: {claim.reason}"
        data = {"member": claim.member, "term": claim.term, "reason": claim.reason}
        self._emit(channel.id, CLUSTER_OWNER.event(message, data=data))
        return election.reservation

    def ended(self, channel: Connection) -> None:
        """See `Owners`."""
        owned = self._owned.get(channel.id)
        if owned is None or owned.channel is not channel:
            return
        del self._owned[channel.id]
        if channel.id in self._giving:
            return
        if self.lease_keeper.holds:
            hub.watch(self._failed, self._release, owned.claim)

    def close(self) -> None:
        """Give up the lease, so that others can claim this member's switches at once."""
        self._owned.clear()
        try:
            self.lease_keeper.give_up()
        except EtcdError as error:
            LOG.warning("the lease was not given up, and ends by itself: %s", error)

    # For moving switches between members

    def serves(self, datapath_id: int) -> Claim | None:
        """The claim of a switch that this member owns and whose flows are in line."""
        owned = self._owned.get(datapath_id)
        in_line = self._service is not None and self._service.in_line(datapath_id)
        return owned.claim if owned is not None and in_line else None

    @property
    def current(self) -> bool:
        """Whether this member's knowledge of others is not older than a lease."""
        return self.lease_keeper.holds and self.claims.known and self._caught_up == self._outages

    def expected(self) -> set[int]:
        """The switches that have an owner, or should have one soon."""
        waiting = {datapath_id for datapath_id, one in self._waiting.items() if not one.foreign}
        claimed = {claim.datapath_id for claim in self.claims.all()}
        return waiting | claimed | set(self.claims.freed(EXPECTED))

    def owned(self) -> dict[int, bool]:
        """The switches that are connected here, and whether each is known to have an owner."""
        there = sorted({*self._waiting, *self._owned})
        return {
            datapath_id: self.current and self.claims.of(datapath_id) is not None
            for datapath_id in there
        }

    @property
    def lease(self) -> int:
        """The lease's ID in etcd; 0 without a valid one."""
        return self.lease_keeper.held.number if self.lease_keeper.holds else 0

    def could_serve(self) -> list[Claim]:
        """Claims of switches that have an owner, and that this member could serve."""
        waiting = (
            self.claims.of(datapath_id) for datapath_id, one in self._waiting.items() if one.ready
        )
        return [claim for claim in waiting if claim is not None]

    def before(self, name: str, claim: Claim) -> int | None:
        """Number of members before this one in a switch's line; None if its owner is before it."""
        order = self._campaign.line(claim.datapath_id)
        return order.turn(name) if order.is_before(name, claim.member) else None

    def give(self, claim: Claim, to: str) -> None:
        """Hand a switch to another member; EtcdError, RequestError.

        The switch has carried out all requests of this member before, and gets none after.
        """
        line = self._campaign.line(claim.datapath_id)
        self._hand_over(claim, to, line.reason(to, claim.member), reached=True)

    # For reports that this member does not reach a switch

    def owns(self, datapath_id: int) -> Claim | None:
        """See `unheard.Owner`."""
        owned = self._owned.get(datapath_id)
        return None if owned is None else owned.claim

    def is_heard(self, datapath_id: int, patience: float) -> bool:
        """See `unheard.Owner`."""
        owned = self._owned.get(datapath_id)
        return owned is not None and answers(owned.channel, patience)

    def yield_unreachable(self, claim: Claim, to: str) -> None:
        """See `unheard.Owner`."""
        reason = f"{claim.member} did not reach the switch, and {to} does"
        self._hand_over(claim, to, reason, reached=False)

    # Changes of the lease

    def leased(self, lease: int) -> None:
        """Register under a new lease; see `lease_keeper`, also for what follows."""
        self.members.register(lease, ofapp.__version__)
        self._regained.set()
        self._wake()

    def lost(self, why: str) -> None:
        """End the connections of all switches; their flows stay."""
        self._outages += 1
        why = self.health.too_slow or why
        count = len(self._owned)
        message = (
            f"this member is on standby, as its lease may have ended: {why}; it writes to no "
            f"switch, and gives up {count}, whose flows stay"
        )
        data = {"member": self.name, "switches": count, "why": why}
        self._emit(None, CLUSTER_LOST.event(message, data=data))
        for owned in list(self._owned.values()):
            owned.channel.hang_up()

    def regained(self) -> None:
        """Claim switches again."""
        self._state.retry()
        self._regained.set()
        message = "etcd answers: this member serves its switches again"
        data = {"member": self.name}
        self._emit(None, CLUSTER_LOST_CLEARED.event(message, data=data))
        self._wake()

    # Changes of etcd's history

    def forked(self, why: str) -> int:
        """Give up the lease and all claims; see `history`, also for what follows."""
        lease = self.lease_keeper.abandon(why)
        self.members.forget()
        self.claims.forget()
        return lease

    def recovered(self, unchanged: Mapping[str, int]) -> None:
        """Use the revisions of the new history."""
        self._state.rebase(unchanged)

    # Inside

    def _last_words(self, datapath_id: int) -> bytes:
        return b"" if self._service is None else self._service.last_words(datapath_id)

    def _hand_over(self, claim: Claim, to: str, reason: str, reached: bool) -> None:
        """reached: the switch answers, and so confirms when it has carried everything out."""
        datapath_id, taker = claim.datapath_id, self.members.get(to)
        owned = self._owned.get(datapath_id)
        if taker is None or owned is None or owned.claim != claim or self._service is None:
            return
        self._check_settled(datapath_id)
        self._giving.add(datapath_id)
        try:
            self._service.give_up(
                owned.channel, f"member {to} is master of the switch now: {reason}"
            )
            if reached:
                Mastership(owned.channel).become_slave()
            self._check_settled(datapath_id)
            self._state.release(datapath_id)
            self.claims.hand_over(claim, taker.lease, to, reason)
        except StaleError as error:
            raise RequestError(str(error)) from None
        finally:
            self._giving.discard(datapath_id)
            self._owned.pop(datapath_id, None)
            owned.channel.hang_up()

    def _check_settled(self, datapath_id: int) -> None:
        """RequestError while documents are unsaved: only the owner can save them."""
        if not self._state.saved(datapath_id, PATIENCE):
            raise RequestError("the switch's documents are not saved yet")

    def _handle(self, datapath_id: int, claim: Claim | None) -> None:
        """Handle a change of a switch's owner."""
        if (election := self._waiting.get(datapath_id)) is not None:
            election.changed.set()
        owned = self._owned.get(datapath_id)
        if owned is not None and claim != owned.claim:
            self._give_up(datapath_id)
        if claim is not None and claim.lease != self.lease_keeper.held.number:
            self._state.claimed(datapath_id, claim.term)
        if self._service is None:
            return
        if claim is None:
            self._service.expect(datapath_id)
        elif claim.lease != self.lease_keeper.held.number:
            self._service.release(datapath_id)

    def _give_up(self, datapath_id: int) -> None:
        """Give up a switch that this member no longer owns."""
        owned = self._owned.get(datapath_id)
        if owned is not None and datapath_id not in self._giving:
            claim = self.claims.of(datapath_id)
            who = "without an owner" if claim is None else f"owned by member {claim.member}"
            message = f"the switch is {who} now: this member gives it up"
            self._emit(datapath_id, BRIDGE_LOST.event(message))
            owned.channel.hang_up()

    def _wake(self) -> None:
        for election in self._waiting.values():
            election.changed.set()

    def _release(self, claim: Claim) -> None:
        if claim.datapath_id in self._waiting or claim.datapath_id in self._owned:
            return
        if not self._state.saved(claim.datapath_id, PATIENCE):
            return  # `_sweep` tries again
        try:
            self.claims.release(claim)
        except EtcdError as error:
            LOG.info("the claim of %016x was not released: %s", claim.datapath_id, error)

    def _catch_up(self) -> None:
        """Read again what others changed while etcd did not answer; does not end."""
        while True:
            self._regained.wait(SWEEP)
            self._regained.clear()
            while (outages := self._outages) != self._caught_up and self.lease_keeper.holds:
                try:
                    self.history.etcd.catch_up()
                    self._caught_up = outages
                except EtcdError as error:
                    LOG.info("what others have changed is not known yet: %s", error)
                    hub.sleep(CATCH_UP)

    def _sweep(self) -> None:
        """Release claims without a connection here: handed over in vain, or not yet released."""
        while True:
            hub.sleep(SWEEP)
            lease = self.lease_keeper.held.number
            unused = {
                claim.datapath_id: claim
                for claim in self.claims.all()
                if claim.lease == lease
                and claim.datapath_id not in self._owned
                and claim.datapath_id not in self._waiting
            }
            for datapath_id in self._unused & unused.keys():
                self._release(unused[datapath_id])
            self._unused = set(unused)

    def _look_for_invalid(self) -> None:
        etcd, root = self.history.etcd, self._keys.root
        while True:
            try:
                etcd.invalid.judge_all(etcd.keys(root))
            except EtcdError as error:
                LOG.info("the keys in etcd were not checked: %s", error)
            hub.sleep(invalid.LOOK)

    def _failed(self, error: Exception) -> None:
        message = f"a defect of ofapp: {error!r}; the affected part starts again"
        self._emit(None, SERVICE_FAULT.event(message))
