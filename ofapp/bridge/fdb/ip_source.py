"""The IP address of a frame's sender, from the beginning of the frame.

64 octets are enough, except for an address that its host is about to take (RFC 4862 5.4.2): that
is the target of a solicitation from ::, up to the 86th octet.

A frame from a router has the address of a remote host.  The sender's own address is in ARP and
neighbour discovery, which no router forwards, and in packets whose hop limit is still an initial
one: 64, 128 or 255.
"""

from __future__ import annotations

from ofapp.bridge.ports.sending import TAGS

_ARP, _IPV4, _IPV6 = b"\x08\x06", b"\x08\x00", b"\x86\xdd"
_OF_ETHERNET = b"\x00\x01\x08\x00\x06\x04"  # RFC 826: hardware and protocol, and their lengths
_UNTOUCHED = (b"\x40", b"\x80", b"\xff")
_IGMP = b"\x02"
_ICMPV6, _SOLICITATION = b"\x3a", b"\x87"
_UNSPECIFIED = bytes(16)


def own_address(frame: bytes) -> bytes | None:
    """The sender's own address, 4 or 16 octets; None where the frame does not show it."""
    at = 14
    kind = frame[12:14]
    while kind in TAGS:
        kind = frame[at + 2 : at + 4]
        at += 4
    if kind == _ARP:
        if frame[at : at + 6] == _OF_ETHERNET and frame[at + 8 : at + 14] == frame[6:12]:
            return _of_a_host(frame[at + 14 : at + 18], 4)
    elif kind == _IPV4:
        if frame[at + 8 : at + 9] in _UNTOUCHED or frame[at + 9 : at + 10] == _IGMP:
            return _of_a_host(frame[at + 12 : at + 16], 4)
    elif kind == _IPV6:
        source = frame[at + 8 : at + 24]
        if source == _UNSPECIFIED and _is_solicitation(frame, at):
            source = frame[at + 48 : at + 64]
        if frame[at + 7 : at + 8] in _UNTOUCHED or _is_link_local(source):
            return _of_a_host(source, 16)
    return None


def _is_solicitation(frame: bytes, at: int) -> bool:
    """Whether the IPv6 packet that begins there is a neighbour solicitation (RFC 4861 4.3)."""
    return frame[at + 6 : at + 7] == _ICMPV6 and frame[at + 40 : at + 41] == _SOLICITATION


def _is_link_local(source: bytes) -> bool:
    return len(source) == 16 and source[0] == 0xFE and source[1] & 0xC0 == 0x80


def _of_a_host(address: bytes, length: int) -> bytes | None:
    """The address, unless it is cut off, unspecified (0.0.0.0, ::), loopback or a group's."""
    if len(address) != length:
        return None
    if length == 4:
        return None if address[0] in (0, 127) or address[0] >= 224 else address
    return None if address[0] == 0xFF or not any(address[:15]) else address
