"""The layout of a flow's cookie, by which a controller knows its own flows after a restart.

    63     48 47      40 39        32 31              0
    +--------+----------+------------+----------------+
    | 0x0fa9 | feature  | generation | serial         |
    +--------+----------+------------+----------------+

- 0x0fa9 marks a flow as ofapp's; flows without it are not ours and are left alone.
- feature says what the flow is for; its top bit is set for the two halves of learned addresses,
  so that one mask selects or spares them all.
- generation is the version of the pipeline's layout; flows of another one are removed.
- serial is the FDB entry's for learned addresses (addresses share one, see `bridge.fdb.fdb`), a
  rule's or a group's number, a controller's IPv4 address, a snapshot's mark, two ports (16 bits of
  each: where an address that is held down is known, and where else it was seen), the version of a
  fabric's plan, else 0.
"""

from enum import IntEnum
from typing import NamedTuple

APP = 0x0FA9
GENERATION = 1
APP_MASK = 0xFFFF << 48
LEARNED_BIT = 0x80 << 40
FEATURE_MASK = APP_MASK | 0xFF << 40
ANY_LEARNED = APP_MASK | LEARNED_BIT  # ordinary and sticky
EXACT = (1 << 64) - 1
EXACT_LEARNED = EXACT & ~(0x7F << 40)  # but whether it is sticky


class Feature(IntEnum):
    """The purpose of a flow.  The features of traps are declared in `model.traps`."""

    BASE = 0x01
    PORT = 0x02
    STATIC = 0x04
    LOCAL = 0x05
    MULTICAST = 0x08
    VLAN = 0x09
    STORM = 0x0A
    EGRESS = 0x0B
    ACL = 0x0C
    GUARD = 0x0D
    HELD = 0x0E
    OWNER = 0x0F
    LAG = 0x10
    MARK = 0x12
    BINDING = 0x15
    FIRST_HOP = 0x16
    FABRIC = 0x1D
    VERSION = 0x1E
    REMOTE = 0x22
    ACCESS = 0x28
    LEARNED = 0x80
    STICKY = 0x81


class Cookie(NamedTuple):
    """A cookie's parts."""

    feature: int
    generation: int
    serial: int


def ports_serial(one: int, other: int) -> int:
    """The serial that stands for two OpenFlow ports; Open vSwitch's have 16 bits, LOCAL too."""
    return (one & 0xFFFF) << 16 | other & 0xFFFF


def serial_ports(serial: int) -> tuple[int, int]:
    """The ports of such a serial."""
    one, other = (port | (0xFFFF0000 if port >= 0xFF00 else 0) for port in divmod(serial, 1 << 16))
    return one, other


def make_cookie(feature: int, serial: int = 0) -> int:
    """The cookie of a flow of this generation."""
    return APP << 48 | feature << 40 | GENERATION << 32 | serial


def parse_cookie(cookie: int) -> Cookie | None:
    """The parts of one of our cookies, None for any other cookie."""
    if cookie >> 48 != APP:
        return None
    return Cookie(cookie >> 40 & 0xFF, cookie >> 32 & 0xFF, cookie & 0xFFFFFFFF)
