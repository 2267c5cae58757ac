"""What is added to the terms of a switch that was told of later ones by somebody else.

A term is a revision of etcd, and a switch takes none that is below one it has seen, until it is
started anew.  It may have seen higher ones: of another etcd, before this one was made afresh, or of
controllers in no cluster, which count by themselves.  Then the owner, and nobody but the owner of
that very claim, writes down how far terms are to be moved up for this switch; it is only read where
a switch has refused, and so costs nothing where nothing of that kind was.
"""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.bridge.event import Event, Severity
from ofapp.controller.cluster.claims import Claim, Claims
from ofapp.controller.cluster.etcd import Etcd, Put
from ofapp.controller.cluster.keys import Keys
from ofapp.controller.cluster.members import Tell
from ofapp.openflow.wire.requests import RequestError

_ALL = 1 << 64
"""How many generations there are; they are compared as the numbers of a sequence."""


@dataclass(frozen=True, slots=True)
class Base:
    """Of one switch."""

    value: int = 0

    def generation(self, term: int) -> int:
        """The generation_id of a term."""
        return (self.value + term) % _ALL

    def is_above(self, term: int, seen: int) -> bool:
        """Whether a switch that has seen this generation takes the term's."""
        return (self.generation(term) - seen) % _ALL < _ALL // 2


class Bases:
    """Of one cluster."""

    def __init__(self, etcd: Etcd, keys: Keys, claims: Claims, tell: Tell) -> None:
        self._etcd = etcd
        self._keys = keys
        self._claims = claims
        self._tell = tell

    def above(self, claim: Claim, seen: int) -> Base:
        """One with which the switch takes the claim's term.

        EtcdError; RequestError where the claim is another's meanwhile.
        """
        key = self._keys.base(claim.datapath_id)
        found = self._etcd.get(key)
        base = Base(int(found.value)) if found is not None and found.value.isdigit() else Base()
        if base.value and base.is_above(claim.term, seen):
            return base
        base = Base(seen)
        put = Put(key, str(base.value).encode())
        if not self._etcd.transact([self._claims.condition(claim)], [put]).done:
            raise RequestError("the switch was claimed by another member meanwhile")
        message = (
            f"the switch had been told of the later term {seen} by somebody else: terms begin "
            "above it now"
        )
        self._tell(claim.datapath_id, Event("cluster.term", message, Severity.WARNING))
        return base
