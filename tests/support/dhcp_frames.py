"""Frames of DHCP, ARP and neighbour discovery, built here independently of the code under test."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from ipaddress import ip_address

from tests.support.multicast_frames import checksum

BROADCAST = 0xFFFFFFFFFFFF
SERVER = 0x02_5E_00_00_00_01
"""MAC address of the DHCP server."""
ALL_AGENTS = "ff02::1:2"
COOKIE = b"\x63\x82\x53\x63"

DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE, INFORM = range(1, 9)
SOLICIT, ADVERTISE, REQUEST6, CONFIRM, RENEW, REBIND, REPLY = range(1, 8)
RELEASE6, DECLINE6, RECONFIGURE, INFORMATION_REQUEST, RELAY_FORWARD, RELAY_REPLY = range(8, 14)


def ip(text: str) -> bytes:
    return ip_address(text).packed


def ethernet(mac: int, dest: int, ethertype: int, payload: bytes, vid: int = 0) -> bytes:
    tag = struct.pack("!HH", 0x8100, vid) if vid else b""
    head = dest.to_bytes(6, "big") + mac.to_bytes(6, "big") + tag
    return head + struct.pack("!H", ethertype) + payload


def ipv4(source: str, dest: str, payload: bytes, protocol: int = 17, options: bytes = b"") -> bytes:
    words = 5 + len(options) // 4
    total = 4 * words + len(payload)
    head = struct.pack("!BBHHHBB", 0x40 | words, 0, total, 1, 0, 64, protocol)
    rest = ip(source) + ip(dest) + options
    return head + struct.pack("!H", checksum(head + bytes(2) + rest)) + rest + payload


def ipv6(
    source: str, dest: str, payload: bytes, protocol: int, hops: int = 255, chain: bytes = b""
) -> bytes:
    """chain: extension headers; `protocol` is then the type of the first."""
    length = len(chain) + len(payload)
    head = struct.pack("!IHBB", 6 << 28, length, protocol, hops)
    return head + ip(source) + ip(dest) + chain + payload


def pseudo(source: str, dest: str, payload: bytes, protocol: int) -> bytes:
    return ip(source) + ip(dest) + struct.pack("!II", len(payload), protocol)


def udp(source: str, dest: str, ports: tuple[int, int], payload: bytes) -> bytes:
    head = struct.pack("!HHHH", *ports, 8 + len(payload), 0)
    if ":" not in source:
        before = ip(source) + ip(dest) + struct.pack("!HH", 17, 8 + len(payload))
    else:
        before = pseudo(source, dest, head + payload, 17)
    total = checksum(before + head + payload)
    return head[:6] + struct.pack("!H", total or 0xFFFF) + payload


# DHCPv4


def option4(code: int, value: bytes) -> bytes:
    return bytes((code, len(value))) + value


@dataclass(frozen=True, kw_only=True)
class Bootp:
    """A DHCPv4 message; options: those beside option 53, which is `kind` unless that is None."""

    op: int = 1
    kind: int | None = DISCOVER
    mac: int
    xid: int = 0x12345678
    ciaddr: str = "0.0.0.0"
    yiaddr: str = "0.0.0.0"
    giaddr: str = "0.0.0.0"
    hardware: tuple[int, int] = (1, 6)
    sname: bytes = b""
    file: bytes = b""
    cookie: bytes = COOKIE
    options: tuple[tuple[int, bytes], ...] = ()
    end: bytes = b"\xff"
    shortest: int = 300

    @property
    def octets(self) -> bytes:
        head = struct.pack("!BBBBIHH", self.op, *self.hardware, 0, self.xid, 0, 0)
        head += ip(self.ciaddr) + ip(self.yiaddr) + bytes(4) + ip(self.giaddr)
        head += self.mac.to_bytes(6, "big").ljust(16, b"\0")
        head += self.sname.ljust(64, b"\0") + self.file.ljust(128, b"\0")
        kind = () if self.kind is None else ((53, bytes((self.kind,))),)
        options = b"".join(option4(*each) for each in (*kind, *self.options))
        return (head + self.cookie + options + self.end).ljust(self.shortest, b"\0")


def from_client4(
    message: Bootp,
    *,
    vid: int = 0,
    mac: int | None = None,
    dest: str = "255.255.255.255",
    ports: tuple[int, int] = (68, 67),
    source: str | None = None,
) -> bytes:
    """mac: of the frame, if not the message's; source: if not its ciaddr."""
    source = message.ciaddr if source is None else source
    packet = ipv4(source, dest, udp(source, dest, ports, message.octets))
    to = BROADCAST if dest == "255.255.255.255" else SERVER
    return ethernet(message.mac if mac is None else mac, to, 0x0800, packet, vid)


