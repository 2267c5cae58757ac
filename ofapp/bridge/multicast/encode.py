"""Whole Ethernet frames: our own queries, and reports of hosts (RFC 2236, 3376, 2710, 3810)."""

from struct import pack
from typing import NamedTuple

from ofapp.bridge.multicast.igmp import V3_REPORT, encode_igmp_query
from ofapp.bridge.multicast.message import Record
from ofapp.bridge.multicast.mld import V2_REPORT, encode_mld_query
from ofapp.bridge.packet.address import (
    ALL_IGMPV3,
    ALL_MLDV2,
    ALL_NODES,
    ALL_SYSTEMS,
    ANY6,
    Family,
    group_mac,
)
from ofapp.bridge.packet.checksum import checksum, pseudo_header

# Internetwork control precedence, as RFC 3376 4 asks; id and fragment fields 0; TTL 1; IGMP.
_ALERT4 = b"\x94\x04\x00\x00"
_ALERT6 = b"\x3a\x00\x05\x02\x00\x00\x01\x00"  # next header ICMPv6; Router Alert for MLD; PadN


class QuerySpec(NamedTuple):
    """Fields of a query. Times in seconds; `group` is the unspecified address for a general one."""

    family: Family
    version: int
    group: bytes
    sources: tuple[bytes, ...] = ()
    max_resp: float = 10.0
    suppress: bool = False
    qrv: int = 2
    qqi: float = 125.0


def encode_query(spec: QuerySpec, mac: int, source: bytes, vid: int = 0) -> bytes:
    """Frame of a query from `mac` and IP address `source`; 802.1Q-tagged if `vid` is not 0.

    A general query goes to all systems, a specific one to its group. No padding: the port that
    sends it pads to the Ethernet minimum.
    """
    general = not any(spec.group)
    rest = (spec.sources, spec.max_resp, spec.suppress, spec.qrv, spec.qqi)
    if spec.family is Family.IPV4:
        dest = ALL_SYSTEMS if general else spec.group
        message = encode_igmp_query(spec.version, spec.group, *rest)
    else:
        dest = ALL_NODES if general else spec.group
        message = encode_mld_query(spec.version, source, dest, spec.group, *rest)
    return _frame(source, dest, message, mac, vid)


def encode_report(record: Record, mac: int, vid: int = 0) -> bytes:
    """Frame of an IGMPv3 or MLDv2 report of one record, from a host without an address."""
    kind, group, sources = record
    head = pack("!BBH", kind, 0, len(sources))
    record_octets = head + group + b"".join(sources)
    if len(group) == 4:
        source, dest = bytes(4), ALL_IGMPV3
        message = pack("!BBHHH", V3_REPORT, 0, 0, 0, 1) + record_octets
        total = checksum(message)
    else:
        source, dest = ANY6, ALL_MLDV2
        message = pack("!BBHHH", V2_REPORT, 0, 0, 0, 1) + record_octets
        total = checksum(pseudo_header(source, dest, len(message), 58) + message)
    return _frame(source, dest, message[:2] + pack("!H", total) + message[4:], mac, vid)


def _frame(source: bytes, dest: bytes, message: bytes, mac: int, vid: int) -> bytes:
    """An IGMP or MLD message in its packet and frame."""
    if len(source) == 4:
        head = pack("!BBHHHBB", 0x46, 0xC0, 24 + len(message), 0, 0, 1, 2)
        tail = source + dest + _ALERT4
        packet = head + pack("!H", checksum(head + bytes(2) + tail)) + tail + message
        ethertype = b"\x08\x00"
    else:
        head = pack("!IHBB", 6 << 28, 8 + len(message), 0, 1)
        packet = head + source + dest + _ALERT6 + message
        ethertype = b"\x86\xdd"
    tag = pack("!HH", 0x8100, vid) if vid else b""
    return group_mac(dest) + mac.to_bytes(6, "big") + tag + ethertype + packet
