"""When hosts were seen first and last: the forwarding databases are read once a minute.

So it costs nothing when a host is learned.  A host that has left is remembered until there are
`MOST` hosts.  Then the ports with most hosts lose their oldest ones, so that one port cannot take
the room of others.  A restart of the controller forgets all.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fdb.fdb import NO_PORT
from ofapp.bridge.queries import fdb_tables
from ofapp.common import hub
from ofapp.controller.hosts.events import HOSTS_LIMIT
from ofapp.controller.state.saving import Emit
from ofapp.controller.topology import End

INTERVAL = 60
"""Seconds between two readings."""
MOST = 1_000_000
"""Most hosts that are remembered."""
ROOM = 50_000
"""Hosts that are forgotten together."""
PIECE = 500
"""Addresses that are read in a row: less than a millisecond."""

_BITS = 28
_FIELD = (1 << _BITS) - 1


class Seen(NamedTuple):
    """first, last: seconds since the epoch, in whole minutes; where the host was seen last."""

    first: int
    last: int
    datapath_id: int
    port: int


class Sightings:
    """All hosts, by MAC address.

    A host's value is one number: its first minute, its last minute and the index of its port.
    forgotten: hosts that made room for others.
    """

    def __init__(
        self,
        bridges: Mapping[int, Bridge],
        inner: Callable[[], Set[End]],
        emit: Emit,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """inner: gives the ports between switches, which no host is attached to."""
        self.forgotten = 0
        self._bridges = bridges
        self._inner = inner
        self._emit = emit
        self._clock = clock
        self._hosts: dict[int, int] = {}
        self._ends: list[End] = []
        self._indexes: dict[End, int] = {}

    @property
    def hosts(self) -> Mapping[int, object]:
        """All hosts by MAC address; `of` explains the values."""
        return self._hosts

    def of(self, mac: int) -> Seen | None:
        """When and where a host was seen; None if it was not seen by a reading."""
        value = self._hosts.get(mac)
        if value is None:
            return None
        first, last = value >> 2 * _BITS, value >> _BITS & _FIELD
        return Seen(first * INTERVAL, last * INTERVAL, *self._ends[value & _FIELD])

    def run(self) -> None:
        """Read the forwarding databases until the process ends; does not return."""
        while True:
            hub.sleep(INTERVAL - self._clock() % INTERVAL)
            self.read()

    def read(self) -> None:
        """Note all hosts that are in a forwarding database now."""
        minute = int(self._clock()) // INTERVAL
        inner = self._inner()
        for datapath_id, bridge in [*self._bridges.items()]:
            between = {end.port for end in inner if end.datapath_id == datapath_id} | {NO_PORT}
            for vid in [*fdb_tables(bridge)]:
                macs = [*fdb_tables(bridge).get(vid, ())]
                for start in range(0, len(macs), PIECE):
                    self._note(bridge, vid, macs[start : start + PIECE], between, minute)
                    hub.sleep(0)

    def _note(
        self, bridge: Bridge, vid: int, macs: list[int], between: Set[int], minute: int
    ) -> None:
        table, hosts, ends = fdb_tables(bridge).get(vid, {}), self._hosts, dict[int, int]()
        if len(hosts) + len(macs) > MOST and any(mac not in hosts for mac in macs):
            self._make_room(minute)
        for mac in macs:
            entry = table.get(mac)
            if entry is None or entry.port in between:
                continue
            port = entry.port
            if port not in ends:
                end = End(bridge.datapath_id, port)
                ends[port] = self._index(end) | minute << _BITS
            known = hosts.get(mac)
            first = minute if known is None else known >> 2 * _BITS
            hosts[mac] = first << 2 * _BITS | ends[port]

    def _index(self, end: End) -> int:
        if end not in self._indexes:
            self._indexes[end] = len(self._ends)
            self._ends.append(end)
        return self._indexes[end]

    def _make_room(self, minute: int) -> None:
        """Forget the oldest hosts of the ports with most hosts: first those that have left."""
        counts = Counter(value & _FIELD for value in self._hosts.values())
        level = _level(counts.values(), MOST - ROOM)
        (largest, count), *_ = counts.most_common(1)
        end = self._ends[largest]
        message = f"{MOST} hosts are remembered, most of them of this port: {count}"
        event = HOSTS_LIMIT.event(message, end.port, {"hosts": count})
        self._emit(end.datapath_id, event)
        for absent in (True, False):
            for mac, value in [*self._hosts.items()]:
                place, last = value & _FIELD, value >> _BITS & _FIELD
                if counts[place] > level and (last < minute - 1 or not absent):
                    del self._hosts[mac]
                    counts[place] -= 1
                    self.forgotten += 1


def _level(counts: Iterable[int], room: int) -> int:
    """The most hosts of a port with which all ports together have so much room."""
    ordered = sorted(counts)
    for at, count in enumerate(ordered):
        share = room // (len(ordered) - at)
        if count > share:
            return share
        room -= count
    return room