def from_server4(
    message: Bootp,
    *,
    vid: int = 0,
    dest: str | None = None,
    ports: tuple[int, int] = (67, 68),
    broadcast: bool = False,
) -> bytes:
    dest = dest or ("255.255.255.255" if broadcast else message.yiaddr)
    packet = ipv4("10.0.0.1", dest, udp("10.0.0.1", dest, ports, message.octets))
    return ethernet(SERVER, BROADCAST if broadcast else message.mac, 0x0800, packet, vid)


def discover(mac: int, xid: int = 1, vid: int = 0) -> bytes:
    return from_client4(Bootp(mac=mac, xid=xid), vid=vid)


def request(mac: int, address: str, xid: int = 1, vid: int = 0) -> bytes:
    """A broadcast request of an offered address (RFC 2131 4.3.2, SELECTING)."""
    options = ((50, ip(address)), (54, ip("10.0.0.1")))
    return from_client4(Bootp(mac=mac, xid=xid, kind=REQUEST, options=options), vid=vid)


def renewal(mac: int, address: str, xid: int = 1, vid: int = 0) -> bytes:
    """A unicast request for more time (RENEWING)."""
    message = Bootp(mac=mac, xid=xid, kind=REQUEST, ciaddr=address)
    return from_client4(message, vid=vid, dest="10.0.0.1")


def release(mac: int, address: str, vid: int = 0) -> bytes:
    message = Bootp(mac=mac, kind=RELEASE, ciaddr=address)
    return from_client4(message, vid=vid, dest="10.0.0.1")


def decline(mac: int, address: str, vid: int = 0) -> bytes:
    return from_client4(Bootp(mac=mac, kind=DECLINE, options=((50, ip(address)),)), vid=vid)


def offer(mac: int, address: str, xid: int = 1, vid: int = 0) -> bytes:
    return ack(mac, address, xid, vid, kind=OFFER)


def ack(
    mac: int, address: str, xid: int = 1, vid: int = 0, seconds: int = 3600, kind: int = ACK
) -> bytes:
    options = ((54, ip("10.0.0.1")), (51, struct.pack("!I", seconds)))
    message = Bootp(op=2, mac=mac, xid=xid, kind=kind, yiaddr=address, options=options)
    return from_server4(message, vid=vid)


def nak(mac: int, xid: int = 1, vid: int = 0) -> bytes:
    message = Bootp(op=2, mac=mac, xid=xid, kind=NAK, options=((54, ip("10.0.0.1")),))
    return from_server4(message, vid=vid, broadcast=True)


# DHCPv6


def link_local(mac: int) -> str:
    octets = bytearray(mac.to_bytes(6, "big"))
    octets[0] ^= 2
    return str(
        ip_address(bytes.fromhex("fe80000000000000") + octets[:3] + b"\xff\xfe" + octets[3:])
    )


def option6(code: int, value: bytes) -> bytes:
    return struct.pack("!HH", code, len(value)) + value


def duid(mac: int) -> bytes:
    """DUID-LL (RFC 8415 11.4)."""
    return b"\0\3\0\1" + mac.to_bytes(6, "big")


def status(code: int) -> bytes:
    return option6(13, struct.pack("!H", code) + b"text")


def ia_na(*addresses: tuple[str, int], extra: bytes = b"") -> bytes:
    """Addresses, each with its valid lifetime."""
    inside = b"".join(
        option6(5, ip(address) + struct.pack("!II", valid, valid)) for address, valid in addresses
    )
    return option6(3, struct.pack("!III", 1, 0, 0) + inside + extra)


def ia_ta(address: str, valid: int) -> bytes:
    inside = option6(5, ip(address) + struct.pack("!II", valid, valid))
    return option6(4, struct.pack("!I", 1) + inside)


def ia_pd(prefix: str, bits: int, valid: int) -> bytes:
    inside = option6(26, struct.pack("!IIB", valid, valid, bits) + ip(prefix))
    return option6(25, struct.pack("!III", 1, 0, 0) + inside)


def message6(kind: int, xid: int, client: bytes | None, *options: bytes) -> bytes:
    identity = b"" if client is None else option6(1, client)
    return bytes((kind,)) + xid.to_bytes(3, "big") + identity + b"".join(options)


def from_client6(
    mac: int, payload: bytes, *, vid: int = 0, source: str | None = None, dest: str = ALL_AGENTS
) -> bytes:
    source = link_local(mac) if source is None else source
    to = 0x3333_0001_0002 if dest == ALL_AGENTS else SERVER
    packet = ipv6(source, dest, udp(source, dest, (546, 547), payload), 17, 64)
    return ethernet(mac, to, 0x86DD, packet, vid)


