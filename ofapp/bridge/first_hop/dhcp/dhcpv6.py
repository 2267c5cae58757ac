"""DHCPv6 messages (RFC 8415)."""

from typing import NamedTuple

from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.neighbour import masked

SOLICIT, ADVERTISE, REQUEST, CONFIRM, RENEW, REBIND, REPLY = range(1, 8)
RELEASE, DECLINE, RECONFIGURE, INFORMATION_REQUEST, RELAY_FORWARD, RELAY_REPLY = range(8, 14)

CLIENT_PORT, SERVER_PORT = 546, 547

CLIENT_ID, IA_NA, IA_TA, IA_ADDRESS = 1, 3, 4, 5
CLIENT_FQDN = 39
RELAY_MESSAGE, STATUS, INTERFACE_ID = 9, 13, 18
IA_PD, IA_PREFIX, CLIENT_LINK_LAYER = 25, 26, 79
INFINITE = 0xFFFFFFFF

TRUNCATED = Malformed("dhcpv6_truncated")
BAD_OPTIONS = Malformed("dhcpv6_options")
BAD_DUID = Malformed("dhcpv6_duid")

_LONGEST_DUID = 130  # RFC 8415 11.1: a type code, and 128 octets
_IA_FIXED = {IA_NA: 12, IA_TA: 4, IA_PD: 12}
"""Identity associations: octets before their options."""


class Lease(NamedTuple):
    """An address or prefix in an identity association; valid: its valid lifetime in seconds.

    association: as those of `Message`.
    """

    address: BoundAddress
    valid: int
    association: bytes


class Message(NamedTuple):
    """A message between a client and a server.

    duid: DUID of the client; empty where there is none.
    leases: leases of all identity associations, but not those with a status other than Success.
    associations: type and number (IAID) of each identity association, as octets.
    fqdn: value of option 39, empty if it is missing.
    """

    kind: int
    xid: int
    duid: bytes
    leases: tuple[Lease, ...]
    associations: tuple[bytes, ...] = ()
    fqdn: bytes = b""


class Relayed(NamedTuple):
    """A message of or to a relay agent (RFC 8415 9); message: the one that is relayed."""

    kind: int
    hops: int
    link: bytes
    peer: bytes
    interface: bytes
    message: bytes


def read_message(data: bytes) -> Message | Malformed:
    """Read a message between a client and a server."""
    if len(data) < 4:
        return TRUNCATED
    options = _options(data, 4)
    if options is None:
        return BAD_OPTIONS
    duids = [value for code, value in options if code == CLIENT_ID]
    if len(duids) > 1 or any(not 3 <= len(duid) <= _LONGEST_DUID for duid in duids):
        return BAD_DUID
    leases: list[Lease] = []
    associations: dict[bytes, None] = {}
    for code, value in options:
        if code in _IA_FIXED:
            inside = _options(value, _IA_FIXED[code])
            association = bytes((code,)) + value[:4]
            if inside is None or not _add_leases(inside, leases, association):
                return BAD_OPTIONS
            associations[association] = None
    duid = duids[0] if duids else b""
    xid = int.from_bytes(data[1:4], "big")
    fqdn = next((value for code, value in options if code == CLIENT_FQDN), b"")
    return Message(data[0], xid, duid, tuple(leases), tuple(associations), fqdn)


def read_relayed(data: bytes) -> Relayed | Malformed:
    """Read a message of or to a relay agent."""
    if len(data) < 34:
        return TRUNCATED
    options = _options(data, 34)
    if options is None:
        return BAD_OPTIONS
    messages = [value for code, value in options if code == RELAY_MESSAGE]
    interfaces = [value for code, value in options if code == INTERFACE_ID]
    if len(messages) != 1 or len(interfaces) > 1:
        return BAD_OPTIONS
    interface = interfaces[0] if interfaces else b""
    return Relayed(data[0], data[1], data[2:18], data[18:34], interface, messages[0])


def option(code: int, value: bytes) -> bytes:
    """The octets of an option (RFC 8415 21.1)."""
    return code.to_bytes(2, "big") + len(value).to_bytes(2, "big") + value


def _options(data: bytes, at: int) -> list[tuple[int, bytes]] | None:
    """The options from there on, with their values; None if they are malformed."""
    options: list[tuple[int, bytes]] = []
    if len(data) < at:
        return None
    while at < len(data):
        start = at + 4
        if len(data) < start:
            return None
        at = start + (data[start - 2] << 8 | data[start - 1])
        if len(data) < at:
            return None
        options.append((data[start - 4] << 8 | data[start - 3], data[start:at]))
    return options


def _add_leases(options: list[tuple[int, bytes]], leases: list[Lease], association: bytes) -> bool:
    """Add the leases of an identity association; whether its options are well-formed."""
    refused = _refuses(options)
    for code, value in options:
        if code == IA_ADDRESS:
            inside = _options(value, 24)
            valid, address = value[20:24], BoundAddress(value[:16], 128)
        elif code == IA_PREFIX:
            inside = _options(value, 25)
            if inside is None or value[8] > 128:
                return False
            valid, address = value[4:8], BoundAddress(masked(value[9:25], value[8]), value[8])
        else:
            continue
        if inside is None:
            return False
        if address.bits and not refused and not _refuses(inside):
            leases.append(Lease(address, int.from_bytes(valid, "big"), association))
    return True


def _refuses(options: list[tuple[int, bytes]]) -> bool:
    """Whether there is a status code other than Success (RFC 8415 21.13)."""
    return any(code == STATUS and value[:2] != b"\0\0" for code, value in options)
