"""One port's membership of one group: its filter, older hosts, and the queries after a leave.

RFC 3376 6.4.2, 6.6.3 and 7.3.2; RFC 3810 7.4.2, 7.6.3 and 8.3.2. Methods that change the filter
return the one before, by which the group, which charges for sources, detects the change.

Explicit tracking of the hosts behind one port, so that fast leave harms no host it knows of.

A leave ends a stream at once only if no other host that reported the group still wants it. Hosts
are distinguished by Ethernet address (a report may come from 0.0.0.0 or ::).
"""

from math import inf

from ofapp.bridge.multicast.filter import BLOCKED, Ask, Filter
from ofapp.bridge.multicast.message import Record, RecordType, Report
from ofapp.bridge.multicast.querier import Querier
from ofapp.bridge.multicast.scope import Scope
from ofapp.bridge.multicast.shared import HOSTS, SOURCES, Shared, SnoopedPort
from ofapp.bridge.multicast.timers import ScopeKey, Timed
from ofapp.bridge.packet.address import Family


class Host:
    """The filter of one host, by its last records, with one timer for all of it."""

    __slots__ = ("exclude", "sources", "until")

    def __init__(self) -> None:
        self.exclude = False
        self.sources: frozenset[bytes] = frozenset()
        self.until = 0.0


class Hosts:
    """The hosts of one port and group, by Ethernet address."""

    __slots__ = ("table",)

    def __init__(self) -> None:
        self.table: dict[bytes, Host] = {}

    def note(self, mac: bytes, kind: int, sources: tuple[bytes, ...], until: float) -> None:
        """Apply one record of a host; a host that wants nothing more is forgotten."""
        host = self.table.setdefault(mac, Host())
        said = frozenset(sources)
        if kind in (RecordType.TO_IN, RecordType.TO_EX, RecordType.IS_EX):
            host.exclude = kind != RecordType.TO_IN
            host.sources = said
        elif (kind == RecordType.BLOCK) == host.exclude:
            host.sources |= said
        else:
            # IS_IN is not a change of mode: a host in EXCLUDE mode, too, answers a query about
            # sources with those it wants (RFC 3376 5.2 rule 3).
            host.sources -= said
        host.until = until
        if not host.exclude and not host.sources:
            del self.table[mac]

    def prune(self, state: Filter, now: float, most: int) -> None:
        """Remove from the port's filter what no known host wants any more.

        EXCLUDE mode dropped the sources that hosts in INCLUDE mode want; they are known here and
        restored, no more than `most`.
        """
        for mac in [mac for mac, host in self.table.items() if host.until <= now]:
            del self.table[mac]
        excluding = [host for host in self.table.values() if host.exclude]
        wanted: dict[bytes, float] = {}
        for host in self.table.values():
            if not host.exclude:
                for source in host.sources:
                    wanted[source] = max(host.until, wanted.get(source, BLOCKED))
        if not excluding:
            mine = state.sources
            kept = {s: t for s, t in mine.items() if t != BLOCKED and s in wanted}
            if state.exclude:
                state.exclude = False
                for source in sorted(wanted.keys() - kept.keys())[: most - len(kept)]:
                    kept[source] = wanted[source]
            state.sources = kept
            return
        unwanted = frozenset.intersection(*(host.sources for host in excluding)) - wanted.keys()
        for source in unwanted:
            if source in state.sources:
                state.sources[source] = BLOCKED


View = tuple[bool, frozenset[bytes]]
"""A filter as far as forwarding depends on it (`Filter.view`)."""

_LEAVING = frozenset((RecordType.TO_IN, RecordType.BLOCK))


