"""A switch that its owner cannot reach any more, though both of them are well.

The owner renews the lease that the switch itself keeps each second, and other members see there how
old it is.  Where it is too old, one of them tells the owner through etcd that the switch does not
hear it.  The owner asks the switch; if that does not answer it hands the switch to who told it.  So
nobody loses a switch on somebody else's word, a switch that is busy is busy to all of them, and the
owner need not wait for as long as it gives a switch whose only controller it is.
"""

from __future__ import annotations

import logging
from typing import Protocol

from ofapp.common import hub
from ofapp.controller.cluster.claims import Claim
from ofapp.controller.cluster.etcd import Changes, Etcd, EtcdError
from ofapp.controller.cluster.keys import Keys, Said
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)

SILENT = 1.5
"""Seconds since the lease in the switch was renewed that are too many: it is done each second."""

ANSWER = 0.7
"""Seconds for a switch to answer its owner."""


class Owner(Protocol):
    """A member, as far as it is asked here.  name: its own."""

    name: str

    @property
    def lease(self) -> int:
        """Etcd's number; 0 while there is none that may be counted on."""

    def owns(self, datapath_id: int) -> Claim | None:
        """The claim of a switch that this member looks after."""

    def is_heard(self, datapath_id: int, patience: float) -> bool:
        """Whether the switch answers this member."""

    def yield_unheard(self, claim: Claim, to: str) -> None:
        """Have another member look after a switch that does not answer; EtcdError, RequestError."""


class Unheard:
    """Of one member."""

    def __init__(self, etcd: Etcd, keys: Keys, member: Owner) -> None:
        self._etcd = etcd
        self._prefix = keys.unheard
        self._member = member
        self._asked: set[Said] = set()

    def start(self) -> None:
        """Hear of what others tell."""
        self._etcd.watch(self._prefix, self._heed)

    def tell(self, datapath_id: int) -> None:
        """The owner is not heard by a switch; EtcdError."""
        if lease := self._member.lease:
            self._etcd.put(self._key(datapath_id), b"", lease)

    def take_back(self, datapath_id: int) -> None:
        """It is, or it is not the owner any more; EtcdError."""
        self._etcd.delete(self._key(datapath_id))

    # Inside

    def _key(self, datapath_id: int) -> str:
        return Said(datapath_id, self._member.name).key(self._prefix)

    def _heed(self, changes: Changes) -> None:
        for change in changes.changes:
            told = Said.read(self._prefix, change.key)
            if change.record is not None and told is not None and told not in self._asked:
                hub.spawn(self._consider, told)

    def _consider(self, told: Said) -> None:
        claim = self._member.owns(told.datapath_id)
        if claim is None or told.member == self._member.name:
            return
        self._asked.add(told)
        try:
            if not self._member.is_heard(claim.datapath_id, ANSWER):
                self._member.yield_unheard(claim, told.member)
        except (EtcdError, RequestError) as error:
            LOG.warning("the switch %016x does not answer, and stays: %s", claim.datapath_id, error)
        finally:
            self._asked.discard(told)
