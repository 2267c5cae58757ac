"""The API's view of a cluster: members, owners of switches, and requests to members.

A member authenticates by its signature, by its record in etcd, and, where the cluster has
certificates, by one with its name.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from ofapp.common import hub
from ofapp.common.rate_limited import rate_limited
from ofapp.controller.cluster.cluster import Cluster
from ofapp.controller.cluster.election.claims import Claims
from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.invalid import InvalidKeys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.requests import Credentials, Peers
from ofapp.controller.cluster.peers.signing import Asked, Caller, ForgedError, Verifier

LOG = rate_limited(__name__)

ASKED = 0.5
"""Seconds for etcd to answer about leases."""


@dataclass(frozen=True, slots=True)
class Place:
    """Listener for members; port: 0 for any free one; credentials: None = without TLS."""

    host: str
    port: int = 0
    credentials: Credentials | None = None


@dataclass(frozen=True)
class Surface:
    """One cluster, as one member sees it."""

    cluster: Cluster
    place: Place
    peers: Peers = field(init=False)
    _verifier: Verifier = field(init=False, default_factory=Verifier)

    def __post_init__(self) -> None:
        object.__setattr__(self, "peers", Peers(self.members, self.place.credentials))

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.cluster.cluster

    @property
    def members(self) -> Members:
        """Members of the cluster."""
        return self.cluster.members

    @property
    def claims(self) -> Claims:
        """Owners of the switches."""
        return self.cluster.claims

    @property
    def invalid(self) -> InvalidKeys:
        """Keys of the cluster in etcd that are set aside."""
        return self.cluster.history.etcd.invalid

    def renewed(self) -> float | None:
        """Seconds since etcd renewed this member's lease last; None while it has none."""
        asked = self.cluster.lessee.renewed
        return None if asked is None else max(0.0, round(clock() - asked, 3))

    def leases(self) -> dict[int, float]:
        """Seconds until each member's lease ends, by its ID, by etcd's clock.

        Leases for which etcd does not answer in time are left out; no request waits for them.
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
        """State of this member in the cluster, in words."""
        if why := self.cluster.history.recovering:
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
        if not self.cluster.lessee.holds:
            what = self.cluster.health.too_slow or "etcd does not answer"
            return f"{what}: this member is on standby, and flows stay as they are"
        if not self.cluster.current:
            return "etcd answers again; changes of other members have not been read yet"
        return "this member renews its lease, and serves the switches that it owns"

    def stale(self) -> str:
        """Why this member's knowledge may be old; empty if it is not."""
        return "" if self.cluster.current else self.told()

    def announce(self, address: str) -> None:
        """Publish the address of this member's listener to the others."""
        try:
            self.members.announce(address)
        except EtcdError as error:
            LOG.info("the address is published with the next lease: %s", error)

    def owner(self, datapath_id: int) -> str | None:
        """The owner of a switch, if it is another member; otherwise None."""
        claim = self.claims.of(datapath_id)
        return None if claim is None or claim.member == self.members.own else claim.member

    def admit(
        self, header: str, asked: Asked, certified: Collection[str] | None
    ) -> tuple[str, Caller]:
        """The member that sent a request, and its client; ForgedError.

        certified: the names in its certificate; None without TLS.
        """
        try:
            secret = self.members.secret()
        except EtcdError as error:
            raise ForgedError(f"no member can be authenticated without etcd: {error}") from None
        name, caller = self._verifier.verify(secret, header, asked, time.time())
        if self.members.get(name) is None:
            raise ForgedError(f"the cluster has no member {name}")
        if certified is not None and name not in certified:
            raise ForgedError(f"the certificate of member {name} is one of {', '.join(certified)}")
        return name, caller
