"""IGMP, MLD, PIM and streams as bytes, written by hand from the RFCs and not from ofapp's encoder.

Addresses are text.  A report's records are (type, group, sources), by the numbers of RFC 3376
4.2.12 and RFC 3810 5.2.12.
"""

from __future__ import annotations

import struct
from ipaddress import IPv6Address, ip_address

from tests.support import frames

IS_IN, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK = range(1, 7)
ALERT4 = b"\x94\x04\x00\x00"
HOP_BY_HOP = b"\x3a\x00\x05\x02\x00\x00\x01\x00"

Record = tuple[int, str, tuple[str, ...]]


def packed(address: str) -> bytes:
    """An address as octets."""
    return ip_address(address).packed


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def group_mac(group: str) -> str:
    """Where frames to a group go (RFC 1112 6.4, RFC 2464 7)."""
    octets = packed(group)
    if len(octets) == 4:
        octets = bytes((0x01, 0x00, 0x5E, octets[1] & 0x7F)) + octets[2:]
    else:
        octets = b"\x33\x33" + octets[12:]
    return octets.hex(":")


def link_local(host: int) -> str:
    """The link-local address of a test host."""
    return str(IPv6Address(0xFE80 << 112 | host))


def ip4(
    host: int,
    destination: str,
    protocol: int,
    payload: bytes,
    *,
    source: str | None = None,
    ttl: int = 1,
    options: bytes = b"",
    vlan: int | None = None,
) -> bytes:
    """An IPv4 packet of a test host to a group, in its frame."""
    sender = packed(f"10.0.{host >> 8}.{host & 0xFF}" if source is None else source)
    head = struct.pack(
        "!BBHHHBB",
        *(0x45 + len(options) // 4, 0, 20 + len(options) + len(payload), 0, 0, ttl, protocol),
    )
    tail = sender + packed(destination) + options
    packet = head + struct.pack("!H", checksum(head + b"\0\0" + tail)) + tail + payload
    return frames.ethernet(
        group_mac(destination), frames.host(host), packet, ethertype=0x0800, vlan=vlan
    )


def ip6(
    host: int,
    destination: str,
    header: int,
    payload: bytes,
    *,
    source: str | None = None,
    hops: int = 1,
    vlan: int | None = None,
) -> bytes:
    """The same of IPv6; `header` is the first next header."""
    sender = packed(link_local(host) if source is None else source)
    packet = struct.pack("!IHBB", 6 << 28, len(payload), header, hops)
    packet += sender + packed(destination) + payload
    return frames.ethernet(
        group_mac(destination), frames.host(host), packet, ethertype=0x86DD, vlan=vlan
    )


def igmp(
    host: int,
    destination: str,
    body: bytes,
    *,
    source: str | None = None,
    ttl: int = 1,
    vlan: int | None = None,
) -> bytes:
    """An IGMP message; its checksum, octets 2 and 3, is filled in."""
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip4(host, destination, 2, body, source=source, ttl=ttl, options=ALERT4, vlan=vlan)


def mld(
    host: int,
    destination: str,
    body: bytes,
    *,
    source: str | None = None,
    hops: int = 1,
    vlan: int | None = None,
) -> bytes:
    """An MLD message behind its hop-by-hop header; the checksum is filled in."""
    sender = packed(link_local(host) if source is None else source)
    pseudo = sender + packed(destination) + struct.pack("!II", len(body), 58)
    body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
    return ip6(host, destination, 0, HOP_BY_HOP + body, source=source, hops=hops, vlan=vlan)


def _is6(group: str) -> bool:
    return ":" in group


def query(
    host: int,
    *,
    family: int = 4,
    version: int | None = None,
    group: str | None = None,
    sources: tuple[str, ...] = (),
    seconds: float = 0.1,
    source: str | None = None,
    vlan: int | None = None,
) -> bytes:
    """A query, general without a group, answers wanted within `seconds`; the newest version.

    It says of the querier: robustness 2, and a general query every 125 s.

    source: of the IP packet, the host's own unless given.
    """
    if family == 4:
        version = version or 3
        code = 0 if version == 1 else round(seconds * 10)
        body = struct.pack("!BBH", 0x11, code, 0) + packed(group or "0.0.0.0")
        if version == 3:
            body += struct.pack("!BBH", 2, 125, len(sources)) + b"".join(map(packed, sources))
        return igmp(host, group or "224.0.0.1", body, source=source, vlan=vlan)
    body = struct.pack("!BBHHH", 130, 0, 0, round(seconds * 1000), 0) + packed(group or "::")
    if version in (None, 2):
        body += struct.pack("!BBH", 2, 125, len(sources)) + b"".join(map(packed, sources))
    return mld(host, group or "ff02::1", body, source=source, vlan=vlan)


def report(host: int, *records: Record, vlan: int | None = None) -> bytes:
    """An IGMPv3 or MLDv2 report of these records."""
    body = b"".join(
        struct.pack("!BBH", kind, 0, len(sources)) + packed(group) + b"".join(map(packed, sources))
        for kind, group, sources in records
    )
    if _is6(records[0][1]):
        body = struct.pack("!BBHHH", 143, 0, 0, 0, len(records)) + body
        return mld(host, "ff02::16", body, vlan=vlan)
    body = struct.pack("!BBHHH", 0x22, 0, 0, 0, len(records)) + body
    return igmp(host, "224.0.0.22", body, vlan=vlan)


def join(host: int, group: str, *, version: int | None = None, vlan: int | None = None) -> bytes:
    """A report that joins a group for all sources, in the newest version unless told."""
    if _is6(group):
        if version == 1:
            body = struct.pack("!BBHHH", 131, 0, 0, 0, 0) + packed(group)
            return mld(host, group, body, vlan=vlan)
        return report(host, (TO_EX, group, ()), vlan=vlan)
    if version in (1, 2):
        body = bytes((0x12 if version == 1 else 0x16, 0, 0, 0)) + packed(group)
        return igmp(host, group, body, vlan=vlan)
    return report(host, (TO_EX, group, ()), vlan=vlan)


def leave(host: int, group: str, *, version: int | None = None, vlan: int | None = None) -> bytes:
    """The opposite of `join`; IGMPv1 knows none."""
    if _is6(group) and version == 1:
        body = struct.pack("!BBHHH", 132, 0, 0, 0, 0) + packed(group)
        return mld(host, "ff02::2", body, vlan=vlan)
    if not _is6(group) and version == 2:
        return igmp(host, "224.0.0.2", bytes((0x17, 0, 0, 0)) + packed(group), vlan=vlan)
    return report(host, (TO_IN, group, ()), vlan=vlan)


def pim_hello(host: int, *, family: int = 4, hold: int = 105) -> bytes:
    """RFC 7761 4.9.2."""
    body = struct.pack("!BBHHHH", 0x20, 0, 0, 1, 2, hold)
    if family == 6:
        pseudo = packed(link_local(host)) + packed("ff02::d") + struct.pack("!II", len(body), 103)
        body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
        return ip6(host, "ff02::d", 103, body)
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip4(host, "224.0.0.13", 103, body)


def router_advertisement(host: int, *, family: int = 4) -> bytes:
    """Multicast router discovery (RFC 4286 3), advertised every 20 s."""
    if family == 6:
        return mld(host, "ff02::6a", struct.pack("!BBHHH", 151, 20, 0, 125, 2))
    return igmp(host, "224.0.0.106", struct.pack("!BBHHH", 0x30, 20, 0, 125, 2))


def router_termination(host: int, *, family: int = 4) -> bytes:
    """Its end (RFC 4286 5): 4 octets."""
    kind = 0x32 if family == 4 else 153
    build, group = (igmp, "224.0.0.106") if family == 4 else (mld, "ff02::6a")
    return build(host, group, bytes((kind, 0, 0, 0)))


def stream(host: int, group: str, *, source: str | None = None, vlan: int | None = None) -> bytes:
    """One UDP frame to a group."""
    udp = struct.pack("!HHHH", 5000, 5000, 16, 0) + b"a stream"
    if _is6(group):
        return ip6(host, group, 17, udp, source=source, hops=16, vlan=vlan)
    return ip4(host, group, 17, udp, source=source, ttl=16, vlan=vlan)
