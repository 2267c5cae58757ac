"""The API's view of a cluster: members, owners of switches, and requests to members.

A member authenticates by the certificate in its record in etcd, checked at each request.
"""

from __future__ import annotations

import ssl
from collections import Counter
from typing import NamedTuple

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.controller.cluster.cluster import Cluster
from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.election.ownership import Claims
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.etcd.invalid import InvalidKeys
from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.requests import Peers

LOG = rate_limited(__name__)

ASKED = 0.5
"""Seconds for etcd to answer about leases."""


class PeerListener(NamedTuple):
    """Listener for members; port: 0 for any free one."""

    host: str
    port: int = 0


class Surface:
    """One cluster, as one member sees it.

    refused: connections and requests that the listener for members has refused, by reason.
    """

    def __init__(self, cluster: Cluster, place: PeerListener) -> None:
        self.cluster = cluster
        self.place = place
        self.peers = Peers(self.members)
        self.refused: Counter[str] = Counter()
        self._trusted: tuple[frozenset[bytes], ssl.SSLContext] | None = None

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
        asked = self.cluster.lease_keeper.renewed
        return None if asked is None else max(0.0, round(clock() - asked, 3))

    def leases(self) -> dict[int, float]:
        """Seconds until each member's lease ends, by its ID, by etcd's clock.

        Leases for which etcd does not answer in time are left out; no request waits for them.
        """

        def ask(lease: int) -> float | None:
            try:
                return self.cluster.lease_keeper.remaining(lease, ASKED)
            except EtcdError:
                return None

        if not self.cluster.lease_keeper.holds:
            return {}
        there = {one.lease for one in self.members.all() if one.gone is None}
        remaining = hub.at_once(ask, there, ASKED)
        return {lease: seconds for lease, seconds in remaining.items() if seconds is not None}

    def describe(self) -> str:
        """State of this member in the cluster, in words."""
        return self.cluster.describe()

    def stale(self) -> str:
        """Why this member's knowledge may be old; empty if it is not."""
        return "" if self.cluster.current else self.describe()

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

    def context(self) -> ssl.SSLContext:
        """TLS context for the next connection of a member: only present ones can connect."""
        present = frozenset(one.certificate for one in self.members.others())
        if self._trusted is None or self._trusted[0] != present:
            self._trusted = present, self.members.identity.server(present - {b""})
        return self._trusted[1]

    def member_of(self, certificate: bytes | None) -> str | None:
        """Name of the present member that has this certificate (DER); None if there is none.

        Checked at each request: a connection may outlast the lease of its member.
        """
        for one in self.members.others():
            if certificate and one.certificate == certificate:
                return one.name
        self.refused["stranger"] += 1
        return None
