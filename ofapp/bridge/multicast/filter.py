"""The filter of one port for one group: the router state tables of RFC 3376 6.4 and RFC 3810 7.4.

Both RFCs have the same tables, so there is one engine. It does not know ports, queries on the wire
or the querier: it takes a record and returns the queries that the tables require.

In INCLUDE mode `sources` are those wanted, with their timers. In EXCLUDE mode those with a running
timer (X, the requested list) are forwarded and those `BLOCKED` (Y, a timer of zero) are not.
"""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from ofapp.bridge.multicast.message import RecordType

BLOCKED = -inf
"""Timer of a source in the exclude list: it has expired."""

_IS_IN, _IS_EX, _TO_IN, _TO_EX, _ALLOW, _BLOCK = (int(kind) for kind in RecordType)


class Ask(NamedTuple):
    """Queries a table row sends: Q(G) if `group`, Q(G, sources) if `sources` is not empty."""

    group: bool = False
    sources: tuple[bytes, ...] = ()


NOTHING = Ask()


class Filter:
    """Filter mode, group timer and source timers. Times are absolute; `interval` is the GMI."""

    __slots__ = ("exclude", "sources", "timer")

    def __init__(self) -> None:
        self.exclude = False
        self.timer = BLOCKED
        self.sources: dict[bytes, float] = {}

    @property
    def empty(self) -> bool:
        """INCLUDE of nothing: no member."""
        return not self.exclude and not self.sources

    def view(self) -> tuple[bool, frozenset[bytes]]:
        """The filter for forwarding: the mode, and the sources that differ from the rest."""
        if self.exclude:
            return True, frozenset(s for s, timer in self.sources.items() if timer == BLOCKED)
        return False, frozenset(self.sources)

    def forwards(self, source: bytes) -> bool:
        """Whether the port wants traffic of this source."""
        if self.exclude:
            return self.sources.get(source, inf) != BLOCKED
        return source in self.sources

    def apply(self, kind: int, sources: tuple[bytes, ...], now: float, interval: float) -> Ask:
        """Apply one group record by its row of the table; returns the queries to send."""
        if self.exclude:
            return self._in_exclude(kind, sources, now, now + interval)
        return self._in_include(kind, sources, now + interval)

    def _in_include(self, kind: int, sources: tuple[bytes, ...], until: float) -> Ask:
        mine = self.sources
        if kind in (_IS_IN, _ALLOW):
            mine.update(dict.fromkeys(sources, until))
            return NOTHING
        if kind == _TO_IN:
            ask = tuple([s for s in mine if s not in sources])
            mine.update(dict.fromkeys(sources, until))
            return Ask(sources=ask)
        if kind == _BLOCK:
            return Ask(sources=tuple([s for s in sources if s in mine]))
        self.exclude = True
        self.timer = until
        self.sources = {s: mine.get(s, BLOCKED) for s in sources}
        if kind == _TO_EX:
            return Ask(sources=tuple([s for s in sources if s in mine]))
        return NOTHING

    def _in_exclude(self, kind: int, sources: tuple[bytes, ...], now: float, until: float) -> Ask:
        mine = self.sources
        if kind in (_IS_IN, _ALLOW):
            mine.update(dict.fromkeys(sources, until))
            return NOTHING
        if kind == _TO_IN:
            ask = tuple([s for s, t in mine.items() if t != BLOCKED and s not in sources])
            mine.update(dict.fromkeys(sources, until))
            return Ask(True, ask)
        if kind == _BLOCK:
            for source in sources:
                mine.setdefault(source, self.timer)
            return Ask(sources=tuple([s for s in sources if mine[s] != BLOCKED]))
        first = until if kind == _IS_EX else self.timer
        self.sources = mine = {s: mine.get(s, first) for s in sources}
        self.timer = until
        if kind == _TO_EX:
            return Ask(sources=tuple([s for s in sources if mine[s] != BLOCKED]))
        return NOTHING

    def deadline(self) -> float:
        """When the next timer runs out."""
        first = self.timer if self.exclude else inf
        for timer in self.sources.values():
            if timer < first and timer != BLOCKED:
                first = timer
        return first

    def expire(self, now: float) -> None:
        """Handle timers that have expired (RFC 3376 6.2.3, 6.3, 6.5)."""
        if self.exclude and self.timer <= now:
            self.exclude = False
        if not self.exclude:
            self.sources = {s: timer for s, timer in self.sources.items() if timer > now}
            return
        for source, timer in self.sources.items():
            if timer <= now:
                self.sources[source] = BLOCKED

    def lower_group(self, until: float) -> None:
        """Let the group expire at `until` unless a report answers the query that was sent."""
        if self.timer > until:
            self.timer = until

    def lower_sources(self, sources: Iterable[bytes], until: float) -> tuple[bytes, ...]:
        """Do the same for sources; returns those whose timers were lowered."""
        lowered = []
        for source in sources:
            if self.sources.get(source, BLOCKED) > until:
                self.sources[source] = until
                lowered.append(source)
        return tuple(lowered)
