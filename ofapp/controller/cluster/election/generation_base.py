"""Offset of generation_ids for a switch that has seen higher ones from another source.

A term is a revision of etcd; with the number of etcd's history it makes the generation_id
(`history`).  A switch refuses one below the highest it has seen, until it restarts.  It may have
seen higher ones: of an etcd that was wiped when no member ran that knew its history, or of
controllers outside the cluster, which count by themselves.  Then the owner of the current claim,
and no other member, stores an offset for this switch.  It is only read after a switch has refused,
and so costs nothing otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.common.request_error import RequestError
from ofapp.controller.cluster.election.ownership import Claim, Claims
from ofapp.controller.cluster.etcd.etcd import Etcd, Put
from ofapp.controller.cluster.etcd.keys import Keys
from ofapp.controller.member_events import CLUSTER_TERM
from ofapp.controller.state.saving import Emit

_ALL = 1 << 64
"""Number of generation_ids; they are compared as sequence numbers."""


@dataclass(frozen=True, slots=True)
class GenerationBase:
    """Offset of one switch."""

    value: int = 0

    def generation(self, term: int) -> int:
        """The generation_id for the switch; own: the one without an offset."""
        return (self.value + term) % _ALL

    def is_above(self, term: int, seen: int) -> bool:
        """Whether a switch that has seen generation `seen` accepts `term` with the offset."""
        return (self.generation(term) - seen) % _ALL < _ALL // 2


class GenerationBases:
    """Offsets of the switches of one cluster."""

    def __init__(self, etcd: Etcd, keys: Keys, claims: Claims, emit: Emit) -> None:
        self._etcd = etcd
        self._keys = keys
        self._claims = claims
        self._emit = emit

    def above(self, claim: Claim, term: int, seen: int) -> GenerationBase:
        """An offset with which the switch accepts the claim; own: its generation without offset.

        EtcdError; RequestError if another member has the claim meanwhile.
        """
        key = self._keys.base(claim.datapath_id)
        record = self._etcd.get(key)
        base = (
            GenerationBase(int(record.value))
            if record is not None and record.value.isdigit()
            else GenerationBase()
        )
        if base.value and base.is_above(term, seen):
            return base
        base = GenerationBase(seen)
        put = Put(key, str(base.value).encode())
        if not self._etcd.transact([self._claims.condition(claim)], [put]).done:
            raise RequestError("the switch was claimed by another member meanwhile")
        message = (
            f"the switch had seen the higher generation_id {seen} from another controller: "
            "ours start above it now"
        )
        self._emit(claim.datapath_id, CLUSTER_TERM.event(message))
        return base
