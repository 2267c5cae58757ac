"""Frames for the tests, as bytes: written by hand so that no packet library stands between a test
and what the switch sees."""

from __future__ import annotations

import struct
from ipaddress import ip_address

BROADCAST = "ff:ff:ff:ff:ff:ff"
BPDU_GROUP = "01:80:c2:00:00:00"
PAUSE_GROUP = "01:80:c2:00:00:01"

ETH_TEST = 0x88B5  # IEEE 802 local experimental
ETH_ARP = 0x0806
ETH_VLAN = 0x8100
ETH_PAUSE = 0x8808
ETH_IPV6 = 0x86DD


def mac(text: str) -> bytes:
    """``aa:bb:cc:dd:ee:ff`` as six bytes."""
    return bytes.fromhex(text.replace(":", ""))


def host(number: int) -> str:
    """The address of the test host *number*: locally administered, unicast."""
    return "02:00:" + ":".join(f"{b:02x}" for b in number.to_bytes(4, "big"))


def ethernet(
    dst: str,
    src: str,
    payload: bytes = b"",
    *,
    ethertype: int = ETH_TEST,
    vlan: int | None = None,
    pcp: int = 0,
) -> bytes:
    """An Ethernet II frame, padded to 60 bytes; *vlan* adds one 802.1Q tag (0: a priority tag)."""
    tag = b"" if vlan is None else struct.pack("!HH", ETH_VLAN, pcp << 13 | vlan)
    frame = mac(dst) + mac(src) + tag + struct.pack("!H", ethertype) + payload
    return frame.ljust(60, b"\0")


def arp_request(src: str, sender: str = "10.0.0.1", target: str = "10.0.0.2") -> bytes:
    """A broadcast ARP request from *src*."""

    def ip(text: str) -> bytes:
        return bytes(int(part) for part in text.split("."))

    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
    return ethernet(
        BROADCAST, src, head + mac(src) + ip(sender) + bytes(6) + ip(target), ethertype=ETH_ARP
    )


def solicitation(src: str, target: str) -> bytes:
    """A neighbour solicitation by which *src* looks for others with its new address *target*."""
    wanted = ip_address(target).packed
    group = b"\xff\x02" + bytes(9) + b"\x01\xff" + wanted[-3:]
    head = struct.pack("!IHBB", 6 << 28, 24, 58, 255) + bytes(16) + group
    body = struct.pack("!BBHI", 135, 0, 0, 0) + wanted  # no test reads the checksum
    return ethernet("33:33:" + group[-4:].hex(":"), src, head + body, ethertype=ETH_IPV6)


def llc(dst: str, src: str, payload: bytes, *, vlan: int | None = None) -> bytes:
    """An 802.3 frame with the spanning tree's LLC header (42 42 03)."""
    body = b"\x42\x42\x03" + payload
    return ethernet(dst, src, body, ethertype=len(body), vlan=vlan)


def bpdu(src: str, *, vlan: int | None = None) -> bytes:
    """A configuration BPDU (802.1D-2004 9.3.1) in which *src* claims to be the root."""
    bridge_id = struct.pack("!H", 0x8000) + mac(src)
    body = struct.pack("!HBBB", 0, 0, 0, 0) + bridge_id + struct.pack("!I", 0) + bridge_id
    body += struct.pack("!HHHHH", 0x8001, 0, 20 << 8, 2 << 8, 15 << 8)
    return llc(BPDU_GROUP, src, body, vlan=vlan)


def pause(src: str) -> bytes:
    """An 802.3x pause frame."""
    return ethernet(PAUSE_GROUP, src, struct.pack("!HH", 1, 0xFFFF), ethertype=ETH_PAUSE)


Marks = tuple[int | None, int | None]
"""PCP and DSCP of a frame; None without a VLAN tag, and for a frame that is no IP packet."""


def marks(frame: bytes) -> Marks:
    """Read the priorities of a frame with one tag or none."""
    pcp, rest = None, frame[12:]
    if rest[:2] == b"\x81\x00":
        pcp, rest = rest[2] >> 5, rest[4:]
    if rest[:2] == b"\x08\x00":
        return pcp, rest[3] >> 2
    if rest[:2] == b"\x86\xdd":
        return pcp, (int.from_bytes(rest[2:4], "big") >> 4 & 0xFF) >> 2
    return pcp, None
