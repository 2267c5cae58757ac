"""MLDv1, v2 (RFC 2710, 3810) and IPv6 multicast router discovery (RFC 4286).

Works on the ICMPv6 octets; `decode` has parsed the IPv6 headers before them.
"""

from struct import pack, unpack_from

from ofapp.bridge.multicast.codec import (
    decode16,
    encode16,
    end_of_query,
    parse_query,
    parse_records,
)
from ofapp.bridge.multicast.igmp import Headers, decode_mrd
from ofapp.bridge.multicast.message import (
    Message,
    Other,
    Query,
    Record,
    RecordType,
    Report,
)
from ofapp.bridge.packet.address import (
    ALL_MLDV2,
    ALL_NODES,
    ALL_ROUTERS6,
    ALL_SNOOPERS6,
    ANY6,
    Family,
    is_link_local6,
    is_multicast,
)
from ofapp.bridge.packet.checksum import checksum, checksum_ok, pseudo_header
from ofapp.bridge.packet.malformed import Malformed

QUERY, V1_REPORT, V1_DONE, V2_REPORT = 130, 131, 132, 143
MRD_ADVERTISEMENT, MRD_TERMINATION = 151, 153
_KNOWN = frozenset((QUERY, V1_REPORT, V1_DONE, V2_REPORT, MRD_ADVERTISEMENT, MRD_TERMINATION))
_SINGLE = {
    V1_REPORT: ("mld_v1_report", RecordType.IS_EX),
    V1_DONE: ("mld_v1_leave", RecordType.TO_IN),
}


def decode_mld(data: bytes, headers: Headers, hop_by_hop: bool) -> Message:
    """Decode one ICMPv6 message. `data` ends where the IPv6 payload length says."""
    if len(data) < 4:
        return Malformed("mld_truncated")
    kind = data[0]
    if kind not in _KNOWN:
        return Other("icmpv6_other")
    host, source, dest, hop_limit, alert, strict = headers
    if not checksum_ok(pseudo_header(source, dest, len(data), 58) + data):
        return Malformed("mld_checksum")
    if strict and hop_limit != 1:
        return Malformed("mld_hop_limit")
    if not hop_by_hop or (strict and not alert):
        return Malformed("router_alert")
    # RFC 4541 3 and RFC 3590 4: an unspecified source is no reason to reject a report (it is
    # what a host has during duplicate address detection), nor a proxy query.
    if not is_link_local6(source) and (source != ANY6 or kind >= MRD_ADVERTISEMENT):
        return Malformed("mld_off_link")
    if kind >= MRD_ADVERTISEMENT:
        if dest != ALL_SNOOPERS6 and kind == MRD_ADVERTISEMENT:
            return Malformed("mrd_destination")
        return decode_mrd(Family.IPV6, kind == MRD_ADVERTISEMENT, data, headers)
    if kind == V2_REPORT:
        if strict and dest != ALL_MLDV2:
            return Malformed("mld_destination")
        if len(data) < 8:
            return Malformed("mld_truncated")
        records = parse_records(data, 8, unpack_from("!H", data, 6)[0], 16)
        if records is None:
            return Malformed("mld_truncated")
        return Report("mld_v2_report", Family.IPV6, 2, host, source, records)
    if len(data) < 24:
        return Malformed("mld_truncated")
    if kind == QUERY:
        return _decode_query(data, source, dest, strict)
    group = data[8:24]
    if not is_multicast(group):
        return Malformed("mld_group")
    if strict and dest != (ALL_ROUTERS6 if kind == V1_DONE else group):
        return Malformed("mld_destination")
    name, record_type = _SINGLE[kind]
    return Report(name, Family.IPV6, 1, host, source, (Record(record_type, group),))


def _decode_query(data: bytes, source: bytes, dest: bytes, strict: bool) -> Message:
    """RFC 3810 8.1: the length tells the version."""
    group = data[8:24]
    if any(group):
        if not is_multicast(group):
            return Malformed("mld_group")
        if strict and dest != group:
            return Malformed("mld_destination")
    elif dest != ALL_NODES:  # also the Linux bridge insists here
        return Malformed("mld_destination")
    code: int = unpack_from("!H", data, 4)[0]
    if len(data) == 24:
        return Query("mld_v1_query", Family.IPV6, 1, source, group, (), code / 1000)
    query = Query("mld_v2_query", Family.IPV6, 2, source, group, (), decode16(code) / 1000)
    return parse_query(query, data, 24)


def encode_mld_query(
    version: int,
    source: bytes,
    dest: bytes,
    group: bytes,
    sources: tuple[bytes, ...],
    max_resp: float,
    suppress: bool,
    qrv: int,
    qqi: float,
) -> bytes:
    """ICMPv6 octets of a query; times in seconds. The checksum covers source and destination."""
    millis = max(1, round(max_resp * 1000))
    if version == 1:
        body = pack("!HH", min(millis, 0xFFFF), 0) + group
    else:
        body = pack("!HH", encode16(millis), 0) + group
        body += end_of_query(sources, suppress, qrv, qqi)
    head = bytes((QUERY, 0))
    total = checksum(pseudo_header(source, dest, 4 + len(body), 58) + head + bytes(2) + body)
    return head + pack("!H", total) + body
