"""Standby for a connected switch: until this member claims it, or the connection ends.

The connection becomes SLAVE before any other request.  When a switch has no owner, the first member
in its line claims it at once.  Each of the others waits a moment longer than the one before it, as
that one may not be connected.  Only with the claim does the connection become MASTER, and from
before that on nothing is sent on it unless the lease is valid (`tenure`).

Until then no second bridge is kept in step and no packet-ins are requested.  The bridge is made
after the claim, from what the former owner stored and from the switch's flows, as after a restart
of one process.  From the claim on it took 0.10 s (0.09 to 0.10) until all flows were compared with
10 hosts, 0.85 s (0.79 to 1.02) with 10,000 and 7.9 s with 100,000 [measured, tests/bench/run
takeover, load 5 and more]; protocols run before that, and known addresses are forwarded.  The claim
itself comes 1.8 to 2.5 s after the end of an owner with a lease of 2 s.  So a hot standby would
gain nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from ofapp.common import hub
from ofapp.common.rate_limited import rate_limited
from ofapp.common.request_error import RequestError
from ofapp.controller.cluster.election.claims import Claim, Claims
from ofapp.controller.cluster.election.generation_base import Bases
from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.election.lease_keeper import Lessee
from ofapp.controller.cluster.election.placement import Line, line
from ofapp.controller.cluster.election.unreachable import SILENT, Unheard
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.history import History
from ofapp.controller.cluster.peers.members import Members, Tell
from ofapp.openflow.switch.events import BRIDGE_STANDBY
from ofapp.openflow.switch.mastership.lease import SwitchLease
from ofapp.openflow.switch.mastership.mastership import Mastership
from ofapp.openflow.switch.mastership.ownership import RENEWAL
from ofapp.openflow.switch.mastership.roles import StaleError
from ofapp.openflow.wire.channel import Channel

LOG = rate_limited(__name__)

TURN = 0.5
"""Seconds that each member in the line waits for the one before it."""

PATIENCE = 10.0
"""Seconds to wait at most for earlier members that are claiming other switches."""

LOOK = 1.0
"""Seconds between checks, in case a notification is lost."""

SPEAK = 0.5
"""Seconds between LACPDUs while etcd does not answer."""


class Desk(NamedTuple):
    """State that all candidacies of a member share.

    number: of the cluster, in the leases that switches keep.
    last_words: the last LACPDUs sent to partners of a switch's aggregations; generations: those
    with which this member was a switch's master.
    """

    history: History
    claims: Claims
    bases: Bases
    members: Members
    lessee: Lessee
    unheard: Unheard
    number: int
    tell: Tell
    last_words: Callable[[int], bytes]
    generations: dict[int, int]

    def line(self, datapath_id: int) -> Line:
        """The members that are present, in the order in which they should own a switch."""
        return line(self.members.candidates(), datapath_id)


class Candidacy:
    """Candidacy for the switch of one connection.

    ready: it is SLAVE, and could be MASTER.  changed: set when the candidates or the owner change.
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
        """Whether this member has reported to the owner that it does not reach the switch."""
        self._foreigner: str | None = None

    @property
    def foreign(self) -> bool:
        """Whether a controller outside this cluster is master of the switch."""
        return self._foreigner is not None

    def begin(self) -> None:
        """Become SLAVE; RequestError."""
        try:
            self._mastership.become_slave()
        except StaleError as error:
            raise RequestError(str(error)) from None
        self.ready = True

    def win(self) -> Claim | None:
        """Wait until this member has claimed the switch; None when the connection ends.

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
        """Become MASTER; send only while the claim's lease is valid.  RequestError, EtcdError."""
        held = self._desk.lessee.held
        if held.number != claim.lease:
            raise RequestError("the lease under which the switch was claimed has ended")
        self._channel.fence(held.tenure.holds_now)
        generation = self._desk.history.generation(claim.term)
        try:
            self._mastership.become_master(generation)
        except StaleError as error:
            base = self._desk.bases.above(claim, generation, error.seen)
            generation = base.generation(generation)
            try:
                self._mastership.become_master(generation)
            except StaleError as again:
                raise RequestError(str(again)) from None
        self._desk.generations[claim.datapath_id] = generation

    # Inside

    def _may_claim(self) -> bool:
        """Whether this member may claim now; waits for a while if not."""
        desk, datapath_id = self._desk, self._channel.id
        claim, wait = desk.claims.of(datapath_id), LOOK
        if claim is not None:
            self._free_since = None
        if desk.lessee.holds and desk.claims.known and not desk.members.awaited:
            if claim is not None and claim.lease == desk.lessee.held.number:
                return True
            if claim is None:
                wait = self._wait()
                if wait <= 0:
                    return True
        elif not desk.lessee.holds and self._speak():
            wait = SPEAK
        self.changed.wait(min(wait, LOOK))
        self.changed.clear()
        if claim is not None and not self._channel.dead:
            self._look_whether_heard(claim)
        return False

    def _speak(self) -> bool:
        """Repeat the last LACPDUs to partners of aggregations; RequestError.

        No member can own the switch while etcd does not answer, and a partner with the short
        timeout waits for three seconds.  This member becomes master for that moment, with the
        generation it had: the switch refuses it once another member has been master.
        """
        desk, datapath_id = self._desk, self._channel.id
        words, generation = desk.last_words(datapath_id), desk.generations.get(datapath_id)
        if not words or generation is None:
            return False
        try:
            self._mastership.become_master(generation)
            self._channel.send(words)
            self._mastership.become_slave()
        except StaleError:
            del desk.generations[datapath_id]
            return False
        return True

    def _look_whether_heard(self, claim: Claim) -> None:
        """Report to the owner when it does not reach the switch, and when it does again."""
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
            LOG.info("not reported to the owner of %016x that it is silent: %s", datapath_id, error)

    def _take_back(self) -> None:
        with contextlib.suppress(EtcdError):  # it ends with the lease
            self._desk.unheard.take_back(self._channel.id)

    def _wait(self) -> float:
        """Seconds until this member may claim a switch that has no owner.

        Members before it may have a thousand to claim: it waits while they do.
        """
        now = clock()
        since = self._free_since = self._free_since or now
        order, own = self._desk.line(self._channel.id), self._desk.members.own
        before = order.before(own)
        busy = min(self._desk.claims.latest(before), since + PATIENCE)
        return max(since, busy) + len(before) * TURN - now

    def _is_foreign(self) -> bool:
        """Whether a controller outside this cluster is master of the switch; waits if so."""
        other = self.lease.other()
        if other is not None:
            if self._foreigner is None:
                message = f"{other} is master of the switch: no member claims it until it leaves"
                data = {"owner": other}
                event = BRIDGE_STANDBY.event(message, data=data)
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
