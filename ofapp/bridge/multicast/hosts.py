"""Explicit tracking of the hosts behind one port, so that fast leave harms no host it knows of.

A leave ends a stream at once only if no other host that reported the group still wants it. Hosts
are distinguished by Ethernet address (a report may come from 0.0.0.0 or ::).
"""

from __future__ import annotations

from ofapp.bridge.multicast.filter import BLOCKED, Filter
from ofapp.bridge.multicast.message import RecordType


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
