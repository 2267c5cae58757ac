"""A member of a cluster: `controller.owners.Owners`, by claims in etcd.

What happens to a switch that is claimed: its connection is MASTER, a session brings the bridge that
was made for it in line, and both end with the claim.  A connection is master once: who loses a
switch, or gives it up, ends the connection, and the switch comes again to find a SLAVE.  So nothing
that was meant for one term is ever left over for another.

Where etcd cannot be asked, or the process was stopped for too long, this member holds still: it
ends the connections on which it was master, takes none up, and says so; the flows stay.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass

import ofapp
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.lldp import OwnAgents
from ofapp.common import hub
from ofapp.controller.cluster.bases import Bases
from ofapp.controller.cluster.candidacy import Candidacy, Desk
from ofapp.controller.cluster.claims import Claim, Claims
from ofapp.controller.cluster.etcd import Etcd, EtcdError
from ofapp.controller.cluster.health import EtcdHealth
from ofapp.controller.cluster.keys import Keys
from ofapp.controller.cluster.lessee import Lessee
from ofapp.controller.cluster.members import Members, Tell
from ofapp.controller.cluster.moving import Moves
from ofapp.controller.cluster.signing import derived
from ofapp.controller.cluster.state import SharedState
from ofapp.controller.cluster.unheard import Unheard
from ofapp.controller.owners import Serves
from ofapp.openflow.switch.marks import read_mark
from ofapp.openflow.switch.mastership import Mastership
from ofapp.openflow.switch.ownership import Ownership, number
from ofapp.openflow.switch.roles import StaleError
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RequestError, answers

LOG = logging.getLogger(__name__)

LLDP = b"LLDP"
LIFE = 23
"""Bits of the number by which the runs of members are told from each other."""

PATIENCE = 0.5
"""Seconds for what is being written of a switch that is given up."""

SWEEP = 2.0
"""Seconds between looks for claims of this member without a connection."""


@dataclass(frozen=True, slots=True)
class Membership:
    """keys: the cluster's in etcd; name: this member's; lease: seconds that its lease lives."""

    keys: Keys
    name: str
    lease: float


@dataclass(frozen=True, slots=True)
class Owned:
    """A switch of this member's, and the connection on which it is, or will be, MASTER."""

    channel: Channel
    claim: Claim