class GroupMember(Timed):
    """State of (VLAN, group, port); alive from its first join until it wants nothing."""

    __slots__ = (
        "address",
        "alive",
        "hosts",
        "old_until",
        "port",
        "query_at",
        "query_left",
        "source_at",
        "source_left",
        "state",
        "truncated",
        "v1_until",
    )

    def __init__(self, place: ScopeKey, address: bytes, port: SnoopedPort) -> None:
        super().__init__(place)
        self.address = address
        self.port = port
        self.state = Filter()
        self.alive = True
        self.truncated = False
        self.hosts: Hosts | None = Hosts() if port.params.mcast_fast_leave else None
        self.v1_until = -inf  # an IGMPv1 host is here: leaves do not count
        self.old_until = -inf  # a host of an old version is here: nor do source lists
        self.query_left = 0
        self.query_at = inf
        self.source_left: dict[bytes, int] = {}
        self.source_at = inf

    # Reports.

    def report(
        self, scope: Scope, querier: Querier, record: Record, report: Report, now: float
    ) -> tuple[View, Ask] | None:
        """Apply one record of a report of this port; gives the filter before, and queries to send.

        None when nothing changes.
        """
        until = now + querier.membership_interval(scope)
        if report.version < scope.newest:
            self.old_until = until
            if report.version == 1 and report.family is Family.IPV4:
                self.v1_until = until
        adapted = self._adapt(record.type, record.sources, scope.old, now)
        if adapted is None:
            return None
        kind, sources = adapted
        state = self.state
        if not sources and not state.sources and state.exclude and kind not in _LEAVING:
            if kind in (RecordType.IS_EX, RecordType.TO_EX):
                state.timer = until  # the common case: still a member
                if self.hosts is not None:
                    self._track(scope.shared, report.host, kind, sources, until)
            return None
        before = state.view()
        if sources:
            sources = self._limit(scope.shared, kind, sources)
        ask = state.apply(kind, sources, now, until - now)
        if self.hosts is not None and (
            self._track(scope.shared, report.host, kind, sources, until) and kind in _LEAVING
        ):
            self.hosts.prune(state, now, scope.shared.params.mcast_max_sources)
            ask = Ask(ask.group and state.exclude, ask.sources)
        return before, ask

    def _adapt(
        self, kind: int, sources: tuple[bytes, ...], old: bool, now: float
    ) -> tuple[int, tuple[bytes, ...]] | None:
        """The record as it counts with old hosts, or an old version configured (`old`)."""
        if kind == RecordType.TO_IN and self.v1_until > now:
            return None
        if old:
            if kind == RecordType.BLOCK or (kind == RecordType.ALLOW and not sources):
                return None
            joins = bool(sources) or kind in (RecordType.IS_EX, RecordType.TO_EX)
            return (RecordType.IS_EX if joins else RecordType.TO_IN), ()
        if self.old_until > now:
            if kind == RecordType.BLOCK:
                return None
            if kind == RecordType.TO_EX:
                return kind, ()
        return kind, sources

    def _limit(self, shared: Shared, kind: int, sources: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Limit the sources of the list; a record that replaces the list counts by itself."""
        mine, most = self.state.sources, shared.params.mcast_max_sources
        if kind in (RecordType.IS_EX, RecordType.TO_EX):
            kept = sources[:most]
        else:
            new = [source for source in sources if source not in mine]
            refused = frozenset(new[max(0, most - len(mine)) :])
            kept = tuple([source for source in sources if source not in refused])
        if len(kept) < len(sources):
            shared.raise_alarm(self.port, SOURCES)
            if not self.truncated:
                self.truncated = True
                self.port.truncated += 1
        return kept

    def _track(
        self, shared: Shared, mac: bytes, kind: int, sources: tuple[bytes, ...], until: float
    ) -> bool:
        """Track the sender of a record. Past the limit, leaves are queried as without tracking."""
        hosts = self.hosts
        assert hosts is not None
        count = len(hosts.table)
        if mac not in hosts.table and self.port.hosts >= shared.params.mcast_eht_hosts_limit:
            if kind in _LEAVING:
                return True
            shared.raise_alarm(self.port, HOSTS)
            self.track(False)
            return False
        hosts.note(mac, kind, sources, until)
        self.port.hosts += len(hosts.table) - count
        return True

    def track(self, on: bool) -> None:
        """Start or stop tracking hosts; a new table is empty and protects no earlier host."""
        if not on and self.hosts is not None:
            self.port.hosts -= len(self.hosts.table)
            self.hosts = None
        elif on and self.hosts is None:
            self.hosts = Hosts()

    # Queries, when this bridge is the querier.

    def ask(self, scope: Scope, querier: Querier, ask: Ask, now: float) -> None:
        """Query for remaining members, repeatedly, and lower the timers to the response time."""
        params = scope.params
        until = now + params.last_member_time
        if ask.sources:
            lowered = self.state.lower_sources(ask.sources, until)
            if lowered:
                for source in lowered:
                    self.source_left[source] = params.mcast_last_member_count
                self._send_sources(scope, querier, now)
        if ask.group and self.state.exclude:
            self.state.lower_group(until)
            if not self.query_left:
                self.query_left = params.mcast_last_member_count
                self._send_group(scope, querier, now)

    def _send_group(self, scope: Scope, querier: Querier, now: float) -> None:
        params = scope.params
        suppress = self.state.timer > now + params.last_member_time
        querier.send_specific(scope, self.address, (), suppress, self.port.number)
        self.query_left -= 1
        self.query_at = now + params.mcast_last_member_interval if self.query_left else inf

    def _send_sources(self, scope: Scope, querier: Querier, now: float) -> None:
        """RFC 3376 6.6.3.2: one query for sources still in doubt, one for those answered for."""
        limit, port = now + scope.params.last_member_time, self.port.number
        doubtful, sure = [], []
        for source, left in list(self.source_left.items()):
            timer = self.state.sources.get(source, -inf)
            if timer > limit:
                sure.append(source)
            elif timer > now:
                doubtful.append(source)
            if left > 1 and timer > now:
                self.source_left[source] = left - 1
            else:
                del self.source_left[source]
        if doubtful:
            querier.send_specific(scope, self.address, tuple(doubtful), False, port)
        if sure and not self.query_left:
            querier.send_specific(scope, self.address, tuple(sure), True, port)
        interval = scope.params.mcast_last_member_interval
        self.source_at = now + interval if self.source_left else inf

    def asked(self, sources: tuple[bytes, ...], until: float) -> None:
        """Lower timers: another querier asks for the group or its sources (RFC 3376 6.6.1)."""
        if sources:
            self.state.lower_sources(sources, until)
        elif self.state.exclude:
            self.state.lower_group(until)

    # Time.

    def deadline(self) -> float:
        """See Timed."""
        if not self.alive:
            return inf
        return min(self.state.deadline(), self.query_at, self.source_at)

    def expire(self, now: float) -> View:
        """Handle timers that have expired; gives the filter before."""
        before = self.state.view()
        self.state.expire(now)
        return before

    def ask_again(self, scope: Scope, querier: Querier, now: float) -> None:
        """Repeat queries that are due, if this bridge is still the querier."""
        if self.source_at <= now:
            if querier.is_querier:
                self._send_sources(scope, querier, now)
            else:
                self.source_left.clear()
                self.source_at = inf
        if self.query_at <= now:
            if querier.is_querier and self.state.exclude:
                self._send_group(scope, querier, now)
            else:
                self.query_left, self.query_at = 0, inf

    # Restore and forget.

    def restore(
        self, shared: Shared, exclude: bool, sources: tuple[bytes, ...], until: float
    ) -> View:
        """Restore a member that the switch already forwards to, with full timers."""
        before = self.state.view()
        self.state.exclude = exclude
        self.state.timer = until if exclude else -inf
        timer = -inf if exclude else until
        self.state.sources = dict.fromkeys(self._limit(shared, RecordType.IS_EX, sources), timer)
        return before

    def forget_source(self, source: bytes) -> View:
        """Forget a source. Raises KeyError if it is not known."""
        before = self.state.view()
        del self.state.sources[source]
        return before
