"""The querier of a VLAN: this bridge, another one, or none (RFC 3376 6.6.2, RFC 3810 7.6.2).

Snooping restricts nothing until there is a querier, and for one response time longer, so that the
reports are in before the first stream is restricted to its members (as the Linux bridge does).

A query from 0.0.0.0 or :: is a proxy's, or that of a bridge without an address, such as every Linux
bridge with mcast_querier. It wins no election, replaces no better querier and makes no router port
(RFC 4541 2.1.1(1)b, (4), 3). But hosts answer it, so without a better querier it is as good a
reason to restrict. The proxy must then get the reports, and the streams as well: Linux forwards
IGMPv1/v2 and MLDv1 reports only towards routers, so the members behind it are not known here.
`askers` are the ports where that is so.
"""

from math import inf

from ofapp.bridge.event import PortNumber
from ofapp.bridge.multicast.effects import SendFrame
from ofapp.bridge.multicast.encode import QuerySpec, encode_query
from ofapp.bridge.multicast.events import MCAST_QUERIER
from ofapp.bridge.multicast.message import Query
from ofapp.bridge.multicast.scope import Scope
from ofapp.bridge.multicast.timers import ScopeKey, Timed
from ofapp.bridge.packet.address import (
    ANY4,
    PROXY_SOURCE,
    PROXY_SOURCES,
    UNSPECIFIED,
    Family,
    link_local6,
    parse,
    text,
)


