"""Decode an Ethernet frame to a message, with checks of the headers below IGMP, MLD and PIM.

Any octets give a result and none raises. A message is accepted only with correct lengths and
checksums. Three demands of the RFCs that deployed hosts and switches do not always meet apply only
in `strict`: the Router Alert option, a TTL or hop limit of 1, and the destination address of a
report. The Linux bridge takes messages without all three [measured with 6.18]. MLD still has to
come from an address of the link.
"""

from struct import unpack_from

from ofapp.bridge.multicast.igmp import Headers, decode_igmp
from ofapp.bridge.multicast.message import Message, Other, RouterHello
from ofapp.bridge.multicast.mld import decode_mld
from ofapp.bridge.packet.address import ALL_PIM4, ALL_PIM6, Family, is_host, is_link_local6
from ofapp.bridge.packet.checksum import checksum_ok, pseudo_header
from ofapp.bridge.packet.malformed import Malformed

_TAGS = b"\x81\x00", b"\x88\xa8"
_ALERT4 = 0x94
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _ICMPV6, _DESTINATION, _PIM = 0, 43, 44, 58, 60, 103


def decode(frame: bytes, strict: bool = False) -> Message:
    """Decode a frame with one VLAN tag or none; see the message types for the results."""
    at = 16 if frame[12:14] in _TAGS else 12
    ethertype = frame[at : at + 2]
    if ethertype == b"\x08\x00":
        return _ipv4(frame, at + 2, strict)
    if ethertype == b"\x86\xdd":
        return _ipv6(frame, at + 2, strict)
    return Malformed("ethernet_truncated") if len(frame) < at + 2 else Other()


def _ipv4(frame: bytes, at: int, strict: bool) -> Message:
    if len(frame) < at + 20:
        return Malformed("ip_truncated")
    header = (frame[at] & 0x0F) * 4
    total = frame[at + 2] << 8 | frame[at + 3]
    if frame[at] >> 4 != 4 or header < 20 or total < header or len(frame) < at + total:
        return Malformed("ip_truncated")
    if not checksum_ok(frame[at : at + header]):
        return Malformed("ip_checksum")
    protocol = frame[at + 9]
    if protocol != 2 and protocol != _PIM:
        return Other()
    if frame[at + 6] & 0x3F or frame[at + 7]:
        return Malformed("ip_fragment")
    source = frame[at + 12 : at + 16]
    if not is_host(source) and any(source):
        return Malformed("ip_source")
    dest = frame[at + 16 : at + 20]
    alert = header > 20 and _has_alert4(frame[at + 20 : at + header])
    data = frame[at + header : at + total]
    headers = (frame[6:12], source, dest, frame[at + 8], alert, strict)
    if protocol == 2:
        return decode_igmp(data, headers)
    return decode_pim(data, Family.IPV4, headers)


def _has_alert4(options: bytes) -> bool:
    """RFC 2113. A broken option list has no alert; nothing else here depends on options."""
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == _ALERT4:
            return True
        if options[at] == 1:
            at += 1
        elif at + 1 < len(options) and options[at + 1] >= 2:
            at += options[at + 1]
        else:
            break
    return False


def _ipv6(frame: bytes, at: int, strict: bool) -> Message:
    if len(frame) < at + 40 or frame[at] >> 4 != 6:
        return Malformed("ip_truncated")
    end = at + 40 + (frame[at + 4] << 8 | frame[at + 5])
    if len(frame) < end:
        return Malformed("ip_truncated")
    header = frame[at + 6]
    source, dest = frame[at + 8 : at + 24], frame[at + 24 : at + 40]
    hop_limit = frame[at + 7]
    at += 40
    hop_by_hop = header == _HOP_BY_HOP
    alert = False
    while header in (_HOP_BY_HOP, _ROUTING, _DESTINATION):
        if end < at + 8 or end < (after := at + 8 + 8 * frame[at + 1]):
            return Malformed("ip_truncated")
        if header == _HOP_BY_HOP:
            alert = alert or _has_alert6(frame[at + 2 : after])
        header = frame[at]
        at = after
    if header == _FRAGMENT:
        # Only the first fragment could be decoded, so no fragment of a message is accepted.
        return Malformed("ip_fragment") if hop_by_hop else Other()
    headers = (frame[6:12], source, dest, hop_limit, alert, strict)
    if header == _ICMPV6:
        return decode_mld(frame[at:end], headers, hop_by_hop)
    if header == _PIM:
        return decode_pim(frame[at:end], Family.IPV6, headers)
    return Other()


def _has_alert6(options: bytes) -> bool:
    """RFC 2711: option type 5, two octets."""
    at = 0
    while at < len(options):
        if options[at] == 0:
            at += 1
            continue
        if at + 1 >= len(options):
            break
        if options[at] == 5 and options[at + 1] == 2:
            return True
        at += 2 + options[at + 1]
    return False


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
