"""Standby for a connected switch: until this member claims it, or the connection ends.

The connection becomes SLAVE before any other request.  When a switch has no owner, the first member
in its line claims it at once.  Each of the others waits a moment longer than the one before it, as
that one may not be connected.  Only with the claim does the connection become MASTER, and from
before that on nothing is sent on it unless the lease is valid (`lease_deadline`).

Until then no second bridge is kept in step and no packet-ins are requested.  The bridge is made
after the claim, from what the former owner stored and from the switch's flows, as after a restart
of one process.  From the claim on it took 0.10 s (0.09 to 0.10) until all flows were compared with
10 hosts, 0.85 s (0.79 to 1.02) with 10,000 and 7.9 s with 100,000 [measured, tests/bench/run
takeover, load 5 and more]; protocols run before that, and known addresses are forwarded.  The claim
itself comes 1.8 to 2.5 s after the end of an owner with a lease of 2 s.  So a hot standby would
gain nothing.

Switches that are members of a fabric have one owner: it has the claim of the fabric's bridge.  Each
of them has an election, and the first one that is won claims the fabric; no other member wins the
others.  A member that is not connected to all switches of the fabric leaves it to those that are,
if they take it in their turn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.common.request_error import RequestError
from ofapp.controller.bridges.openflow_datapath import (
    BRIDGE_STANDBY,
    RENEWAL,
    Channel,
    Mastership,
    StaleError,
    SwitchReservation,
)
from ofapp.controller.cluster.election.generation_base import GenerationBases
from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.election.lease_keeper import LeaseKeeper
from ofapp.controller.cluster.election.ownership import Claim, Claims
from ofapp.controller.cluster.election.placement import Line, line
from ofapp.controller.cluster.election.unreachable import SILENT, Unreachable
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.state.saving import Emit

LOG = rate_limited(__name__)

TURN = 0.5
"""Seconds that each member in the line waits for the one before it."""

PATIENCE = 10.0
"""Seconds to wait at most for earlier members that are claiming other switches."""

LOOK = 1.0
"""Seconds between checks, in case a notification is lost."""

REPEAT = 0.5
"""Seconds between LACPDUs while etcd does not answer."""


class Won(NamedTuple):
    """Claims with which a switch is managed.

    bridge: datapath id of its bridge; switch: its own datapath id, the same unless it is a member
    of a fabric.
    """

    bridge: Claim
    switch: Claim


class Campaign(NamedTuple):
    """State that all elections of a member share.

    number: number of the cluster, in the leases that switches keep.
    bridge_of: datapath id of the bridge that a switch belongs to; switches_of: those of a bridge;
    complete: whether all of these are connected to this member.
    last_words: the last LACPDUs sent to partners of a switch's aggregations; generations: those
    with which this member was a switch's master.
    """

    history: History
    claims: Claims
    generation_bases: GenerationBases
    members: Members
    lease_keeper: LeaseKeeper
    unreachable: Unreachable
    number: int
    emit: Emit
    last_words: Callable[[int], bytes]
    generations: dict[int, int]
    bridge_of: Callable[[int], int]
    switches_of: Callable[[int], tuple[int, ...]]
    complete: Callable[[int], bool]

    def line(self, datapath_id: int) -> Line:
        """The members that are present, in the order in which they should own a switch."""
        return line(self.members.candidates(), datapath_id)


class Election:
    """This member's part in the election of an owner for one connected switch.

    ready: it is SLAVE, and could be MASTER.  changed: set when the candidates or the owner change.
    """

    def __init__(self, channel: Channel, campaign: Campaign) -> None:
        self.ready = False
        self.changed = hub.Event()
        self.reservation = SwitchReservation(channel, campaign.number)
        self._channel = channel
        self._campaign = campaign
        self._mastership = Mastership(channel)
        self._free_since: float | None = None
        self._silent = False
        """Whether this member has reported to the owner that it does not reach the switch."""
        self._foreigner: str | None = None

    @property
    def foreign(self) -> bool:
        """Whether a controller outside this cluster is master of the switch."""
        return self._foreigner is not None

    def begin(self) -> None:
        """Become SLAVE.  Raises RequestError."""
        try:
            self._mastership.become_slave()
        except StaleError as error:
            raise RequestError(str(error)) from None
        self.ready = True

    def win(self) -> Won | None:
        """Wait until this member has claimed the switch; None when the connection ends.

        RequestError when the switch does not answer.
        """
        while not self._channel.dead:
            if not self._may_claim() or self._is_foreign():
                continue
            try:
                won = self._claim()
            except EtcdError as error:
                LOG.info("the switch %016x is not claimed: %s", self._channel.id, error)
                hub.sleep(TURN)
                continue
            if won is not None:
                if self._silent:
                    hub.spawn(self._withdraw)
                return won
        return None

    def become_master(self, claim: Claim) -> None:
        """Become MASTER by the switch's own claim; send only while its lease is valid.

        RequestError, EtcdError.
        """
        held = self._campaign.lease_keeper.held
        if held.number != claim.lease:
            raise RequestError("the lease under which the switch was claimed has ended")
        self._channel.fence(held.deadline.holds_now)
        generation = self._campaign.history.generation(claim.term)
        try:
            self._mastership.become_master(generation)
        except StaleError as error:
            base = self._campaign.generation_bases.above(claim, generation, error.seen)
            generation = base.generation(generation)
            try:
                self._mastership.become_master(generation)
            except StaleError as again:
                raise RequestError(str(again)) from None
        self._campaign.generations[claim.datapath_id] = generation

    # Inside

    def _may_claim(self) -> bool:
        """Whether this member may claim now; waits for a while if not."""
        campaign = self._campaign
        claim, wait = campaign.claims.of(self._bridge), LOOK
        if claim is not None:
            self._free_since = None
        if campaign.lease_keeper.holds and campaign.claims.known and not campaign.members.awaited:
            if claim is not None and claim.lease == campaign.lease_keeper.held.number:
                return True
            if claim is None:
                wait = self.left()
                if wait <= 0:
                    return True
        elif not campaign.lease_keeper.holds and self.repeat_last_lacpdus():
            wait = REPEAT
        self.changed.wait(min(wait, LOOK))
        self.changed.clear()
        if claim is not None and not self._channel.dead:
            self._check_owner(claim)
        return False

    def repeat_last_lacpdus(self) -> bool:
        """Repeat the last LACPDUs to partners of aggregations.  Raises RequestError.

        No member can own the switch while etcd does not answer, and a partner with the short
        timeout waits for three seconds.  This member becomes master for that moment, with the
        generation it had: the switch refuses it once another member has been master.
        """
        campaign, datapath_id = self._campaign, self._channel.id
        words, generation = campaign.last_words(datapath_id), campaign.generations.get(datapath_id)
        if not words or generation is None:
            return False
        try:
            self._mastership.become_master(generation)
            self._channel.send(words)
            self._mastership.become_slave()
        except StaleError:
            del campaign.generations[datapath_id]
            return False
        return True

    def _check_owner(self, claim: Claim) -> None:
        """Report to the owner when it does not reach the switch, and when it does again."""
        campaign, datapath_id = self._campaign, self._channel.id
        if claim.lease == campaign.lease_keeper.held.number or not campaign.lease_keeper.holds:
            return
        age = self.reservation.age()
        silent = age is not None and age > SILENT
        if silent == self._silent:
            return
        try:
            campaign.unreachable.report(datapath_id) if silent else campaign.unreachable.withdraw(
                datapath_id
            )
            self._silent = silent
        except EtcdError as error:
            LOG.info("not reported to the owner of %016x that it is silent: %s", datapath_id, error)

    def _withdraw(self) -> None:
        with contextlib.suppress(EtcdError):  # it ends with the lease
            self._campaign.unreachable.withdraw(self._channel.id)

    def left(self) -> float:
        """Seconds until this member may claim a switch that has no owner.

        Members before it may have a thousand to claim: it waits while they do.
        """
        now = clock()
        since = self._free_since = self._free_since or now
        order, member = self._campaign.line(self._bridge), self._campaign.members.own
        before = order.before(member)
        busy = min(self._campaign.claims.latest(before), since + PATIENCE)
        turns = len(before) + (0 if self._campaign.complete(self._bridge) else len(order.order))
        return max(since, busy) + turns * TURN - now

    def _is_foreign(self) -> bool:
        """Whether a controller outside this cluster is master of the switch; waits if so."""
        other = self.reservation.other()
        if other is not None:
            if self._foreigner is None:
                message = f"{other} is master of the switch: no member claims it until it leaves"
                data = {"owner": other}
                event = BRIDGE_STANDBY.event(message, data=data)
                self._campaign.emit(self._channel.id, event)
            hub.sleep(RENEWAL)
        self._foreigner = other
        return other is not None

    @property
    def _bridge(self) -> int:
        """Datapath id of the switch's bridge: its own, unless it is a member of a fabric."""
        return self._campaign.bridge_of(self._channel.id)

    def _claim(self) -> Won | None:
        campaign, switch, bridge = self._campaign, self._channel.id, self._bridge
        held = campaign.lease_keeper.held
        if not held.number:
            return None
        member, former = campaign.members.own, campaign.claims.former(bridge)
        reason = campaign.line(bridge).reason(member, former)
        claim = self._claim_as(bridge, held.number, reason, None)
        if claim is None or switch == bridge:
            return None if claim is None else Won(claim, claim)
        own = self._claim_as(switch, held.number, reason, bridge)
        if own is None:  # by a member with another configuration, or that just gives it up
            self.changed.wait(TURN)
            self.changed.clear()
        return None if own is None else Won(claim, own)

    def _claim_as(
        self, datapath_id: int, lease: int, reason: str, bridge: int | None
    ) -> Claim | None:
        """Claim a switch.

        bridge: the fabric's bridge that it belongs to; None if it is a bridge by itself.
        """
        claims = self._campaign.claims
        own = self._campaign.members.own
        switches = self._campaign.switches_of(datapath_id) if bridge is None else ()
        claim = claims.claim(datapath_id, lease, own, reason, bridge, switches)
        if claim is not None and claim.bridge != (bridge or datapath_id):
            claims.release(claim)  # from before the configuration changed
            return None
        return claim
