"""One port's membership of one group: its filter, older hosts, and the queries after a leave.

RFC 3376 6.4.2, 6.6.3 and 7.3.2; RFC 3810 7.4.2, 7.6.3 and 8.3.2.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ofapp.bridge.multicast.address import Family
from ofapp.bridge.multicast.core import GROUPS, HOSTS, SOURCES, Port
from ofapp.bridge.multicast.filter import Ask, Filter
from ofapp.bridge.multicast.hosts import Hosts
from ofapp.bridge.multicast.message import RecordType, Report
from ofapp.bridge.multicast.timers import Timed

if TYPE_CHECKING:
    from ofapp.bridge.multicast.group import Group

_LEAVING = frozenset((RecordType.TO_IN, RecordType.BLOCK))


class Member(Timed):
    """State of (VLAN, group, port); alive from its first join until it wants nothing."""

    __slots__ = (
        "alive",
        "group",
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

    def __init__(self, group: Group, port: Port) -> None:
        super().__init__()
        self.group = group
        self.port = port
        self.state = Filter()
        self.alive = True
        self.truncated = False
        self.hosts: Hosts | None = Hosts() if port.params.mcast_fast_leave else None
        self.v1_until = -inf  # an IGMPv1 host is here: leaves are not to be believed
        self.old_until = -inf  # a host of an old version is: neither are source lists
        self.query_left = 0
        self.query_at = inf
        self.source_left: dict[bytes, int] = {}
        self.source_at = inf

    # Reports.

    def report(self, kind: int, sources: tuple[bytes, ...], report: Report, now: float) -> None:
        """Follow one record of a report of this port."""
        context = self.group.context
        until = now + context.membership_interval
        if report.version < context.newest:
            self.old_until = until
            if report.version == 1 and report.family is Family.IPV4:
                self.v1_until = until
        adapted = self._adapt(kind, sources, context.old, now)
        if adapted is None:
            return
        kind, sources = adapted
        state = self.state
        if not sources and not state.sources and state.exclude and kind not in _LEAVING:
            if kind in (RecordType.IS_EX, RecordType.TO_EX):
                state.timer = until  # the common case: still a member
                if self.hosts is not None:
                    self._track(report.host, kind, sources, until)
            return
        before = state.view()
        if sources:
            sources = self._limit(kind, sources)
        ask = state.apply(kind, sources, now, until - now)
        if self.hosts is not None and (
            self._track(report.host, kind, sources, until) and kind in _LEAVING
        ):
            self.hosts.prune(state, now, context.core.params.mcast_max_sources)
            ask = Ask(ask.group and state.exclude, ask.sources)
        self._settle(before)
        if self.alive and context.querier.is_querier:
            self._ask(ask, now)
        self.group.context.core.timers.update(self)

    def _adapt(
        self, kind: int, sources: tuple[bytes, ...], old: bool, now: float
    ) -> tuple[int, tuple[bytes, ...]] | None:
        """What is left of a record where old hosts are, or an old version is configured (`old`)."""
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

    def _limit(self, kind: int, sources: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """No more sources than the port may list; a record that replaces the list starts anew."""
        core, mine = self.group.context.core, self.state.sources
        most = core.params.mcast_max_sources
        if kind in (RecordType.IS_EX, RecordType.TO_EX):
            kept = sources[:most]
        else:
            new = [source for source in sources if source not in mine]
            refused = frozenset(new[max(0, most - len(mine)) :])
            kept = tuple([source for source in sources if source not in refused])
        if len(kept) < len(sources):
            core.raise_alarm(self.port, SOURCES)
            if not self.truncated:
                self.truncated = True
                self.port.truncated += 1
        return kept

    def _track(self, mac: bytes, kind: int, sources: tuple[bytes, ...], until: float) -> bool:
        """Note who said it. Past the limit the port's leaves are asked about, as without."""
        hosts = self.hosts
        assert hosts is not None
        core = self.group.context.core
        count = len(hosts.table)
        if mac not in hosts.table and self.port.hosts >= core.params.mcast_eht_hosts_limit:
            if kind in _LEAVING:
                return True
            core.raise_alarm(self.port, HOSTS)
            self.track(False)
            return False
        hosts.note(mac, kind, sources, until)
        self.port.hosts += len(hosts.table) - count
        return True

    def track(self, on: bool) -> None:
        """Start or stop tracking hosts; a table that starts empty knows nobody to protect."""
        if not on and self.hosts is not None:
            self.port.hosts -= len(self.hosts.table)
            self.hosts = None
        elif on and self.hosts is None:
            self.hosts = Hosts()

    # Asking, when this bridge is the querier.

    def _ask(self, ask: Ask, now: float) -> None:
        params = self.group.context.params
        until = now + params.last_member_time
        if ask.sources:
            lowered = self.state.lower_sources(ask.sources, until)
            if lowered:
                for source in lowered:
                    self.source_left[source] = params.mcast_last_member_count
                self._send_sources(now)
        if ask.group and self.state.exclude:
            self.state.lower_group(until)
            if not self.query_left:
                self.query_left = params.mcast_last_member_count
                self._send_group(now)

    def _send_group(self, now: float) -> None:
        context = self.group.context
        suppress = self.state.timer > now + context.params.last_member_time
        context.querier.send_specific(self.group.address, (), suppress, self.port.number)
        self.query_left -= 1
        self.query_at = now + context.params.mcast_last_member_interval if self.query_left else inf

    def _send_sources(self, now: float) -> None:
        """RFC 3376 6.6.3.2: one query for sources still in doubt, one for those answered for."""
        context = self.group.context
        limit = now + context.params.last_member_time
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
            context.querier.send_specific(
                self.group.address, tuple(doubtful), False, self.port.number
            )
        if sure and not self.query_left:
            context.querier.send_specific(self.group.address, tuple(sure), True, self.port.number)
        interval = context.params.mcast_last_member_interval
        self.source_at = now + interval if self.source_left else inf

    def asked(self, sources: tuple[bytes, ...], until: float) -> None:
        """Another querier asks about the group or these sources (RFC 3376 6.6.1)."""
        if sources:
            self.state.lower_sources(sources, until)
        elif self.state.exclude:
            self.state.lower_group(until)
        self.group.context.core.timers.update(self)

    # Time.

    def deadline(self) -> float:
        """See Timed."""
        if not self.alive:
            return inf
        return min(self.state.deadline(), self.query_at, self.source_at)

    def expire(self, now: float) -> None:
        """See Timed."""
        before = self.state.view()
        self.state.expire(now)
        self._settle(before)
        if not self.alive:
            return
        querier = self.group.context.querier.is_querier
        if self.source_at <= now:
            if querier:
                self._send_sources(now)
            else:
                self.source_left.clear()
                self.source_at = inf
        if self.query_at <= now:
            if querier and self.state.exclude:
                self._send_group(now)
            else:
                self.query_left, self.query_at = 0, inf

    # Becoming, changing and going.

    def restore(self, exclude: bool, sources: tuple[bytes, ...], until: float) -> None:
        """Take over what a switch already forwards, with full timers."""
        before = self.state.view()
        self.state.exclude = exclude
        self.state.timer = until if exclude else -inf
        timer = -inf if exclude else until
        self.state.sources = dict.fromkeys(self._limit(RecordType.IS_EX, sources), timer)
        self._settle(before)
        self.group.context.core.timers.update(self)

    def forget_source(self, source: bytes) -> None:
        """As if nobody had ever named it; KeyError if nobody has."""
        before = self.state.view()
        del self.state.sources[source]
        self._settle(before)

    def _settle(self, before: tuple[bool, frozenset[bytes]]) -> None:
        """After a change: pay for new sources, let go of old ones, and tell the group."""
        state = self.state
        self.group.charge_sources(self)
        if state.empty:
            self.remove()
        elif state.view() != before:
            self.group.touch()

    def remove(self) -> None:
        """The port is a member no more."""
        self.alive = False
        self.track(False)
        core, port = self.group.context.core, self.port
        core.timers.cancel(self)
        del port.members[self]
        most = port.params.mcast_max_groups
        if not most or len(port.members) <= most * 7 // 8:
            core.clear_alarm(port, GROUPS)
        if self.truncated:
            port.truncated -= 1
            if not port.truncated:
                core.clear_alarm(port, SOURCES)
        if port.hosts <= core.params.mcast_eht_hosts_limit * 7 // 8:
            core.clear_alarm(port, HOSTS)
        self.group.drop(self)
