"""Ethernet frames as they are inside the bridge: with one VLAN tag or without (802.1Q 9.3)."""

from typing import NamedTuple

from ofapp.bridge.packet.malformed import Malformed

TAGS = (b"\x81\x00", b"\x88\xa8")
ARP, IPV4, IPV6 = b"\x08\x06", b"\x08\x00", b"\x86\xdd"

TRUNCATED = Malformed("ethernet_truncated")
NESTED = Malformed("ethernet_nested")
"""A second tag, or LLC (802.2): the payload may be hidden from a guard (CVE-2021-27853 ff.)."""


class Ethernet(NamedTuple):
    """A frame's header.

    vid: 0 for an untagged frame; mac: its source; dest: its destination; at: where the payload is.
    """

    vid: int
    mac: int
    dest: int
    ethertype: bytes
    at: int


def frame_vid(frame: bytes) -> int:
    """The VID of a frame; as in OVS, a tag counts only with the inner type behind it."""
    if frame[12:14] in TAGS and len(frame) >= 18:
        return int.from_bytes(frame[14:16], "big") & 0xFFF
    return 0


def tagged(frame: bytes, vid: int) -> bytes:
    """An untagged frame as it is inside the bridge, in a VLAN."""
    return frame[:12] + TAGS[0] + vid.to_bytes(2, "big") + frame[12:] if vid else frame


def without_priority_tag(frame: bytes) -> bytes:
    """Remove a priority tag (VID 0, of either kind); any other frame stays as it is.

    Such a frame is in no other VLAN than an untagged one (802.1Q-2018 6.9.1).
    """
    priority = frame[12:14] in TAGS and len(frame) >= 18 and frame_vid(frame) == 0
    return frame[:12] + frame[16:] if priority else frame


def read_ethernet(frame: bytes) -> Ethernet | Malformed:
    """Read the header of a frame with at most one tag."""
    at, vid = 14, 0
    ethertype = frame[12:14]
    if ethertype in TAGS:
        at, vid = 18, (frame[14] << 8 | frame[15]) & 0xFFF if len(frame) >= 18 else 0
        ethertype = frame[16:18]
    if len(frame) < at:
        return TRUNCATED
    if ethertype in TAGS or ethertype < b"\x06\x00":
        return NESTED
    mac, dest = int.from_bytes(frame[6:12], "big"), int.from_bytes(frame[:6], "big")
    return Ethernet(vid, mac, dest, ethertype, at)