def from_server6(
    mac: int,
    payload: bytes,
    *,
    vid: int = 0,
    dest: str | None = None,
    ports: tuple[int, int] = (547, 546),
) -> bytes:
    dest = link_local(mac) if dest is None else dest
    source = link_local(SERVER)
    packet = ipv6(source, dest, udp(source, dest, ports, payload), 17, 64)
    return ethernet(SERVER, mac, 0x86DD, packet, vid)


def request6(mac: int, *options: bytes, xid: int = 1, vid: int = 0, kind: int = REQUEST6) -> bytes:
    return from_client6(mac, message6(kind, xid, duid(mac), *options), vid=vid)


def reply6(mac: int, *options: bytes, xid: int = 1, vid: int = 0, kind: int = REPLY) -> bytes:
    server = option6(2, duid(SERVER))
    return from_server6(mac, message6(kind, xid, duid(mac), server, *options), vid=vid)


# ARP and neighbour discovery


@dataclass(frozen=True)
class Arp:
    sender_mac: int
    sender: str
    target: str
    operation: int = 1
    target_mac: int = 0

    def frame(self, *, mac: int | None = None, vid: int = 0) -> bytes:
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, self.operation)
        body += self.sender_mac.to_bytes(6, "big") + ip(self.sender)
        body += self.target_mac.to_bytes(6, "big") + ip(self.target)
        source = self.sender_mac if mac is None else mac
        return ethernet(source, BROADCAST, 0x0806, body, vid)


@dataclass(frozen=True, kw_only=True)
class Nd:
    """A message of neighbour discovery; body: behind the checksum, with its options."""

    kind: int
    mac: int
    source: str
    dest: str
    body: bytes
    hops: int = 255
    code: int = 0
    vid: int = 0
    chain: bytes = b""
    first: int = 58
    checked: bool = True
    """first: the next header of IPv6, with a chain; checked: the checksum is right."""

    @property
    def frame(self) -> bytes:
        message = bytes((self.kind, self.code, 0, 0)) + self.body
        total = checksum(pseudo(self.source, self.dest, message, 58) + message)
        message = message[:2] + struct.pack("!H", total ^ (not self.checked)) + message[4:]
        packet = ipv6(self.source, self.dest, message, self.first, self.hops, self.chain)
        dest = ip(self.dest)
        to = int.from_bytes(b"\x33\x33" + dest[12:], "big") if dest[0] == 0xFF else SERVER
        return ethernet(self.mac, to, 0x86DD, packet, self.vid)

    def but(self, **changes: object) -> Nd:
        return replace(self, **changes)  # type: ignore[arg-type]


def link_layer(kind: int, mac: int) -> bytes:
    """The option on the source (1) or the target (2)."""
    return bytes((kind, 1)) + mac.to_bytes(6, "big")


def solicited_node(address: str) -> str:
    return str(ip_address(bytes.fromhex("ff0200000000000000000001ff") + ip(address)[13:]))


def dad(mac: int, target: str, *, vid: int = 0) -> Nd:
    """A solicitation for duplicate address detection."""
    body = bytes(4) + ip(target)
    dest = solicited_node(target)
    return Nd(kind=135, mac=mac, source="::", dest=dest, body=body, vid=vid)


def solicitation(mac: int, source: str, target: str, *, vid: int = 0) -> Nd:
    body = bytes(4) + ip(target) + link_layer(1, mac)
    dest = solicited_node(target)
    return Nd(kind=135, mac=mac, source=source, dest=dest, body=body, vid=vid)


def advertisement(mac: int, address: str, *, dest: str = "ff02::1", vid: int = 0) -> Nd:
    flags = 0x20000000 if dest.startswith("ff") else 0x60000000
    body = struct.pack("!I", flags) + ip(address) + link_layer(2, mac)
    return Nd(kind=136, mac=mac, source=address, dest=dest, body=body, vid=vid)


def prefix_option(prefix: str, bits: int, valid: int = 3600, flags: int = 0xC0) -> bytes:
    return struct.pack("!BBBBIII", 3, 4, bits, flags, valid, valid, 0) + ip(prefix)


def router_advertisement(mac: int, *options: bytes, vid: int = 0) -> Nd:
    body = struct.pack("!BBHII", 64, 0, 1800, 0, 0) + link_layer(1, mac) + b"".join(options)
    source = link_local(mac)
    return Nd(kind=134, mac=mac, source=source, dest="ff02::1", body=body, vid=vid)


def router_solicitation(mac: int, source: str | None = None, *, vid: int = 0) -> Nd:
    source = link_local(mac) if source is None else source
    body = bytes(4) + (b"" if source == "::" else link_layer(1, mac))
    return Nd(kind=133, mac=mac, source=source, dest="ff02::2", body=body, vid=vid)
