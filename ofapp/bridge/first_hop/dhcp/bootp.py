"""DHCPv4 messages (RFC 2131, RFC 2132) and BOOTP (RFC 951)."""

from collections.abc import Iterator
from typing import NamedTuple

from ofapp.bridge.packet.malformed import Malformed

REQUEST, REPLY = 1, 2
"""Values of `op`."""

DISCOVER, OFFER, DHCP_REQUEST, DECLINE, ACK, NAK, RELEASE, INFORM = range(1, 9)
PLAIN_BOOTP = 0
"""Values of option 53; none in plain BOOTP (RFC 1534)."""

SERVER_PORT, CLIENT_PORT = 67, 68

PAD, END = 0, 255
HOST_NAME = 12
REQUESTED, LEASE, OVERLOAD, MESSAGE_TYPE, CLIENT_ID, RELAY_INFO = 50, 51, 52, 53, 61, 82
INFINITE = 0xFFFFFFFF

NAMES, OPTIONS = 44, 240
"""Where sname and file begin, 64 and 128 octets, and where the options do."""
SNAME, FILE = slice(44, 108), slice(108, 236)
COOKIE = b"\x63\x82\x53\x63"

TRUNCATED = Malformed("dhcp_truncated")
BAD_HARDWARE = Malformed("dhcp_hardware")
BAD_OPTIONS = Malformed("dhcp_options")

_LENGTHS = {MESSAGE_TYPE: 1, OVERLOAD: 1, REQUESTED: 4, LEASE: 4}


class Bootp(NamedTuple):
    """A message; MAC address and xid are numbers, IP addresses are 4 octets.

    kind: option 53, or PLAIN_BOOTP.
    requested: option 50; lease: option 51 in seconds; None where the option is missing.
    overload: option 52, which areas have options as well: 1 file, 2 sname.
    relayed: it has option 82; client_id, name: options 61 and 12, empty if they are missing.
    """

    op: int
    xid: int
    ciaddr: bytes
    yiaddr: bytes
    giaddr: bytes
    chaddr: int
    kind: int = PLAIN_BOOTP
    requested: bytes | None = None
    lease: int | None = None
    overload: int = 0
    relayed: bool = False
    client_id: bytes = b""
    name: bytes = b""


def read_bootp(data: bytes) -> Bootp | Malformed:
    """Read a message from its octets.  Hosts other than those on Ethernet are refused.

    An option that occurs several times is one option (RFC 3396), so one with a fixed length may
    occur once: no two readers can differ about its value.
    """
    if len(data) < 236:
        return TRUNCATED
    if data[1] != 1 or data[2] != 6:
        return BAD_HARDWARE
    fixed = (
        data[0],
        int.from_bytes(data[4:8], "big"),
        data[12:16],
        data[16:20],
        data[24:28],
        int.from_bytes(data[28:34], "big"),
    )
    if data[236:OPTIONS] != COOKIE:
        return Bootp(*fixed)
    options = _collect(data)
    if options is None:
        return BAD_OPTIONS
    if MESSAGE_TYPE in options and not options[MESSAGE_TYPE][0]:
        return BAD_OPTIONS  # it would be PLAIN_BOOTP
    lease = options.get(LEASE)
    return Bootp(
        *fixed,
        options.get(MESSAGE_TYPE, b"\0")[0],
        options.get(REQUESTED),
        None if lease is None else int.from_bytes(lease, "big"),
        options.get(OVERLOAD, b"\0")[0],
        RELAY_INFO in options,
        options.get(CLIENT_ID, b""),
        options.get(HOST_NAME, b""),
    )


def walk(area: bytes) -> Iterator[tuple[int, bytes]]:
    """The options of an area up to its end, each with its code and its whole octets.

    The last one has the code END and is empty, if the area is well-formed.
    """
    at, size = 0, len(area)
    while at < size and area[at] != END:
        if area[at] == PAD:
            at += 1
            continue
        if at + 1 == size or size < (after := at + 2 + area[at + 1]):
            return
        yield area[at], area[at:after]
        at = after
    yield END, b""


def areas(data: bytes, overload: int) -> Iterator[bytes]:
    """The areas with options: that behind the cookie, then those of the overloaded fields."""
    yield data[OPTIONS:]
    if overload & 1:
        yield data[FILE]
    if overload & 2:
        yield data[SNAME]


def _collect(data: bytes) -> dict[int, bytes] | None:
    """The values of all options by code; None if they are malformed."""
    options: dict[int, bytes] = {}
    if not _gather(data[OPTIONS:], options):
        return None
    overload = options.get(OVERLOAD, b"\0")
    if len(overload) != 1 or overload[0] > 3:
        return None
    for area in list(areas(data, overload[0]))[1:]:
        if not _gather(area, options):
            return None
    if any(len(options[code]) != length for code, length in _LENGTHS.items() if code in options):
        return None
    return options


def _gather(area: bytes, options: dict[int, bytes]) -> bool:
    code = PAD
    for code, octets in walk(area):
        options[code] = options.get(code, b"") + octets[2:]
    return code == END
