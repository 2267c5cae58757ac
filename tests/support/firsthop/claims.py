"""What a frame claims of its sender, checked against what the sender may claim.

Written apart from the code under test, and more simply: a whole frame is there, and all headers
are read to the end, where the switch matches on fields.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from ipaddress import ip_address

TAGS = (0x8100, 0x88A8, 0x9100)
UNSPECIFIED = bytes(16)
EXTENSIONS = (0, 43, 60, 44)  # hop-by-hop, routing, destination options, fragment


def lie(frame: bytes, mac: str, addresses: Collection[str]) -> str | None:
    """Why a host with this MAC address and these IP addresses must not send the frame; or None."""
    ether = bytes.fromhex(mac.replace(":", ""))
    truth = {ip_address(address).packed for address in addresses}
    kind, body, tags = _payload(frame)
    if frame[6:12] != ether and not _new_host(frame, kind, body):
        return "source MAC address"
    if tags:
        return "a tag on an access port"
    if kind == 0x0806:
        return _arp(body, ether, truth)
    if kind == 0x0800:
        return _ipv4(body, frame[6:12], truth)
    if kind == 0x86DD:
        return _ipv6(body, ether, truth)
    if kind < 0x600:
        return "LLC" if body[:3] == b"\xaa\xaa\x03" else None
    return None


def same(frame: bytes) -> bytes:
    """What is the same of a frame wherever it is seen: without tags and padding."""
    kind, body, _ = _payload(frame)
    return frame[:12] + struct.pack("!H", kind) + body.rstrip(b"\0")


def _payload(frame: bytes) -> tuple[int, bytes, int]:
    at = 12
    while struct.unpack_from("!H", frame, at)[0] in TAGS:
        at += 4
    return struct.unpack_from("!H", frame, at)[0], frame[at + 2 :], (at - 12) // 4


def _new_host(frame: bytes, kind: int, body: bytes) -> bool:
    """Whether another host begins to ask for a lease: a port may have several hosts."""
    head = (body[0] & 15) * 4
    return (
        (kind, body[9], body[12:16]) == (0x0800, 17, bytes(4))
        and body[head + 2 : head + 4] == b"\0C"
        and body[head + 36 : head + 42] == frame[6:12]
    )


def _arp(body: bytes, ether: bytes, truth: set[bytes]) -> str | None:
    hardware, address = body[8:14], body[14:18]
    if hardware != ether:
        return "ARP sender's MAC address"
    return None if address in truth or address == bytes(4) else "ARP sender's address"


def _ipv4(body: bytes, ether: bytes, truth: set[bytes]) -> str | None:
    head, protocol, source = (body[0] & 15) * 4, body[9], body[12:16]
    if source not in truth and source != bytes(4):
        return "IPv4 source"
    rest = body[head:]
    if protocol == 1 and rest[:1] == b"\x05":
        return "ICMP redirect"
    if protocol != 17:
        return "source 0.0.0.0" if source == bytes(4) and protocol != 2 else None
    if struct.unpack_from("!H", body, 6)[0] & 0x3FFF:
        return "fragment to a group" if body[16] >= 224 else None
    sender, receiver = struct.unpack_from("!HH", rest)
    if sender == 67:
        return "DHCP server"
    if receiver == 67 and rest[8 + 28 : 8 + 34] != ether:
        return "DHCP client's hardware address"
    if receiver == 67 and b"ofapp!" in rest:
        return "option 82"
    return None


def _ipv6(body: bytes, ether: bytes, truth: set[bytes]) -> str | None:
    following, hops, source = body[6], body[7], body[8:24]
    if source not in truth and source != UNSPECIFIED:
        return "IPv6 source"
    at, fragment = 40, False
    while following in EXTENSIONS and at + 8 <= len(body):
        fragment |= following == 44
        if following == 44 and struct.unpack_from("!H", body, at + 2)[0] >> 3:
            return None  # nothing without its first fragment (RFC 8200 4.5, RFC 5722)
        length = 8 if following == 44 else 8 + body[at + 1] * 8
        following, at = body[at], at + length
    if fragment:
        return "fragment of neighbour discovery" if following == 58 and hops == 255 else None
    rest = body[at:]
    if following == 17 and struct.unpack_from("!H", rest)[0] == 547:
        return "DHCPv6 server"
    return _icmpv6(rest, ether, truth) if following == 58 and rest else None


def _icmpv6(rest: bytes, ether: bytes, truth: set[bytes]) -> str | None:
    if rest[0] in (134, 137):
        return "router advertisement" if rest[0] == 134 else "redirect"
    if rest[0] == 136 and rest[8:24] not in truth:
        return "neighbour advertisement"
    options = rest[24:]
    while rest[0] in (135, 136) and len(options) >= 8:
        if not options[1]:
            return "option of length 0"
        if options[0] == rest[0] - 134 and options[2:8] != ether:
            return "link-layer address option"
        options = options[options[1] * 8 :]
    return None