class Querier(Timed):
    """Querier state of one VLAN and family.

    other: address of the elected other querier; None when there is none. After a restart it is
    `b""`: there was one, whose address is not known. An unspecified address: only proxies query.
    askers: ports with a proxy querier, and when it expires; empty once there is a better querier.
    active_at: when restricting may begin; infinity without a querier. active: it has begun.

    After each call the caller checks `active`, `askers` and the deadline.
    """

    __slots__ = (
        "active",
        "active_at",
        "address",
        "asked_at",
        "askers",
        "enabled",
        "hurried_at",
        "last",
        "next_query",
        "other",
        "other_port",
        "other_until",
        "startup_left",
    )

    def __init__(self, place: ScopeKey, family: Family) -> None:
        super().__init__(place)
        self.enabled = False
        self.active = False
        self.address = UNSPECIFIED[family]
        self.other: bytes | None = None
        self.other_port: int | None = None
        self.other_until = inf
        self.last: Query | None = None  # the elected other querier's last general query
        self.askers: dict[int, float] = {}
        self.active_at = inf
        self.next_query = inf
        self.startup_left = 0
        self.asked_at = -inf  # the last general query, ours or another's
        self.hurried_at = -inf  # our last one with a short response time

    @property
    def is_querier(self) -> bool:
        """Whether this bridge is the querier."""
        return self.enabled and self.other is None

    def configure(self, scope: Scope, now: float) -> None:
        """Set our own querier on or off, and its address; it starts as in RFC 3376 8.6, 8.7."""
        params, enabled = scope.params, scope.params.mcast_querier
        if scope.family is Family.IPV4:
            self.address = parse(params.mcast_querier_address4)
        elif params.mcast_querier_address6:
            self.address = parse(params.mcast_querier_address6)
        else:
            self.address = link_local6(scope.shared.mac)
        if enabled == self.enabled:
            if self._proper:
                self.askers.clear()
            return
        self.enabled = enabled
        if enabled and (self.other is None or (self.other and self._beats(self.other))):
            self.other, self.last, self.other_until = None, None, inf
            self._start(scope, now)
            if self._proper:
                self.askers.clear()
        elif not enabled and self.other is None:
            self.next_query = self.active_at = inf
            self.active = False

    def _beats(self, address: bytes) -> bool:
        """Whether we win against another: the lowest address wins, but a proxy never does."""
        return address in PROXY_SOURCES or (self.address != ANY4 and self.address < address)

    @property
    def _proper(self) -> bool:
        """Whether there is a known querier, or we are it, with an address that can win."""
        if self.other is None:
            return self.enabled and self.address != ANY4
        return bool(self.other) and self.other not in PROXY_SOURCES

    def _start(self, scope: Scope, now: float) -> None:
        self.startup_left = scope.params.mcast_startup_query_count
        self.next_query = now
        if self.active_at == inf:
            self.active_at = now + scope.params.mcast_query_response_interval

    # Other queriers.

    def heard(self, scope: Scope, query: Query, port: int, now: float) -> bool:
        """Handle a general query; returns whether a router may have sent it."""
        self.asked_at = now
        source = query.source
        proxy = source in PROXY_SOURCES
        if proxy:
            if self._proper:
                return False
            if scope.shared.ports[port].params.router(scope.vid):
                self.askers[port] = now + self.hold(scope, query)
            if self.enabled:
                return False  # we are the querier, with an address that is no better
        elif self.enabled and source == self.address:
            return False
        elif self.other is None:
            if self.enabled and self._beats(source):
                return True
        elif self._proper and source > self.other:
            return True
        # No event for each address: one host could forge a lower one with every frame. Nor for
        # every proxy, as none is better than another.
        changed = self.other is None or port != self.other_port
        if proxy and self.other in PROXY_SOURCES and self.other_port in self.askers:
            changed, port = False, self.other_port
        self.other, self.other_port, self.last = source, port, query
        if not proxy:
            self.askers.clear()
        self.other_until = now + self.hold(scope, query)
        self.next_query = inf
        self.startup_left = 0
        if self.active_at == inf:
            self.active_at = now + query.max_resp
        if changed:
            who = text(source)
            message = f"querier is {who} at ", PortNumber(port)
            scope.emit(MCAST_QUERIER, message, port, querier=who)
        return not proxy

    def hold(self, scope: Scope, query: Query) -> float:
        """Seconds until a querier expires: by its own values, if that is longer than by ours.

        (RFC 3376 4.1.6, 4.1.7, 8.5.) At most ten times ours: one forged query must not last days.
        """
        ours = scope.params.mcast_querier_interval
        return max(ours, min(10 * ours, query.qrv * query.qqi + query.max_resp / 2))

    def membership_interval(self, scope: Scope) -> float:
        """Group membership interval (RFC 3376 8.4), no shorter than the querier needs."""
        ours = scope.params.mcast_membership_interval
        last = self.last
        if last is None:
            return ours
        return max(ours, min(10 * ours, last.qrv * last.qqi + last.max_resp))

    def restored(self, scope: Scope, now: float) -> None:
        """Restore: a switch already restricts, so there was a querier. Keep that, and query."""
        self.active_at = now
        if not self.enabled:
            self.other = b""
            self.other_until = now + scope.params.mcast_querier_interval
        if self.asked_at != now:
            self.startup_left = scope.params.mcast_startup_query_count
            self.next_query = now

    # Queries.

    def ask_again(self, scope: Scope, now: float) -> None:
        """Query at once after a topology change, and again after the startup interval.

        As a proxy if another is the querier (RFC 4541 2.1.1(4)). Not where nothing is restricted,
        and not before answers to the last query can have come.
        """
        if self.active_at == inf:
            return
        params = scope.params
        self.startup_left = params.mcast_startup_query_count
        soonest = max(now, self.hurried_at + params.mcast_last_member_interval)
        self.next_query = min(self.next_query, soonest)

    def ask_port(self, scope: Scope, port: int) -> None:
        """Query a port that began to forward, unless a proxy queries there itself.

        Linux takes 0.0.0.0 for the lowest address, and would stop its queries [measured].
        """
        if self.active_at != inf and port not in self.askers:
            self._send_general(scope, frozenset((port,)), quick=True)

    def _send_general(self, scope: Scope, ports: frozenset[int], quick: bool) -> None:
        """Send a general query. quick: responses within a last-member interval, as streams wait."""
        params = scope.params
        version, qrv, qqi = scope.version, 2, params.mcast_query_interval
        source = self.address
        if self.other is not None:
            source = PROXY_SOURCE[scope.family]
            if self.last is not None:
                # RFC 4541 2.1.1(4): a proxy query has the values of the true querier, in no newer
                # version than is configured.
                version = min(version, self.last.version)
                qrv, qqi = self.last.qrv or qrv, self.last.qqi or qqi
        resp = params.mcast_last_member_interval if quick else params.mcast_query_response_interval
        if ports:
            everything = UNSPECIFIED[scope.family]
            spec = QuerySpec(scope.family, version, everything, (), resp, False, qrv, qqi)
            _send(scope, spec, source, ports)

    def send_specific(
        self, scope: Scope, group: bytes, sources: tuple[bytes, ...], suppress: bool, port: int
    ) -> None:
        """Query the port of a leave for remaining members."""
        if port in scope.live:
            params = scope.params
            spec = QuerySpec(
                scope.family,
                scope.version,
                group,
                sources,
                params.mcast_last_member_interval,
                suppress,
                2,
                params.mcast_query_interval,
            )
            _send(scope, spec, self.address, frozenset((port,)))

    # Time.

    def deadline(self) -> float:
        """See Timed."""
        first = min(self.next_query, self.other_until, *self.askers.values())
        return first if self.active else min(first, self.active_at)

    def expire(self, scope: Scope, now: float) -> None:
        """Do what is due."""
        if self.other_until <= now:
            self._other_gone(scope, now)
        if any(until <= now for until in self.askers.values()):
            self.askers = {port: until for port, until in self.askers.items() if until > now}
        if self.active_at <= now:
            self.active = True
        if self.next_query <= now:
            self._query(scope, now)

    def _other_gone(self, scope: Scope, now: float) -> None:
        self.other, self.last, self.other_port = None, None, None
        self.other_until = inf
        if self.enabled:
            message = "querier went silent; this bridge takes over"
            self._start(scope, now)
        else:
            message = "querier went silent; multicast floods"
            self.next_query = self.active_at = inf
            self.active = False
        scope.emit(MCAST_QUERIER, message, None, querier=None)

    def _query(self, scope: Scope, now: float) -> None:
        params, ports = scope.params, scope.live
        if scope.uncertain:
            self.hurried_at = now
        if self.other is not None:
            ports = ports - scope.learned_routers - self.askers.keys()
        self._send_general(scope, ports, scope.uncertain)
        self.asked_at = now
        if self.startup_left > 1:
            self.startup_left -= 1
            self.next_query = now + params.mcast_startup_query_interval
        else:
            self.startup_left = 0
            self.next_query = now + params.mcast_query_interval if self.is_querier else inf

    def stop(self) -> None:
        """Reset, as snooping was turned off: there is no querier."""
        self.enabled = self.active = False
        self.other, self.last, self.other_port = None, None, None
        self.other_until = self.active_at = self.next_query = inf
        self.askers.clear()
        self.startup_left = 0


def _send(scope: Scope, spec: QuerySpec, source: bytes, ports: frozenset[int]) -> None:
    """Send a query and count it for each port."""
    shared = scope.shared
    name = f"tx_{'igmp' if spec.family is Family.IPV4 else 'mld'}_v{spec.version}_query"
    for port in ports:
        shared.ports[port].count(name)
    shared.out.append(SendFrame(scope.vid, ports, encode_query(spec, shared.mac, source)))
