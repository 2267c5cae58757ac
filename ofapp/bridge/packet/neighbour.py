"""Neighbour discovery for IPv6 (RFC 4861): its messages, and the solicitations of a bridge."""

from struct import pack
from typing import NamedTuple

from ofapp.bridge.packet.address import ANY6, group_mac, is_link_local6, link_local6
from ofapp.bridge.packet.checksum import checksum, checksum_ok, pseudo_header
from ofapp.bridge.packet.ethernet import IPV6, tagged
from ofapp.bridge.packet.ip import ICMPV6, Packet, read_ip
from ofapp.bridge.packet.malformed import Malformed

ROUTER_SOLICITATION, ROUTER_ADVERTISEMENT = 133, 134
SOLICITATION, ADVERTISEMENT, REDIRECT = 135, 136, 137

NOT_ND = Malformed("nd_other")
TRUNCATED = Malformed("nd_truncated")
BAD_CHECKSUM = Malformed("nd_checksum")
BAD_CODE = Malformed("nd_code")
BAD_HOPS = Malformed("nd_hop_limit")
BAD_OPTIONS = Malformed("nd_options")
BAD_ADDRESS = Malformed("nd_address")

_FIXED = {
    ROUTER_SOLICITATION: 8,
    ROUTER_ADVERTISEMENT: 16,
    SOLICITATION: 24,
    ADVERTISEMENT: 24,
    REDIRECT: 40,
}
"""Octets before the options."""

_WITH_TARGET = (SOLICITATION, ADVERTISEMENT, REDIRECT)
_SOURCE_ADDRESS, _TARGET_ADDRESS, _PREFIX = 1, 2, 3
_INFINITE = 0xFFFFFFFF
_SOLICITED_NODE = bytes.fromhex("ff0200000000000000000001ff")


class Prefix(NamedTuple):
    """A prefix information option (RFC 4861 4.6.2).

    octets: 16, those behind `bits` are zero; lifetime: valid lifetime in seconds, None: infinite.
    """

    octets: bytes
    bits: int
    on_link: bool
    autonomous: bool
    lifetime: float | None


class Neighbour(NamedTuple):
    """A message of neighbour discovery.

    kind: its ICMPv6 type.
    target: target of a solicitation, advertisement or redirect.
    link_layer: MAC address in the option on the source (types 133 to 135) or the target.
    solicited: flag S of a neighbour advertisement.
    prefixes: prefixes of a router advertisement.
    """

    packet: Packet
    kind: int
    target: bytes | None = None
    link_layer: int | None = None
    solicited: bool = False
    prefixes: tuple[Prefix, ...] = ()


def read_neighbour(frame: bytes) -> Neighbour | Malformed:
    """Read and validate a message of neighbour discovery (RFC 4861 6.1, 7.1, 8.1)."""
    packet = read_ip(frame)
    if isinstance(packet, Malformed):
        return packet
    if packet.protocol != ICMPV6 or len(packet.source) != 16:
        return NOT_ND
    data = frame[packet.at : packet.end]
    kind = data[0] if data else 0
    fixed = _FIXED.get(kind)
    if fixed is None:
        return NOT_ND
    if len(data) < fixed:
        return TRUNCATED
    if packet.hops != 255:
        return BAD_HOPS
    if data[1]:
        return BAD_CODE
    if not checksum_ok(pseudo_header(packet.source, packet.dest, len(data), ICMPV6) + data):
        return BAD_CHECKSUM
    options = _read_options(data, fixed)
    if options is None:
        return BAD_OPTIONS
    target = data[8:24] if kind in _WITH_TARGET else None
    solicited = kind == ADVERTISEMENT and bool(data[4] & 0x40)
    if solicited and packet.dest[0] == 0xFF:
        return BAD_ADDRESS  # 7.1.2
    if _contradicts(packet, kind, target, _SOURCE_ADDRESS in options):
        return BAD_ADDRESS
    option = _SOURCE_ADDRESS if kind <= SOLICITATION else _TARGET_ADDRESS
    address = options.get(option, [b""])[0]
    if address and len(address) != 8:
        return BAD_OPTIONS
    prefixes = options.get(_PREFIX, []) if kind == ROUTER_ADVERTISEMENT else []
    return Neighbour(
        packet,
        kind,
        target,
        int.from_bytes(address[2:], "big") if address else None,
        solicited,
        tuple([prefix for each in prefixes if (prefix := _read_prefix(each)) is not None]),
    )


