"""One controlled port: the hosts that want in, their limits, and who is admitted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from ofapp.bridge.port_access.answer import NO_RIGHTS, Rights
from ofapp.bridge.port_access.params import PortParams
from ofapp.bridge.port_access.session import START_TOO_EARLY, Session
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import NO_VLAN, PortVlans
from ofapp.bridge.relay.granted import Granted

MOST_CANDIDATES = 4
"""Hosts of a port with one host that are authenticated at the same time, before one of them is
authorised."""
MOST_ENDS = 4
"""Sessions of a port that its hosts may end at once, by logoff, by moving or by another user, and
begin again; with `multi_auth` as many more as the port may have hosts."""
END_INTERVAL = 10.0
"""Seconds after which one more may end: the whole bridge follows the VLANs and rates of hosts."""
RARE = 30.0
"""Seconds between requests for an identity to a port where no host has answered."""


class Limit(Enum):
    """A limit of a port, by the counter of what has exceeded it."""

    HOSTS = "over_limit"
    QUESTIONS = "waited"
    STARTS = START_TOO_EARLY


class AdmittedHost(NamedTuple):
    """One host that is admitted.

    vid: VLAN for its untagged frames, 0 for the port's own; acl: its access list, or empty.
    """

    mac: int
    vid: int = 0
    acl: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """What a controlled port admits; part of the port's desired flows.

    open: all frames; acl: the access list for them, empty for the port's own.
    untagged: only untagged frames of hosts enter, since some hosts have separate VLANs.
    """

    hosts: tuple[AdmittedHost, ...] = ()
    open: bool = False
    untagged: bool = False
    acl: str = ""

    @property
    def lists(self) -> bool:
        """Whether a host has an access list by the server."""
        return bool(self.acl) or any(host.acl for host in self.hosts)


class ControlledPort:
    """The hosts of one port.  counters: what was dropped and decided, by name.

    limited: the limits that were exceeded lately, with the time at which that counts no more.
    ended_until: when the ends of sessions by hosts would be over at one in `END_INTERVAL`.
    waiting: questions about hosts, by MAC address, which wait until others are answered.
    requests: requests for an identity that were sent to all hosts since the link came up;
    identifier: that of the last one; due: when the next one is.
    """

    def __init__(self, port: Port, params: PortParams) -> None:
        self.port = port
        self.params = params
        self.sessions: dict[int, Session] = {}
        self.counters: Counter[str] = Counter()
        self.limited: dict[Limit, float] = {}
        self.ended_until = 0.0
        self.waiting: dict[int, bytes] = {}
        self.requests = 0
        self.identifier = 0
        self.due: float | None = None

    @property
    def granted(self) -> list[Session]:
        """The hosts that are authorised."""
        return [session for session in self.sessions.values() if session.grant is not None]

    @property
    def rights(self) -> list[tuple[int, Rights]]:
        """The hosts that are authorised, by MAC address, with their rights."""
        return [(each.mac, each.grant.rights) for each in self.granted if each.grant is not None]

    @property
    def each_host(self) -> bool:
        """Whether each host is authenticated by itself."""
        return self.params.host_mode == "multi_auth"

    def brings(self, own: PortVlans) -> Granted:
        """What the hosts bring to the port.  own: its VLANs, as configured."""
        its = NO_RIGHTS if self.each_host else next((its for _, its in self.rights), NO_RIGHTS)
        return Granted(self.vlans(own), its.rate_in, its.rate_out)

    @property
    def room(self) -> bool:
        """Whether one more host may be authenticated."""
        if self.each_host:
            return len(self.sessions) < self.params.max_hosts
        return not self.granted and len(self.sessions) < MOST_CANDIDATES

    def note_end(self, at: float) -> None:
        """Note that a host has ended its session."""
        self.ended_until = max(self.ended_until, at) + END_INTERVAL

    def must_rest(self, at: float) -> bool:
        """Whether no host may begin a session now, since hosts have ended too many."""
        most = MOST_ENDS + (self.params.max_hosts if self.each_host else 0)
        return self.ended_until > at + most * END_INTERVAL

    def admission(self, own: PortVlans, granted: PortVlans | None) -> Admission:
        """What the switch is to admit.

        own: the port's VLANs, as configured; granted: those that hold in their place now.  A host
        whose VLAN does not hold yet waits.
        """
        if not self.each_host:
            if self.vlans(own) != granted:
                return Admission()
            hosts = [AdmittedHost(mac, 0, its.acl) for mac, its in self.rights[:1]]
            if self.params.host_mode == "multi" and hosts:
                return Admission(open=True, acl=hosts[0].acl)
            return Admission(tuple(hosts))
        there = {0} if granted is None else {0, *granted.untagged}
        hosts = [AdmittedHost(mac, its.vid or 0, its.acl) for mac, its in self.rights]
        untagged = not own.tagged and any(host.vid for host in hosts)
        return Admission(
            tuple(sorted(host for host in hosts if host.vid in there)), False, untagged
        )

    def vlans(self, own: PortVlans) -> PortVlans | None:
        """The VLANs of the port by the rights of its hosts; None: its own, as configured."""
        if not self.each_host:
            return next((its.vlans(own) for _, its in self.rights), None)
        given = frozenset(its.vid for _, its in self.rights if its.vid is not None)
        if not given:
            return None
        if own.vids is None:
            own = PortVlans(frozenset(), frozenset(), NO_VLAN)
        members = (own.vids or frozenset()) | given
        return replace(own, vids=members, untagged=own.untagged | given, tagged=True)

    def count(self, name: str) -> None:
        """Count what was dropped or decided."""
        self.counters[name] += 1

    def invite(self) -> int:
        """The identifier of a new request for an identity to all hosts."""
        self.requests += 1
        self.identifier = (self.identifier + 1) & 0xFF
        return self.identifier

    @property
    def pause(self) -> float:
        """Seconds until the next such request."""
        period = float(self.params.tx_period)
        return period if self.requests < self.params.max_requests else max(period, RARE)
