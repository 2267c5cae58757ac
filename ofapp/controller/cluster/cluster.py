"""A member of a cluster: `controller.owners.Owners`, by claims in etcd.

For a claimed switch the connection is MASTER, a session synchronizes the flows with a new bridge,
and both end with the claim.  A connection is master once: a member that loses or gives up a switch
ends the connection, and becomes SLAVE when the switch connects again.  So no message of one term is
ever left over for another.

Switches of a fabric are claimed, handed over and given up together: the claim of the fabric's
bridge decides.  What is stored is of bridges; a claim of a fabric's member keeps others from it.

Where etcd does not answer, or the process was stopped for too long, this member is on standby: it
ends the connections on which it was master, claims no switch, and reports it; the flows stay.  Only
the last LACPDUs to partners of aggregations are repeated (`election`).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import ofapp
from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.problem import Problem
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
from ofapp.controller.cluster.election.election import TURN, Campaign, Election
from ofapp.controller.cluster.election.generation_base import GenerationBases
from ofapp.controller.cluster.election.handover import Handover
from ofapp.controller.cluster.election.lease_keeper import LeaseKeeper
from ofapp.controller.cluster.election.ownership import Claim, Claims
from ofapp.controller.cluster.election.unreachable import Unreachable
from ofapp.controller.cluster.etcd import invalid
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.health import EtcdHealth
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.problems import of_etcd, of_members
from ofapp.controller.cluster.sharing.state import SharedState
from ofapp.controller.cluster.switches import Owned, Switches
from ofapp.controller.cluster.takeover import Takeovers
from ofapp.controller.events import SERVICE_FAULT
from ofapp.controller.member_events import CLUSTER_LOST, CLUSTER_LOST_CLEARED, CLUSTER_OWNER
from ofapp.controller.member_problems import STANDBY
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

TOGETHER = 100
"""Most claims of a fabric's members that are handed over with it; the taker makes the others."""

INCOMPLETE = 4
"""Turns to wait before asking for a fabric because its owner lacks a switch."""

SWEEP = 2.0
"""Seconds between checks for claims of this member without a connection."""


@dataclass(frozen=True, slots=True)
class Membership:
    """This member's place in a cluster.

    keys: keys of the cluster in etcd; lease: its lifetime in seconds; place: see `MemberRecord`.
    """

    keys: Keys
    name: str
    lease: float
    place: str = ""