def _read_options(data: bytes, at: int) -> dict[int, list[bytes]] | None:
    """The options by type, each with its header (RFC 4861 4.6); None if they are malformed."""
    options: dict[int, list[bytes]] = {}
    while at < len(data):
        length = 8 * data[at + 1] if at + 1 < len(data) else 0
        if not length or len(data) < at + length:
            return None
        options.setdefault(data[at], []).append(data[at : at + length])
        at += length
    return options


def _contradicts(packet: Packet, kind: int, target: bytes | None, names_source: bool) -> bool:
    """Whether the addresses are not those of a valid message."""
    if target is not None and (target[0] == 0xFF or target == ANY6):
        return True
    if packet.source == ANY6:
        if names_source or kind not in (ROUTER_SOLICITATION, SOLICITATION):
            return True
        # 7.1.1: for duplicate address detection only to the solicited-node address
        return kind == SOLICITATION and not packet.dest.startswith(_SOLICITED_NODE)
    if kind in (ROUTER_ADVERTISEMENT, REDIRECT):
        return not is_link_local6(packet.source)
    return packet.source[0] == 0xFF


def _read_prefix(option: bytes) -> Prefix | None:
    """A prefix information option; None if it is to be ignored (RFC 4862 5.5.3)."""
    if len(option) != 32 or option[2] > 128:
        return None
    bits = option[2]
    octets = masked(option[16:32], bits)
    if is_link_local6(octets) or octets[0] == 0xFF:
        return None
    lifetime = int.from_bytes(option[4:8], "big")
    flags = option[3]
    return Prefix(
        octets,
        bits,
        bool(flags & 0x80),
        bool(flags & 0x40),
        None if lifetime == _INFINITE else float(lifetime),
    )


def masked(octets: bytes, bits: int) -> bytes:
    """An address with the bits behind its prefix set to zero."""
    free = 8 * len(octets) - bits
    return (int.from_bytes(octets, "big") >> free << free).to_bytes(len(octets), "big")


def solicited_node(address: bytes) -> bytes:
    """The solicited-node multicast address of an address (RFC 4291 2.7.1)."""
    return _SOLICITED_NODE + address[13:]


def resolve(target: bytes, mac: int, vid: int) -> bytes:
    """Frame of a solicitation for any host that has an address (RFC 4861 7.2.2).

    mac: the sender's, to which the host answers.
    """
    dest = solicited_node(target)
    return _framed(link_local6(mac), dest, group_mac(dest), _solicitation(target, mac), mac, vid)


def probe_reachability(target: bytes, host: int, mac: int, vid: int) -> bytes:
    """Frame of a solicitation to one host for an address of its (RFC 4861 7.3.3).

    host: the MAC address that should have it, and answers to that of the bridge, `mac`.
    """
    dest_mac = host.to_bytes(6, "big")
    return _framed(link_local6(mac), target, dest_mac, _solicitation(target, mac), mac, vid)


def _solicitation(target: bytes, mac: int) -> bytes:
    option = bytes((_SOURCE_ADDRESS, 1)) + mac.to_bytes(6, "big")
    return bytes((SOLICITATION, 0, 0, 0)) + bytes(4) + target + option


def _framed(
    source: bytes, dest: bytes, dest_mac: bytes, message: bytes, mac: int, vid: int
) -> bytes:
    total = checksum(pseudo_header(source, dest, len(message), ICMPV6) + message)
    message = message[:2] + pack("!H", total) + message[4:]
    header = pack("!IHBB", 6 << 28, len(message), ICMPV6, 255) + source + dest
    return tagged(dest_mac + mac.to_bytes(6, "big") + IPV6 + header + message, vid)
