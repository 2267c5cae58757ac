"""Switches go to the members they fall to, one after another, without a moment of two owners.

A member that finds itself before a switch's owner in line asks for it: by a record in etcd, under
its own lease.  It asks for one at a time, and for the next when that one is in line.  The owner
gives it away when it is in line, too: all that it has sent is carried out, then it hands its claim
over.  So a member that comes takes its share from all others, and one that is drained is asked for
all it has.
"""

from __future__ import annotations

import logging
from typing import Protocol

from ofapp.common import hub
from ofapp.controller.cluster.claims import Claim
from ofapp.controller.cluster.etcd import Changes, Etcd, EtcdError
from ofapp.controller.cluster.keys import Keys, Said
from ofapp.controller.cluster.tenure import clock
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)

LOOK = 0.5
"""Seconds between looks whether there is something to ask for, or to give."""

PATIENCE = 10.0
"""Seconds for the owner to give a switch, and for it to be in line."""

TURN = 2.0
"""Seconds that each in the line leaves to the one before it, to ask."""


class Serves(Protocol):
    """A member, as far as it is asked here.  name: its own."""

    name: str

    @property
    def lease(self) -> int:
        """Etcd's number; 0 while there is none that may be counted on."""

    def serves(self, datapath_id: int) -> Claim | None:
        """The claim of a switch that this member looks after and that is in line."""

    def could_serve(self) -> list[Claim]:
        """Those of the switches that another member looks after, and this one could."""

    def before(self, name: str, claim: Claim) -> int | None:
        """How many should rather have a switch than this member; None where its owner should."""

    def give(self, claim: Claim, to: str) -> None:
        """Have another member look after a switch from now on; EtcdError, RequestError."""


class Moves:
    """Of one member."""

    def __init__(self, etcd: Etcd, keys: Keys, member: Serves) -> None:
        self._etcd = etcd
        self._prefix = keys.wanted
        self._member = member
        self._wanted: set[Said] = set()
        self._since: dict[int, float] = {}  # since when a switch could be asked for
        self._news = hub.Event()

    def start(self) -> None:
        """Hear of what is asked for."""
        self._etcd.watch(self._prefix, self._heed)

    def ask(self) -> None:
        """Ask for what falls to this member, one switch after another; does not end."""
        while True:
            claim = self._next()
            if claim is None or not self._got(claim):
                hub.sleep(LOOK)

    def grant(self) -> None:
        """Give what others ask for, one switch after another; does not end."""
        while True:
            self._news.wait(LOOK)
            self._news.clear()
            for wanted in sorted(self._wanted):
                self._consider(wanted)

    # Inside

    def _next(self) -> Claim | None:
        """The claim of a switch to ask for now."""
        member, now = self._member, clock()
        turns = {claim: member.before(member.name, claim) for claim in member.could_serve()}
        due = {claim: turn for claim, turn in turns.items() if turn is not None}
        self._since = {own.datapath_id: self._since.get(own.datapath_id, now) for own in due}
        return next(
            (own for own, turn in due.items() if now - self._since[own.datapath_id] >= turn * TURN),
            None,
        )

    def _got(self, claim: Claim) -> bool:
        try:
            return self._ask_for(claim)
        except EtcdError as error:
            LOG.info("the switch %016x is not asked for: %s", claim.datapath_id, error)
            return False

    def _ask_for(self, claim: Claim) -> bool:
        lease = self._member.lease
        if not lease:
            return False
        key = Said(claim.datapath_id, self._member.name).key(self._prefix)
        self._etcd.put(key, b"", lease)
        end, got = clock() + PATIENCE, False
        while clock() < end and not got:
            hub.sleep(LOOK / 10)
            got = self._member.serves(claim.datapath_id) is not None
        self._since.pop(claim.datapath_id, None)
        self._etcd.delete(key)
        return got

    def _consider(self, wanted: Said) -> None:
        claim, name = self._member.serves(wanted.datapath_id), wanted.member
        if claim is None or name == self._member.name or self._member.before(name, claim) is None:
            return
        try:
            self._member.give(claim, name)
        except (EtcdError, RequestError) as error:
            LOG.warning("the switch %016x was not given to %s: %s", claim.datapath_id, name, error)

    def _heed(self, changes: Changes) -> None:
        if changes.whole:
            self._wanted.clear()
        for change in changes.changes:
            if (wanted := Said.read(self._prefix, change.key)) is None:
                continue
            if change.record is None:
                self._wanted.discard(wanted)
            else:
                self._wanted.add(wanted)
        self._news.set()