class Cluster:
    """A cluster as one member sees it.

    history: history of the cluster's etcd; state: stored documents of each bridge;
    emit: emits events.
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
        self.switches = switches = Switches()
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
            switches.bridge_of,
            switches.of,
            switches.are_complete,
        )
        self._handover = Handover(etcd, keys, self)
        self._state = state
        self._takeovers = Takeovers(state)
        self._emit = emit
        self._giving: set[int] = set()  # switches that are handed over, by their datapath ids
        self._moving: set[int] = set()  # bridges that are
        self._unused: set[int] = set()
        self._outages = self._caught_up = 0
        self._regained = hub.Event()

    # For the controller that has the connections

    def agents(self) -> OwnAgents:
        """See `Owners`: all members seal LLDP alike, so that one map has the links between them."""
        key = hmac.digest(self.members.secret(), LLDP, "sha256")
        return OwnAgents(key, secrets.randbits(LIFE))

    def start(self, service: SwitchService) -> None:
        """See `Owners`."""
        self.switches.service = service
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
        self.switches.waiting[channel.id] = election
        try:
            won = election.win()
            if won is None:
                return None
            claim, own = won
            self.switches.owned[channel.id] = Owned(channel, claim, own)
        finally:
            if self.switches.waiting.get(channel.id) is election:
                del self.switches.waiting[channel.id]
        try:
            if channel.dead:
                raise RequestError("the connection ended while the switch was claimed")
            election.become_master(own)
            counts = self._takeovers.take_over(
                claim,
                channel.id,
                read_mark(channel),
                lambda: self.switches.connected(claim.datapath_id),
            )
            if not counts and self.switches.service is not None:
                self.switches.service.release(claim.datapath_id)
        except (RequestError, EtcdError, ValueError) as error:
            self.ended(channel)
            raise RequestError(str(error)) from None
        if self.switches.bridge_of(channel.id) != claim.datapath_id:
            self.ended(channel)
            raise RequestError("the switch's place in the fabrics has changed")
        if claim.datapath_id in self._moving:
            self.ended(channel)
            raise RequestError("its fabric is being handed over")
        if channel.dead:  # it ended before this member owned the switch
            self.ended(channel)
            return None
        which = f" {channel.id:016x} of the fabric" if own.of_member else ""
        message = f"member {claim.member} is master of the switch{which} now: {claim.reason}"
        data = {"member": claim.member, "term": claim.term, "reason": claim.reason}
        self._emit(claim.datapath_id, CLUSTER_OWNER.event(message, data=data))
        return election.reservation

    def ended(self, channel: Connection) -> None:
        """See `Owners`."""
        owned = self.switches.owned.get(channel.id)
        if owned is None or owned.channel is not channel:
            return
        del self.switches.owned[channel.id]
        if channel.id in self._giving:
            return
        if self.lease_keeper.holds:
            for claim in dict.fromkeys((owned.switch, owned.claim)):
                hub.watch(self._failed, self._release, claim)

    def problems(self) -> Iterator[Problem]:
        """See `Owners`."""
        if self.members.registration.duplicate or not self.current:
            yield STANDBY.at(self.describe(), data={"member": self.name})
        yield from of_etcd(self.health, self.history.etcd.invalid.all())
        yield from of_members(self.members.all())

    def describe(self) -> str:
        """State of this member in the cluster, in words."""
        if why := self.history.recovering:
            return (
                f"etcd was wiped or restored ({why}): this member is on standby and writes back"
                " what it knows; flows stay as they are"
            )
        if not self.claims.known:
            return "members and owners have not been read from etcd yet"
        if duplicate := self.members.registration.duplicate:
            return (
                f"another process goes by the name {self.members.own}, {duplicate}: this one takes"
                " no switch until that has ended"
            )
        if not self.lease_keeper.holds:
            what = self.health.too_slow or "etcd does not answer"
            return f"{what}: this member is on standby, and flows stay as they are"
        if not self.current:
            return "etcd answers again; changes of other members have not been read yet"
        return "this member renews its lease, and serves the switches that it owns"

    @property
    def takeover(self) -> float | None:
        """Most seconds until others own this member's switches if it dies; None: no one is there.

        Its lease has to end, and the first in the line may not be connected to the switch.
        """
        others = (one for one in self.members.candidates() if one.name != self.name)
        if all(one.drained for one in others):
            return None
        return self.lease_keeper.seconds + TURN

    def close(self) -> None:
        """Give up the lease, so that others can claim this member's switches at once."""
        self.switches.owned.clear()
        try:
            self.lease_keeper.give_up()
        except EtcdError as error:
            LOG.warning("the lease was not given up, and ends by itself: %s", error)

    # For moving switches between members

    def serves(self, datapath_id: int) -> Claim | None:
        """The claim of a bridge that this member owns and whose flows are in sync."""
        claim = self.owns(datapath_id)
        service = self.switches.service
        return claim if service is not None and service.in_line(datapath_id) else None

    @property
    def current(self) -> bool:
        """Whether this member's knowledge of others is not older than a lease."""
        return self.lease_keeper.holds and self.claims.known and self._caught_up == self._outages

    def expected(self) -> set[int]:
        """The bridges that have an owner, or should have one soon."""
        waiting = {
            self.switches.bridge_of(at)
            for at, one in self.switches.waiting.items()
            if not one.foreign
        }
        claimed = {claim.datapath_id for claim in self.claims.all()}
        return waiting | claimed | {*map(self.switches.bridge_of, self.claims.freed(EXPECTED))}

    def owned(self) -> dict[int, bool]:
        """The switches that are connected here, and whether each is known to have an owner."""
        there = sorted({*self.switches.waiting, *self.switches.owned})
        return {
            datapath_id: self.current and self.claims.of(datapath_id) is not None
            for datapath_id in there
        }

    @property
    def lease(self) -> int:
        """The lease's ID in etcd; 0 without a valid one."""
        return self.lease_keeper.held.number if self.lease_keeper.holds else 0

    def could_serve(self) -> list[Claim]:
        """Claims of bridges that have an owner, and that this member could serve."""
        bridges = {
            self.switches.bridge_of(at): None
            for at, one in self.switches.waiting.items()
            if one.ready
        }
        claims = (
            self.claims.of(bridge) for bridge in bridges if self.switches.are_complete(bridge)
        )
        return [claim for claim in claims if claim is not None]

    def before(self, name: str, claim: Claim) -> int | None:
        """Number of members before this one in a bridge's line; None if its owner is before it.

        An owner that is not connected to all switches of a fabric is behind all that are: only
        these ask for it (`could_serve`).
        """
        order = self._campaign.line(claim.datapath_id)
        if order.is_before(name, claim.member):
            return order.turn(name)
        switches = map(self.claims.of, self.switches.of(claim.datapath_id))
        if any(own is None or own.lease != claim.lease for own in switches):
            return order.turn(name) + INCOMPLETE
        return None

    def give(self, claim: Claim, to: str) -> None:
        """Hand a bridge to another member.  Raises EtcdError and RequestError.

        Its switches have carried out all requests of this member before, and get none after.
        """
        line = self._campaign.line(claim.datapath_id)
        self._hand_over(claim, to, line.reason(to, claim.member), reached=True)

    # For reports that this member does not reach a switch

    def owns(self, datapath_id: int) -> Claim | None:
        """See `unheard.Owner`."""
        there = self.switches.owned_of(self.switches.bridge_of(datapath_id))
        return there[0].claim if there else None

    def is_heard(self, datapath_id: int, patience: float) -> bool:
        """See `unheard.Owner`."""
        channels = [owned.channel for owned in self.switches.owned_of(datapath_id)]
        return any(answers(channel, patience) for channel in channels)

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
        count = len(self.switches.owned)
        message = (
            f"this member is on standby, as its lease may have ended: {why}; it writes to no "
            f"switch, and gives up {count}, whose flows stay"
        )
        data = {"member": self.name, "switches": count, "why": why}
        self._emit(None, CLUSTER_LOST.event(message, data=data))
        for owned in list(self.switches.owned.values()):
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
        service = self.switches.service
        return b"" if service is None else service.last_words(datapath_id)

    def _hand_over(self, claim: Claim, to: str, reason: str, reached: bool) -> None:
        """reached: the switches answer, and so confirm when they have carried everything out."""
        datapath_id, taker = claim.datapath_id, self.members.get(to)
        given = self.switches.owned_of(datapath_id)
        if taker is None or not given or self.switches.service is None:
            return
        if any(owned.claim != claim for owned in given):
            return
        self._check_settled(datapath_id)
        switches = {owned.channel.id for owned in given}
        self._giving |= switches
        self._moving.add(datapath_id)
        try:
            why = f"member {to} is master of the switch now: {reason}"
            for owned in given:
                self.switches.service.give_up(owned.channel, why)
            if reached:
                for owned in given:
                    Mastership(owned.channel).become_slave()
            self._check_settled(datapath_id)
            self._state.release(datapath_id)
            others = [owned.switch for owned in given if owned.switch.of_member][:TOGETHER]
            self.claims.hand_over(claim, taker.lease, to, reason, others)
        except StaleError as error:
            raise RequestError(str(error)) from None
        finally:
            self._giving -= switches
            self._moving.discard(datapath_id)
            for owned in given:
                if self.switches.owned.get(owned.channel.id) is owned:
                    del self.switches.owned[owned.channel.id]
                owned.channel.hang_up()

    def _check_settled(self, datapath_id: int) -> None:
        """RequestError while documents are unsaved: only the owner can save them."""
        if not self._state.saved(datapath_id, PATIENCE):
            raise RequestError("the switch's documents are not saved yet")

    def _handle(self, datapath_id: int, claim: Claim | None) -> None:
        """Handle a change of a switch's owner."""
        for switch in self.switches.of(datapath_id):
            if (election := self.switches.waiting.get(switch)) is not None:
                election.changed.set()
            owned = self.switches.owned.get(switch)
            claims = () if owned is None else (owned.claim, owned.switch)
            if owned is not None and any(
                own.datapath_id == datapath_id and own != claim for own in claims
            ):
                self._give_up_switch(owned, claim)
        if self.switches.bridge_of(datapath_id) != datapath_id:
            return  # the claim of its fabric's bridge decides on all else
        if claim is not None and claim.lease != self.lease_keeper.held.number:
            self._state.claimed(datapath_id, claim.term)
        if self.switches.service is None:
            return
        if claim is None:
            self.switches.service.expect(datapath_id)
        elif claim.lease != self.lease_keeper.held.number:
            self.switches.service.release(datapath_id)

    def _give_up(self, datapath_id: int) -> None:
        """Give up the switches of a bridge that this member no longer owns."""
        for owned in self.switches.owned_of(datapath_id):
            self._give_up_switch(owned, self.claims.of(datapath_id))

    def _give_up_switch(self, owned: Owned, claim: Claim | None) -> None:
        """claim: that of another member."""
        if owned.channel.id not in self._giving:
            who = "without an owner" if claim is None else f"owned by member {claim.member}"
            message = f"the switch is {who} now: this member gives it up"
            self._emit(owned.claim.datapath_id, BRIDGE_LOST.event(message))
            owned.channel.hang_up()

    def _wake(self) -> None:
        for election in self.switches.waiting.values():
            election.changed.set()

    def _release(self, claim: Claim) -> None:
        if claim.datapath_id in self._moving or self.switches.need(claim):
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
                for claim in self.claims.switches()
                if claim.lease == lease and not self.switches.need(claim)
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
