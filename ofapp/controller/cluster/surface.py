"""What the API needs of a cluster: who is there, who looks after what, and how to ask them.

A member that asks shows that it is one: by its signature, by being in the list that etcd has now,
and where the cluster has certificates by one that names it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from ofapp.common import hub
from ofapp.controller.cluster.claims import Claims
from ofapp.controller.cluster.cluster import Cluster
from ofapp.controller.cluster.etcd import EtcdError
from ofapp.controller.cluster.members import Members
from ofapp.controller.cluster.peers import Credentials, Peers
from ofapp.controller.cluster.signing import Asked, Caller, ForgedError, Verifier
from ofapp.controller.cluster.tenure import clock

LOG = logging.getLogger(__name__)

ASKED = 0.5
"""Seconds for etcd to tell of leases, when somebody looks."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where members are listened for; port: 0 for any free one; credentials: None = in clear."""

    host: str
    port: int = 0
    credentials: Credentials | None = None


@dataclass(frozen=True)
class Surface:
    """Of one cluster, as one member sees it."""

    cluster: Cluster
    place: Place
    peers: Peers = field(init=False)
    _verifier: Verifier = field(init=False, default_factory=Verifier)

    def __post_init__(self) -> None:
        object.__setattr__(self, "peers", Peers(self.members, self.place.credentials))

    @property
    def name(self) -> str:
        """The cluster's."""
        return self.cluster.cluster

    @property
    def members(self) -> Members:
        """Who is there."""
        return self.cluster.members

    @property
    def claims(self) -> Claims:
        """Who looks after which switch."""
        return self.cluster.claims

    def renewed(self) -> float | None:
        """Seconds since etcd renewed this member's lease last; None while it has none."""
        asked = self.cluster.lessee.renewed
        return None if asked is None else max(0.0, round(clock() - asked, 3))

    def leases(self) -> dict[int, float]:
        """For how many seconds each member's lease lives on, by its number, as etcd counts them.

        None of those of which etcd does not tell in time; nobody waits for one that is away.
        """

        def ask(lease: int) -> float | None:
            try:
                return self.cluster.lessee.remaining(lease, ASKED)
            except EtcdError:
                return None

        if not self.cluster.lessee.holds:
            return {}
        there = {one.lease for one in self.members.all() if one.gone is None}
        told = hub.at_once(ask, there, ASKED)
        return {lease: seconds for lease, seconds in told.items() if seconds is not None}

    def told(self) -> str:
        """How it stands, in words."""
        if not self.claims.known:
            return "etcd has not told yet who is there and who looks after what"
        if not self.cluster.lessee.holds:
            return "etcd does not answer: this member holds still, and flows stay as they are"
        return "this member renews its lease, and looks after the switches that are its own"

    def announce(self, address: str) -> None:
        """Tell the others where this member listens for them."""
        try:
            self.members.announce(address)
        except EtcdError as error:
            LOG.info("the address is told with the next lease: %s", error)

    def owner(self, datapath_id: int) -> str | None:
        """The other member that looks after a switch; None where it is this one, or nobody."""
        claim = self.claims.of(datapath_id)
        return None if claim is None or claim.member == self.members.own else claim.member

    def admit(
        self, header: str, asked: Asked, certified: Collection[str] | None
    ) -> tuple[str, Caller]:
        """Which member asks, and for whom; ForgedError.

        certified: whom its certificate names; None where there is no TLS.
        """
        try:
            secret = self.members.secret()
        except EtcdError as error:
            raise ForgedError(f"nobody can be known while etcd is away: {error}") from None
        name, caller = self._verifier.verify(secret, header, asked, time.time())
        if self.members.get(name) is None:
            raise ForgedError(f"there is no member {name} in the cluster's list")
        if certified is not None and name not in certified:
            raise ForgedError(f"the certificate of member {name} is one of {', '.join(certified)}")
        return name, caller
