"""Information of a system and of its partner, for each port (802.1AX, 6.4.7).

Both sides of a link have the same values, so there is one type for them.
"""

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
        """The names of the bits that are set, in wire order."""
        return [str(bit.name).lower() for bit in State if bit & self]


NO_STATE = State(0)


class System(NamedTuple):
    """A system identifier: the priority first, so that the better one compares as lower."""

    priority: int
    address: int

    def __str__(self) -> str:
        return f"{self.priority}.{format_mac(self.address)}"


class Information(NamedTuple):
    """One end of a link, as in an LACPDU.

    port_priority, port: the port identifier; a lower one is better.
    """

    system: System
    key: int
    port_priority: int
    port: int
    state: State

    @property
    def identity(self) -> tuple[object, ...]:
        """Identity of the port and the aggregation: all fields but the rest of the state."""
        return (*self[:4], self.state & State.AGGREGATION)

    @property
    def aggregatable(self) -> bool:
        """Whether the link may be one of several; otherwise it is an individual link."""
        return bool(self.state & State.AGGREGATION)


NO_PARTNER = Information(
    System(0, 0),
    0,
    0,
    0,
    State.TIMEOUT | State.SYNCHRONIZATION | State.COLLECTING | State.DISTRIBUTING,
)
"""The Partner_Admin values (6.4.7): a partner without LACP is an individual link, which accepts
what it is sent.  The Selection Logic decides whether such a link is used at all.  Its timeout is
the short one: LACPDUs are sent each second, so a link that works again is in use two seconds
later and not half a minute."""


def operational_key(admin_key: int, speed_mbps: int) -> int:
    """The key of a port (6.3.5): links of different speeds have different ones, and so are never
    used together."""
    return admin_key << 4 | bisect_right(_SPEEDS, speed_mbps)
