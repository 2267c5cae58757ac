"""What a system says of itself and of its partner, port by port (802.1AX, 6.4.7).

Both sides of a link speak with the same seven values, so there is one type for them.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import IntFlag
from typing import NamedTuple

from ofapp.bridge.mac import format_mac

MAX_ADMIN_KEY = 4095

_SPEEDS = (
    *(10, 100, 1_000, 2_500, 5_000, 10_000, 20_000, 25_000),
    *(40_000, 50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000),
)
"""Mbit/s; a key has four bits for them, and 0 is slower or unknown."""


class State(IntFlag):
    """The octet of a port's state (6.4.2.3)."""

    ACTIVITY = 0x01
    TIMEOUT = 0x02
    AGGREGATION = 0x04
    SYNCHRONIZATION = 0x08
    COLLECTING = 0x10
    DISTRIBUTING = 0x20
    DEFAULTED = 0x40
    EXPIRED = 0x80

    @property
    def names(self) -> list[str]:
        """Of the bits that are set, in wire order."""
        return [str(bit.name).lower() for bit in State if bit & self]


NO_STATE = State(0)


class System(NamedTuple):
    """A system identifier: the priority first, so that the lower one compares as the better."""

    priority: int
    address: int

    def __str__(self) -> str:
        return f"{self.priority}.{format_mac(self.address)}"


class Information(NamedTuple):
    """One end of a link, as it is said in an LACPDU.

    port_priority, port: the port identifier, the lower one is the better.
    """

    system: System
    key: int
    port_priority: int
    port: int
    state: State

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes it another port or another aggregation: all but how the port stands."""
        return (*self[:4], self.state & State.AGGREGATION)

    @property
    def aggregatable(self) -> bool:
        """May the link be one of several? Otherwise it is an individual link."""
        return bool(self.state & State.AGGREGATION)


NO_PARTNER = Information(
    System(0, 0),
    0,
    0,
    0,
    State.TIMEOUT | State.SYNCHRONIZATION | State.COLLECTING | State.DISTRIBUTING,
)
"""The Partner_Admin values (6.4.7): whoever does not speak LACP is an individual link, which takes
what it is sent.  Whether such a link is used at all is for the Selection Logic to say.  Its timeout
is the short one: who does not answer is asked each second, and a link that works again is in use
two seconds later and not half a minute."""


def operational_key(admin_key: int, speed_mbps: int) -> int:
    """The key of a port (6.3.5): links of different speeds have different ones, and so are never
    used together."""
    return admin_key << 4 | bisect_right(_SPEEDS, speed_mbps)
