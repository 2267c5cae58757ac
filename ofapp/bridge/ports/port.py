"""A bridge's ports as the core sees them.

Ports are numbers on the wire and names for users. A number identifies a port only while the switch
runs, so static entries and parameters, which must persist, go by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class PortCount(NamedTuple):
    """Counters of one port since the switch began to count; None for what it does not count."""

    rx_frames: int | None
    tx_frames: int | None
    rx_bytes: int | None
    tx_bytes: int | None
    rx_dropped: int | None
    tx_dropped: int | None
    rx_errors: int | None
    tx_errors: int | None

    def plus(self, other: PortCount) -> PortCount:
        """The sum of both; None where either does not count."""
        pairs = zip(self, other, strict=True)
        return PortCount(*(None if None in pair else sum(filter(None, pair)) for pair in pairs))


MAX_PORTS = 4095
"""Most ports that spanning tree can number (802.1D-2004 9.2.7); a switch may claim any number."""

SURE = 32
"""Ports that are guaranteed to each bridge."""

COMMON = 1 << 16
"""Ports beyond the guaranteed ones, of all bridges together: some KiB each."""

LOCAL_PORT = 0xFFFFFFFE  # OFPP_LOCAL: the host that the switch runs on


@dataclass(frozen=True, slots=True)
class Port:
    """number: OpenFlow port number; mac: the port's own address; up: link and administration.

    speed_mbps: 0 when the switch does not report it.
    live: the switch itself would forward by it (OFPPS_LIVE); used by aggregations only.
    cut_off: it is at a member of a fabric that does not reach most others; for aggregations, too.
    one_way: its link is held as one-way: it carries no traffic, although it is up.
    closed: directions that others have closed in the switch, of `receive`, `forward`, `packet-in`.
    partner: the last LACP partner of an aggregation: system and key, also while it is down.
    """

    number: int
    name: str
    mac: int
    up: bool
    speed_mbps: int = 0
    full_duplex: bool = True
    live: bool = True
    cut_off: bool = False
    partner: tuple[object, ...] | None = None
    closed: tuple[str, ...] = ()
    one_way: bool = False

    @property
    def carries(self) -> bool:
        """Whether its link is up and may carry traffic."""
        return self.up and not self.one_way


class PortRoom:
    """The ports that all bridges of a controller may have beyond the guaranteed ones.

    No bridge gets more than is left after it (a dynamic threshold). So even if several bridges
    invent ports without end, the next one finds as much room as each of them took.

    wanted: a bridge was refused a port because of the others since this was last set to False.
    """

    def __init__(self, most: int = COMMON) -> None:
        self.left = most
        self.wanted = False


class PortTable:
    """The ports by number, with a look-up by name.

    complete: the switch has reported all its ports at least once.
    refused: there was no room for a port, and the end of that has not been reported.
    link_changes: how often each port's link has come up or gone down, by number.
    """

    def __init__(self, room: PortRoom | None = None) -> None:
        self.complete = False
        self.refused = False
        self._room = PortRoom() if room is None else room
        self.link_changes: Counter[int] = Counter()
        self._by_number: dict[int, Port] = {}
        self._by_name: dict[str, int] = {}

    def __iter__(self) -> Iterator[Port]:
        return iter(list(self._by_number.values()))

    def __len__(self) -> int:
        return len(self._by_number)

    def get(self, number: int) -> Port | None:
        """The port with this number, or None."""
        return self._by_number.get(number)

    def named(self, name: str) -> Port | None:
        """The port with this name, or None."""
        number = self._by_name.get(name)
        return None if number is None else self._by_number[number]

    @property
    def numbers(self) -> Mapping[str, int]:
        """The ports' numbers by their names."""
        return self._by_name

    def no_room(self, more: int) -> str:
        """Why there is no room for one port more than `more` new ones; empty when there is."""
        count = len(self._by_number) + more
        if count >= MAX_PORTS:
            return f"there are {MAX_PORTS} ports, the most there can be"
        beyond = count - SURE
        left = self._room.left + max(len(self._by_number) - SURE, 0) - beyond
        if 0 <= beyond >= left:
            self._room.wanted = True
            return f"there are {count} ports, the most there can be beside those of other bridges"
        return ""

    def put(self, port: Port) -> None:
        """Add a port or replace the one of the same number."""
        old, changes = self._by_number.get(port.number), self.link_changes[port.number]
        self.drop(port.number)
        if old is not None and old.name == port.name:
            self.link_changes[port.number] = changes + (old.up != port.up)
        self._room.left -= len(self._by_number) >= SURE
        self._by_number[port.number] = port
        self._by_name[port.name] = port.number

    def drop(self, number: int) -> Port | None:
        """Take a port out; None when there was none."""
        self.link_changes.pop(number, None)
        port = self._by_number.pop(number, None)
        if port is None:
            return None
        self._room.left += len(self._by_number) >= SURE
        if self._by_name.get(port.name) == number:
            del self._by_name[port.name]
        return port

    def leave(self) -> None:
        """Remove all ports of a bridge that is forgotten, which frees their room."""
        for number in [*self._by_number]:
            self.drop(number)
