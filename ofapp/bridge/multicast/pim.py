"""PIM hello (RFC 7761 4.9.2): the one PIM message that shows where a multicast router is."""

from __future__ import annotations

from struct import unpack_from

from ofapp.bridge.multicast.address import ALL_PIM4, ALL_PIM6, Family, is_link_local6
from ofapp.bridge.multicast.igmp import Headers
from ofapp.bridge.multicast.message import Message, Other, RouterHello
from ofapp.bridge.packet.checksum import checksum_ok, pseudo_header
from ofapp.bridge.packet.malformed import Malformed

DEFAULT_HOLD = 105.0
_HELLO = 0x20
_FOREVER = 0xFFFF


def decode_pim(data: bytes, family: Family, headers: Headers) -> Message:
    """Decode a hello; every other PIM message is `Other`.

    A hold time of 0 is a goodbye; 0xffff ("never") gives None, so that the port ages all the same.
    """
    if len(data) < 4:
        return Malformed("pim_truncated")
    _, source, dest, ttl, _, strict = headers
    if data[0] != _HELLO or dest not in (ALL_PIM4, ALL_PIM6):
        return Other("pim_other")
    if family is Family.IPV6:
        if not checksum_ok(pseudo_header(source, dest, len(data), 103) + data):
            return Malformed("pim_checksum")
        if not is_link_local6(source):
            return Malformed("pim_off_link")
    elif not checksum_ok(data):
        return Malformed("pim_checksum")
    if strict and ttl != 1:
        return Malformed("pim_ttl")
    hold: float | None = DEFAULT_HOLD
    at = 4
    while at < len(data):
        if at + 4 > len(data):
            return Malformed("pim_truncated")
        option, length = unpack_from("!HH", data, at)
        at += 4 + length
        if at > len(data):
            return Malformed("pim_truncated")
        if option == 1 and length == 2:
            seconds = unpack_from("!H", data, at - 2)[0]
            hold = None if seconds == _FOREVER else float(seconds)
    return RouterHello("pim_hello", family, source, hold)
