"""Who asks on a VLAN: this bridge, another querier, or nobody (RFC 3376 6.6.2, RFC 3810 7.6.2).

Snooping restricts nothing until somebody asks, and for one response time longer, so that the
answers are in before the first stream is cut to its members (as the Linux bridge does).

A query from 0.0.0.0 or :: is a proxy's, or that of a bridge without an address, such as every Linux
bridge with mcast_querier. It wins no election, ends no better querier's reign and makes no router
port (RFC 4541 2.1.1(1)b, (4), 3). But hosts answer it, so where nobody better asks it is as good a
reason to restrict; and who asks must then get the reports, and the streams as well, because a
bridge keeps reports to itself: Linux passes IGMPv1/v2 and MLDv1 reports on only towards routers, so
the members behind it are not known here. `askers` are the ports where that is so.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ofapp.bridge.event import Severity
from ofapp.bridge.multicast.address import (
    ANY4,
    PROXY_SOURCE,
    PROXY_SOURCES,
    UNSPECIFIED,
    Family,
    link_local6,
    parse,
    text,
)
from ofapp.bridge.multicast.effects import SendFrame
from ofapp.bridge.multicast.encode import QuerySpec, encode_query
from ofapp.bridge.multicast.message import Query
from ofapp.bridge.multicast.timers import Timed

if TYPE_CHECKING:
    from ofapp.bridge.multicast.context import Context


class Querier(Timed):
    """Querier state of one VLAN and family.

    other: address of the elected other querier; None when there is none. After a restart it is
    `b""`: somebody asked before, and we do not know who. An unspecified address: only proxies ask.
    askers: ports where a proxy asks, and until when to believe it; empty once somebody better asks.
    active_at: when restricting may begin; infinity while nobody asks.
    """

    __slots__ = (
        "active_at",
        "address",
        "asked_at",
        "askers",
        "context",
        "enabled",
        "hurried_at",
        "last",
        "next_query",
        "other",
        "other_port",
        "other_until",
        "startup_left",
    )

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.enabled = False
        self.address = UNSPECIFIED[context.family]
        self.other: bytes | None = None
        self.other_port: int | None = None
        self.other_until = inf
        self.last: Query | None = None  # the elected other querier's last general query
        self.askers: dict[int, float] = {}
        self.active_at = inf
        self.next_query = inf
        self.startup_left = 0
        self.asked_at = -inf  # the last general query anybody sent
        self.hurried_at = -inf  # our last one that wanted quick answers

    @property
    def is_querier(self) -> bool:
        """Whether it is for us to ask."""
        return self.enabled and self.other is None

    def configure(self, enabled: bool, now: float) -> None:
        """Our own querier on or off, and its address; starts as RFC 3376 8.6, 8.7 say."""
        context = self.context
        params = context.params
        if context.family is Family.IPV4:
            self.address = parse(params.mcast_querier_address4)
        elif params.mcast_querier_address6:
            self.address = parse(params.mcast_querier_address6)
        else:
            self.address = link_local6(context.core.mac)
        if enabled == self.enabled:
            if self._proper:
                self._forget_askers()
            return
        self.enabled = enabled
        if enabled and (self.other is None or (self.other and self._beats(self.other))):
            self.other, self.last, self.other_until = None, None, inf
            self._start(now)
            if self._proper:
                self._forget_askers()
        elif not enabled and self.other is None:
            self.next_query = self.active_at = inf
            context.set_active(False)
        context.core.timers.update(self)

    def _beats(self, address: bytes) -> bool:
        """Whether we win against another: the lowest wins, but a proxy stands in nobody's way."""
        return address in PROXY_SOURCES or (self.address != ANY4 and self.address < address)

    @property
    def _proper(self) -> bool:
        """Whether somebody is known to ask, or we ask, by an address that can win."""
        if self.other is None:
            return self.enabled and self.address != ANY4
        return bool(self.other) and self.other not in PROXY_SOURCES

    def _start(self, now: float) -> None:
        self.startup_left = self.context.params.mcast_startup_query_count
        self.next_query = now
        if self.active_at == inf:
            self.active_at = now + self.context.params.mcast_query_response_interval

    # What other queriers say.

    def heard(self, query: Query, port: int, now: float) -> bool:
        """A general query came in; returns whether a router may have sent it."""
        self.asked_at = now
        source = query.source
        proxy = source in PROXY_SOURCES
        if proxy:
            if self._proper:
                return False
            self._hear_asker(port, now + self.hold(query))
            if self.enabled:
                return False  # we ask, from an address no better
        elif self.enabled and source == self.address:
            return False
        elif self.other is None:
            if self.enabled and self._beats(source):
                return True
        elif self._proper and source > self.other:
            return True
        # Not told of each address: one host could make up a lower one with every frame. Nor of
        # every proxy, as none is better than another.
        changed = self.other is None or port != self.other_port
        if proxy and self.other in PROXY_SOURCES and self.other_port in self.askers:
            changed, port = False, self.other_port
        self.other, self.other_port, self.last = source, port, query
        if not proxy:
            self._forget_askers()
        self.other_until = now + self.hold(query)
        self.next_query = inf
        self.startup_left = 0
        if self.active_at == inf:
            self.active_at = now + query.max_resp
        if changed:
            self._tell(f"querier is {text(source)} at port {port}", port, text(source))
        self.context.core.timers.update(self)
        return not proxy

    def _hear_asker(self, port: int, until: float) -> None:
        core = self.context.core
        if core.ports[port].params.mcast_router == 0:
            return
        new = port not in self.askers
        self.askers[port] = until
        core.timers.update(self)
        if new:
            self.context.refresh()

    def _forget_askers(self) -> None:
        if self.askers:
            self.askers.clear()
            self.context.refresh()

    def hold(self, query: Query) -> float:
        """How long to believe a querier: what it says of itself, if that is longer than ours.

        (RFC 3376 4.1.6, 4.1.7, 8.5.) At most ten times ours: one forged query must not last days.
        """
        ours = self.context.params.mcast_querier_interval
        return max(ours, min(10 * ours, query.qrv * query.qqi + query.max_resp / 2))

    @property
    def membership_interval(self) -> float:
        """Group membership interval (RFC 3376 8.4), no shorter than the querier needs."""
        ours = self.context.params.mcast_membership_interval
        last = self.last
        if last is None:
            return ours
        return max(ours, min(10 * ours, last.qrv * last.qqi + last.max_resp))

    def restored(self, now: float) -> None:
        """A switch already restricts, so somebody was asking: restrict on, and ask."""
        self.active_at = now
        if not self.enabled:
            self.other = b""
            self.other_until = now + self.context.params.mcast_querier_interval
        if self.asked_at != now:
            self.startup_left = self.context.params.mcast_startup_query_count
            self.next_query = now
        self.context.core.timers.update(self)

    # Asking.

    def ask_again(self, now: float) -> None:
        """The topology changed: ask at once, and again after the startup interval.

        As a proxy if another is the querier (RFC 4541 2.1.1(4)). Nobody restricts: nobody asks.
        No oftener than answers can come.
        """
        if self.active_at == inf:
            return
        params = self.context.params
        self.startup_left = params.mcast_startup_query_count
        soonest = max(now, self.hurried_at + params.mcast_last_member_interval)
        self.next_query = min(self.next_query, soonest)
        self.context.core.timers.update(self)

    def ask_port(self, port: int) -> None:
        """A port began to forward: ask who is there, unless it is somebody who asks himself.

        Linux takes 0.0.0.0 for the lowest address, and would ask no more [measured].
        """
        if self.active_at != inf and port not in self.askers:
            self._send_general(frozenset((port,)), quick=True)

    def _send_general(self, ports: frozenset[int], quick: bool) -> None:
        """Quick: answers within a last-member interval, for a stream may wait for them."""
        params = self.context.params
        version, qrv, qqi = self.context.version, 2, params.mcast_query_interval
        source = self.address
        if self.other is not None:
            source = PROXY_SOURCE[self.context.family]
            if self.last is not None:
                # RFC 4541 2.1.1(4): a proxy query says what the true querier says.
                version = self.last.version
                qrv, qqi = self.last.qrv or qrv, self.last.qqi or qqi
        resp = params.mcast_last_member_interval if quick else params.mcast_query_response_interval
        if ports:
            spec = QuerySpec(
                self.context.family,
                version,
                UNSPECIFIED[self.context.family],
                (),
                resp,
                False,
                qrv,
                qqi,
            )
            self.send(spec, source, ports)

    def send_specific(
        self, group: bytes, sources: tuple[bytes, ...], suppress: bool, port: int
    ) -> None:
        """Ask the port of a leave whether anybody is left."""
        context = self.context
        if port in context.live:
            params = context.params
            spec = QuerySpec(
                context.family,
                context.version,
                group,
                sources,
                params.mcast_last_member_interval,
                suppress,
                2,
                params.mcast_query_interval,
            )
            self.send(spec, self.address, frozenset((port,)))

    def send(self, spec: QuerySpec, source: bytes, ports: frozenset[int]) -> None:
        """Send a query; counted for each port."""
        core = self.context.core
        name = f"tx_{'igmp' if spec.family is Family.IPV4 else 'mld'}_v{spec.version}_query"
        for port in ports:
            core.ports[port].count(name)
        frame = encode_query(spec, core.mac, source)
        core.out.append(SendFrame(self.context.vid, ports, frame))

    # Time.

    def deadline(self) -> float:
        """See Timed."""
        first = min(self.next_query, self.other_until, *self.askers.values())
        return first if self.context.active else min(first, self.active_at)

    def expire(self, now: float) -> None:
        """See Timed."""
        if self.other_until <= now:
            self._other_gone(now)
        if any(until <= now for until in self.askers.values()):
            self.askers = {port: until for port, until in self.askers.items() if until > now}
            self.context.refresh()
        if self.active_at <= now:
            self.context.set_active(True)
        if self.next_query <= now:
            self._query(now)

    def _other_gone(self, now: float) -> None:
        self.other, self.last, self.other_port = None, None, None
        self.other_until = inf
        if self.enabled:
            self._tell("querier went silent; this bridge takes over", None, None)
            self._start(now)
        else:
            self._tell("querier went silent; multicast floods", None, None)
            self.next_query = self.active_at = inf
            self.context.set_active(False)

    def _query(self, now: float) -> None:
        params, context = self.context.params, self.context
        quick = context.uncertain
        if quick:
            self.hurried_at = now
        if self.other is None:
            self._send_general(context.live, quick)
        else:
            self._send_general(context.live - context.learned_routers - self.askers.keys(), quick)
        self.asked_at = now
        if self.startup_left > 1:
            self.startup_left -= 1
            self.next_query = now + params.mcast_startup_query_interval
        else:
            self.startup_left = 0
            self.next_query = now + params.mcast_query_interval if self.is_querier else inf

    def _tell(self, message: str, port: int | None, address: str | None) -> None:
        context = self.context
        context.core.event(
            "querier",
            f"VLAN {context.vid} IPv{context.family.value}: {message}",
            Severity.INFO,
            port,
            vid=context.vid,
            family=context.family.value,
            querier=address,
        )

    def stop(self) -> None:
        """Snooping was turned off here: as if nobody ever asked."""
        self.enabled = False
        self.other, self.last, self.other_port = None, None, None
        self.other_until = self.active_at = self.next_query = inf
        self.askers.clear()
        self.startup_left = 0