class Cluster:
    """As one member sees it.  state: what there is of each bridge; tell: people."""

    waits = True

    def __init__(self, etcd: Etcd, own: Membership, state: SharedState, tell: Tell) -> None:
        keys = own.keys
        self.name, self.cluster = own.name, keys.cluster
        self.members = Members(etcd, keys.root, own.name, tell)
        self.claims = Claims(etcd, keys)
        self.lessee = Lessee(etcd, own.lease, self)
        self.health = EtcdHealth(etcd, tell)
        bases = Bases(etcd, keys, self.claims, tell)
        cluster = number("a cluster of ofapp", keys.cluster)
        self._unheard = Unheard(etcd, keys, self)
        self._desk = Desk(
            self.claims, bases, self.members, self.lessee, self._unheard, cluster, tell
        )
        self._moves = Moves(etcd, keys, self)
        self._state = state
        self._tell = tell
        self._waiting: dict[int, Candidacy] = {}
        self._owned: dict[int, Owned] = {}
        self._giving: set[int] = set()
        self._unused: set[int] = set()
        self._serves: Serves | None = None

    # For whoever has connections

    def agents(self) -> OwnAgents:
        """See `Owners`: all members seal alike, so that one map has the links between them."""
        return OwnAgents(derived(self.members.secret(), LLDP), secrets.randbits(LIFE))

    def start(self, serves: Serves) -> None:
        """See `Owners`."""
        self._serves = serves
        self._state.on_lost = self._let_go
        self.claims.on_change(self._heed)
        self.members.on_change(self._wake)
        self.members.start()
        self.claims.start()
        self._moves.start()
        self._unheard.start()
        loops = self.lessee.run, self.health.run, self._sweep, self._moves.ask, self._moves.grant
        for loop in loops:
            hub.keep(self._failed, loop)

    def obtain(self, channel: Channel) -> Ownership | None:
        """See `Owners`; what is left to acquire then is the cluster's lease in the switch, the same
        for all members, which keeps out whoever is in no cluster.
        """
        candidacy = Candidacy(channel, self._desk)
        candidacy.begin()
        self._waiting[channel.id] = candidacy
        try:
            claim = candidacy.win()
            if claim is None:
                return None
            self._owned[channel.id] = Owned(channel, claim)
        finally:
            if self._waiting.get(channel.id) is candidacy:
                del self._waiting[channel.id]
        try:
            if channel.dead:
                raise RequestError("the connection ended while the switch was claimed")
            candidacy.become_master(claim)
            self._state.take_over(channel.id, claim.term, read_mark(channel))
        except (RequestError, EtcdError, ValueError) as error:
            self.ended(channel)
            raise RequestError(str(error)) from None
        if channel.dead:  # its end was told before the switch was this member's
            self.ended(channel)
            return None
        message = f"member {claim.member} looks after the switch now: {claim.reason}"
        data = {"member": claim.member, "term": claim.term, "reason": claim.reason}
        self._tell(channel.id, Event("cluster.owner", message, data=data))
        return candidacy.lease

    def ended(self, channel: Channel) -> None:
        """See `Owners`."""
        owned = self._owned.get(channel.id)
        if owned is None or owned.channel is not channel:
            return
        del self._owned[channel.id]
        if channel.id in self._giving:
            return
        if self.lessee.holds:
            hub.watch(self._failed, self._release, owned.claim)
        else:
            self._state.let_go(channel.id)

    def close(self) -> None:
        """This member ends: others may have its switches at once."""
        self._owned.clear()
        try:
            self.lessee.give_up()
        except EtcdError as error:
            LOG.warning("the lease was not given up, and ends by itself: %s", error)

    # For who moves switches between members

    def serves(self, datapath_id: int) -> Claim | None:
        """The claim of a switch that this member looks after and that is in line."""
        owned = self._owned.get(datapath_id)
        in_line = self._serves is not None and self._serves.in_line(datapath_id)
        return owned.claim if owned is not None and in_line else None

    @property
    def lease(self) -> int:
        """Etcd's number; 0 while there is none that may be counted on."""
        return self.lessee.held.number if self.lessee.holds else 0

    def could_serve(self) -> list[Claim]:
        """Those of the switches that another member looks after, and this one could."""
        waiting = (self.claims.of(own) for own, one in self._waiting.items() if one.ready)
        return [claim for claim in waiting if claim is not None]

    def before(self, name: str, claim: Claim) -> int | None:
        """How many should rather have a switch than this member; None where its owner should."""
        order = self._desk.line(claim.datapath_id)
        return order.turn(name) if order.is_before(name, claim.member) else None

    def give(self, claim: Claim, to: str) -> None:
        """Have another member look after a switch from now on; EtcdError, RequestError.

        All that this one has told the switch is carried out before, and nothing is told after.
        """
        line = self._desk.line(claim.datapath_id)
        self._hand_over(claim, to, line.reason(to, claim.member), reached=True)

    # For who finds that a switch does not hear this member

    def owns(self, datapath_id: int) -> Claim | None:
        """See `unheard.Owner`."""
        owned = self._owned.get(datapath_id)
        return None if owned is None else owned.claim

    def is_heard(self, datapath_id: int, patience: float) -> bool:
        """See `unheard.Owner`."""
        owned = self._owned.get(datapath_id)
        return owned is not None and answers(owned.channel, patience)

    def yield_unheard(self, claim: Claim, to: str) -> None:
        """See `unheard.Owner`."""
        reason = f"{claim.member} did not reach the switch, and {to} does"
        self._hand_over(claim, to, reason, reached=False)

    # What the lease brings

    def leased(self, lease: int) -> None:
        """See `lessee.Heeds`."""
        self.members.register(lease, ofapp.__version__)
        self._wake()

    def lost(self, why: str) -> None:
        """See `lessee.Heeds`."""
        count = len(self._owned)
        message = (
            f"this member holds still, as its lease may be over: {why}; it writes to no switch, "
            f"and lets go of {count}, whose flows stay"
        )
        data = {"member": self.name, "switches": count, "why": why}
        self._tell(None, Event("cluster.lost", message, Severity.ERROR, data=data))
        for owned in list(self._owned.values()):
            owned.channel.hang_up()

    def regained(self) -> None:
        """See `lessee.Heeds`."""
        message = "etcd answers: this member looks after its switches again"
        data = {"member": self.name}
        self._tell(None, Event("cluster.lost.cleared", message, data=data))
        self._wake()

    # Inside

    def _hand_over(self, claim: Claim, to: str, reason: str, reached: bool) -> None:
        """reached: the switch answers, and so tells when it has carried everything out."""
        datapath_id, taker = claim.datapath_id, self.members.get(to)
        owned = self._owned.get(datapath_id)
        if taker is None or owned is None or owned.claim != claim or self._serves is None:
            return
        self._giving.add(datapath_id)
        try:
            self._serves.give_up(owned.channel, f"member {to} looks after the switch now: {reason}")
            if reached:
                Mastership(owned.channel).become_slave()
            self._state.let_go(datapath_id, PATIENCE)
            self.claims.hand_over(claim, taker.lease, to, reason)
        except StaleError as error:
            raise RequestError(str(error)) from None
        finally:
            self._giving.discard(datapath_id)
            self._owned.pop(datapath_id, None)
            owned.channel.hang_up()

    def _heed(self, datapath_id: int, claim: Claim | None) -> None:
        """A switch has another owner, or none."""
        if (candidacy := self._waiting.get(datapath_id)) is not None:
            candidacy.changed.set()
        owned = self._owned.get(datapath_id)
        if owned is not None and claim != owned.claim:
            self._let_go(datapath_id)
        if self._serves is None:
            return
        if claim is None:
            self._serves.expect(datapath_id)
        elif claim.lease != self.lessee.held.number:
            self._serves.let_go(datapath_id)

    def _let_go(self, datapath_id: int) -> None:
        """A switch is not this member's any more."""
        owned = self._owned.get(datapath_id)
        if owned is not None and datapath_id not in self._giving:
            claim = self.claims.of(datapath_id)
            who = "nobody" if claim is None else f"member {claim.member}"
            message = f"the switch is {who}'s now: this member lets go of it"
            self._tell(datapath_id, Event("bridge.lost", message, Severity.WARNING))
            owned.channel.hang_up()

    def _wake(self) -> None:
        for candidacy in self._waiting.values():
            candidacy.changed.set()

    def _release(self, claim: Claim) -> None:
        if claim.datapath_id in self._waiting or claim.datapath_id in self._owned:
            return
        self._state.let_go(claim.datapath_id, PATIENCE)
        try:
            self.claims.release(claim)
        except EtcdError as error:
            LOG.info("the claim of %016x is not released: %s", claim.datapath_id, error)

    def _sweep(self) -> None:
        """Release what was handed over to this member for no use, or could not be released."""
        while True:
            hub.sleep(SWEEP)
            lease = self.lessee.held.number
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

    def _failed(self, error: Exception) -> None:
        message = f"a defect of ofapp: {error!r}; what it was about begins anew"
        self._tell(None, Event("service.fault", message, Severity.ERROR))
