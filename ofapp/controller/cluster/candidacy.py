"""A switch that is connected and not this member's: until it is, or the connection is over.

The connection becomes SLAVE before anything else is said.  When nobody has the switch, whoever is
first in line claims it at once, and each of the others a moment later than the one before it, as
that one may not be connected to it.  Only with the claim does it become MASTER, and from before
that on nothing leaves on this connection unless the lease may be counted on (`tenure`).

No second core is fed meanwhile, and no packet-in is asked for: the bridge is made when the switch
is this member's, from what the former owner wrote down and from the switch's own flows, as after a
restart of one process.  From the claim on it took 0.10 s (0.09 to 0.10) until the switch was in
line with 10 hosts, 0.85 s (0.79 to 1.02) with 10,000 and 7.9 s with 100,000 [measured,
tests/bench/run takeover, load 5 and more]; protocols run before that, and what is known is
forwarded.  The claim itself comes 1.8 to 2.5 s after the end of an owner with a lease of 2 s.  So
there would be nothing to win by cores that are fed.
"""

from __future__ import annotations

import contextlib
import logging
from typing import NamedTuple

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.controller.cluster.bases import Bases
from ofapp.controller.cluster.claims import Claim, Claims
from ofapp.controller.cluster.etcd import EtcdError
from ofapp.controller.cluster.lessee import Lessee
from ofapp.controller.cluster.members import Members, Tell
from ofapp.controller.cluster.placement import Line, line
from ofapp.controller.cluster.tenure import clock
from ofapp.controller.cluster.unheard import SILENT, Unheard
from ofapp.openflow.switch.lease import SwitchLease
from ofapp.openflow.switch.mastership import Mastership
from ofapp.openflow.switch.ownership import RENEWAL
from ofapp.openflow.switch.roles import StaleError
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)

TURN = 0.5
"""Seconds that each in the line leaves to the one before it."""

PATIENCE = 10.0
"""Seconds that are left to them at most while they claim others."""

LOOK = 1.0
"""Seconds between looks, should news be lost."""


class Desk(NamedTuple):
    """What all candidacies of a member share.

    number: the cluster's, by which it has the leases that switches keep.
    """

    claims: Claims
    bases: Bases
    members: Members
    lessee: Lessee
    unheard: Unheard
    number: int
    tell: Tell

    def line(self, datapath_id: int) -> Line:
        """Who should have a switch, of those that are there."""
        return line(self.members.candidates(), datapath_id)


class Candidacy:
    """Of one connection.

    ready: it is SLAVE, and could be MASTER.  changed: whoever may have the switch has changed.
    """

    def __init__(self, channel: Channel, desk: Desk) -> None:
        self.ready = False
        self.changed = hub.Event()
        self.lease = SwitchLease(channel, desk.number)
        self._channel = channel
        self._desk = desk
        self._mastership = Mastership(channel)
        self._free_since: float | None = None
        self._silent = False
        """Whether the owner has been told that the switch does not hear it."""
        self._foreigner: str | None = None

    def begin(self) -> None:
        """Become SLAVE; RequestError."""
        try:
            self._mastership.become_slave()
        except StaleError as error:
            raise RequestError(str(error)) from None
        self.ready = True

    def win(self) -> Claim | None:
        """Wait until the switch is claimed for this member; None when the connection is over.

        RequestError when the switch does not answer.
        """
        while not self._channel.dead:
            if not self._may_claim() or self._is_foreign():
                continue
            try:
                claim = self._claim()
            except EtcdError as error:
                LOG.info("the switch %016x is not claimed: %s", self._channel.id, error)
                hub.sleep(TURN)
                continue
            if claim is not None:
                if self._silent:
                    hub.spawn(self._take_back)
                return claim
        return None

    def become_master(self, claim: Claim) -> None:
        """Nothing leaves from now on but under the claim's own lease.  RequestError, EtcdError."""
        held = self._desk.lessee.held
        if held.number != claim.lease:
            raise RequestError("the lease under which the switch was claimed has ended")
        self._channel.fence(held.tenure.holds_now)
        try:
            self._mastership.become_master(claim.term)
        except StaleError as error:
            base = self._desk.bases.above(claim, error.seen)
            try:
                self._mastership.become_master(base.generation(claim.term))
            except StaleError as again:
                raise RequestError(str(again)) from None

    # Inside

    def _may_claim(self) -> bool:
        """Whether it is this member's turn now; waits for a while when it is not."""
        desk, datapath_id = self._desk, self._channel.id
        claim, wait = desk.claims.of(datapath_id), LOOK
        if claim is not None:
            self._free_since = None
        if desk.lessee.holds and desk.claims.known:
            if claim is not None and claim.lease == desk.lessee.held.number:
                return True
            if claim is None:
                wait = self._wait()
                if wait <= 0:
                    return True
        self.changed.wait(min(wait, LOOK))
        self.changed.clear()
        if claim is not None and not self._channel.dead:
            self._look_whether_heard(claim)
        return False

    def _look_whether_heard(self, claim: Claim) -> None:
        """Tell the owner when the switch does not hear it, and when it does again."""
        desk, datapath_id = self._desk, self._channel.id
        if claim.lease == desk.lessee.held.number or not desk.lessee.holds:
            return
        age = self.lease.age()
        silent = age is not None and age > SILENT
        if silent == self._silent:
            return
        try:
            desk.unheard.tell(datapath_id) if silent else desk.unheard.take_back(datapath_id)
            self._silent = silent
        except EtcdError as error:
            LOG.info("the owner of %016x is not told of its silence: %s", datapath_id, error)

    def _take_back(self) -> None:
        with contextlib.suppress(EtcdError):  # it ends with the lease
            self._desk.unheard.take_back(self._channel.id)

    def _wait(self) -> float:
        """Seconds until it is this member's turn to claim a switch that is nobody's.

        Those before it may have a thousand to claim: as long as they do it is not.
        """
        now = clock()
        since = self._free_since = self._free_since or now
        order, own = self._desk.line(self._channel.id), self._desk.members.own
        before = order.before(own)
        busy = min(self._desk.claims.latest(before), since + PATIENCE)
        return max(since, busy) + len(before) * TURN - now

    def _is_foreign(self) -> bool:
        """Whether a controller of no cluster, or of another one, has the switch; waits if so."""
        other = self.lease.other()
        if other is not None:
            if self._foreigner is None:
                message = f"{other} looks after the switch: no member claims it until it goes"
                data = {"owner": other}
                event = Event("bridge.standby", message, Severity.WARNING, data=data)
                self._desk.tell(self._channel.id, event)
            hub.sleep(RENEWAL)
        self._foreigner = other
        return other is not None

    def _claim(self) -> Claim | None:
        desk, datapath_id = self._desk, self._channel.id
        held = desk.lessee.held
        if not held.number:
            return None
        own, former = desk.members.own, desk.claims.former(datapath_id)
        reason = desk.line(datapath_id).reason(own, former)
        return desk.claims.claim(datapath_id, held.number, own, reason)
