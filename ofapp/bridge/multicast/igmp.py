"""IGMPv1, v2, v3 (RFC 1112, 2236, 3376) and IPv4 multicast router discovery (RFC 4286).

Works on the IGMP octets alone; `decode` has checked the IPv4 header before them.
"""

from struct import pack, unpack_from

from ofapp.bridge.multicast.codec import decode8, encode8, end_of_query, parse_query, parse_records
from ofapp.bridge.multicast.message import (
    Message,
    Other,
    Query,
    Record,
    RecordType,
    Report,
    RouterHello,
)
from ofapp.bridge.packet.address import (
    ALL_IGMPV3,
    ALL_ROUTERS4,
    ALL_SNOOPERS4,
    ALL_SYSTEMS,
    Family,
    is_multicast,
)
from ofapp.bridge.packet.checksum import checksum, checksum_ok
from ofapp.bridge.packet.malformed import Malformed

QUERY, V1_REPORT, V2_REPORT, V2_LEAVE, V3_REPORT = 0x11, 0x12, 0x16, 0x17, 0x22
MRD_ADVERTISEMENT, MRD_TERMINATION = 0x30, 0x32
_KNOWN = frozenset(
    (QUERY, V1_REPORT, V2_REPORT, V2_LEAVE, V3_REPORT, MRD_ADVERTISEMENT, MRD_TERMINATION)
)
_SINGLE = {
    V1_REPORT: ("igmp_v1_report", 1, RecordType.IS_EX),
    V2_REPORT: ("igmp_v2_report", 2, RecordType.IS_EX),
    V2_LEAVE: ("igmp_v2_leave", 2, RecordType.TO_IN),
}

Headers = tuple[bytes, bytes, bytes, int, bool, bool]
"""Ethernet source, IP source, IP destination, TTL, Router Alert present, strict."""


def decode_igmp(data: bytes, headers: Headers) -> Message:
    """Decode one IGMP message. `data` ends where the IPv4 total length says."""
    if len(data) < 4:
        return Malformed("igmp_truncated")
    if not checksum_ok(data):
        return Malformed("igmp_checksum")
    kind = data[0]
    if kind not in _KNOWN:
        return Other("igmp_other")
    host, source, dest, ttl, alert, strict = headers
    if strict and ttl != 1:
        return Malformed("igmp_ttl")
    if kind in (MRD_ADVERTISEMENT, MRD_TERMINATION):
        return decode_mrd(Family.IPV4, kind == MRD_ADVERTISEMENT, data, headers)
    if len(data) < 8:
        return Malformed("igmp_truncated")
    if strict and not alert and kind != V1_REPORT and not (kind == QUERY and not data[1]):
        return Malformed("router_alert")
    if kind == QUERY:
        return _decode_query(data, source, dest, strict)
    if kind == V3_REPORT:
        if strict and dest != ALL_IGMPV3:
            return Malformed("igmp_destination")
        records = parse_records(data, 8, unpack_from("!H", data, 6)[0], 4)
        if records is None:
            return Malformed("igmp_truncated")
        return Report("igmp_v3_report", Family.IPV4, 3, host, source, records)
    group = data[4:8]
    if not is_multicast(group):
        return Malformed("igmp_group")
    name, version, record_type = _SINGLE[kind]
    if strict and dest != (ALL_ROUTERS4 if kind == V2_LEAVE else group):
        return Malformed("igmp_destination")
    return Report(name, Family.IPV4, version, host, source, (Record(record_type, group),))


def _decode_query(data: bytes, source: bytes, dest: bytes, strict: bool) -> Message:
    """RFC 3376 7.1: the length tells versions 1 and 2 from 3, the code 1 from 2."""
    group = data[4:8]
    if any(group):
        if not is_multicast(group):
            return Malformed("igmp_group")
        if strict and dest != group:
            return Malformed("igmp_destination")
    elif dest != ALL_SYSTEMS:  # also the Linux bridge insists here
        return Malformed("igmp_destination")
    if len(data) == 8:
        if data[1] == 0:
            return Query("igmp_v1_query", Family.IPV4, 1, source, bytes(4), (), 10.0)
        return Query("igmp_v2_query", Family.IPV4, 2, source, group, (), data[1] / 10)
    query = Query("igmp_v3_query", Family.IPV4, 3, source, group, (), decode8(data[1]) / 10)
    return parse_query(query, data, 8)


def decode_mrd(family: Family, advertisement: bool, data: bytes, headers: Headers) -> Message:
    """Decode router discovery (RFC 4286 3, 4): the same layout in both families.

    A router counts as gone after three of its intervals, so that one lost message is no loss.
    """
    _, source, dest, _, alert, strict = headers
    if strict and not alert:
        return Malformed("router_alert")
    if not advertisement:
        return RouterHello("mrd_termination", family, source, 0.0)
    if len(data) < 8:
        return Malformed("mrd_truncated")
    if family is Family.IPV4 and dest != ALL_SNOOPERS4:
        return Malformed("mrd_destination")
    return RouterHello("mrd_advertisement", family, source, 3.0 * data[1] or None)


def encode_igmp_query(
    version: int,
    group: bytes,
    sources: tuple[bytes, ...],
    max_resp: float,
    suppress: bool,
    qrv: int,
    qqi: float,
) -> bytes:
    """Octets of a query. Versions 1 and 2 leave out the fields that they do not have.

    max_resp, qqi: seconds; at least a tenth of a second is sent, since 0 would mean version 1.
    """
    tenths = max(1, round(max_resp * 10))
    if version == 1:
        head, tail = bytes((QUERY, 0)), bytes(4)
    elif version == 2:
        head, tail = bytes((QUERY, min(tenths, 255))), group
    else:
        head = bytes((QUERY, encode8(tenths)))
        tail = group + end_of_query(sources, suppress, qrv, qqi)
    return head + pack("!H", checksum(head + bytes(2) + tail)) + tail
