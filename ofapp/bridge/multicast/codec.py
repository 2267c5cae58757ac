"""What IGMPv3 and MLDv2 have in common: floating-point codes, ends of queries, and records."""

from struct import pack, unpack_from

from ofapp.bridge.multicast.message import Query, Record
from ofapp.bridge.packet.address import is_host, is_multicast
from ofapp.bridge.packet.malformed import Malformed


def _decode(code: int, mantissa_bits: int) -> int:
    width = mantissa_bits + 4  # bits below the flag bit
    if code < 1 << width - 1:
        return code
    mantissa = code & (1 << mantissa_bits) - 1 | 1 << mantissa_bits
    return mantissa << (code >> mantissa_bits & 7) + 3


def _encode(value: int, mantissa_bits: int) -> int:
    flag = 1 << mantissa_bits + 3
    if value < flag:
        return max(value, 0)
    exponent = value.bit_length() - mantissa_bits - 4
    if exponent > 7:
        return 2 * flag - 1
    mantissa = value >> exponent + 3 & (1 << mantissa_bits) - 1
    return flag | exponent << mantissa_bits | mantissa


def decode8(code: int) -> int:
    """Max Resp Code of IGMPv3 and QQIC of both (RFC 3376 4.1.1, 4.1.7; RFC 3810 5.1.9)."""
    return _decode(code, 4)


def encode8(value: int) -> int:
    """Code of the greatest representable number not above `value` (at most 31744)."""
    return _encode(value, 4)


def decode16(code: int) -> int:
    """Maximum Response Code of MLDv2 (RFC 3810 5.1.3)."""
    return _decode(code, 12)


def encode16(value: int) -> int:
    """Code of the greatest representable number not above `value` (at most 8387584)."""
    return _encode(value, 12)


def parse_query(query: Query, data: bytes, at: int) -> Query | Malformed:
    """Parse the end of a query, from its flags on (RFC 3376 4.1.5 to 4.1.9, RFC 3810 5.1.7)."""
    name, size = query.kind.partition("_")[0], len(query.group)
    if len(data) < at + 4:
        return Malformed(f"{name}_truncated")
    flags, qqic, count = unpack_from("!BBH", data, at)
    end = at + 4 + size * count
    if len(data) < end:
        return Malformed(f"{name}_truncated")
    if count and query.general:
        return Malformed(f"{name}_group")  # sources of no group
    sources = tuple([data[i : i + size] for i in range(at + 4, end, size)])
    qqi = float(decode8(qqic))
    return query._replace(sources=sources, suppress=bool(flags & 8), qrv=flags & 7, qqi=qqi)


def end_of_query(sources: tuple[bytes, ...], suppress: bool, qrv: int, qqi: float) -> bytes:
    """The octets that `parse_query` parses."""
    flags = (8 if suppress else 0) | (qrv if qrv < 8 else 0)
    return pack("!BBH", flags, encode8(round(qqi)), len(sources)) + b"".join(sources)


def parse_records(data: bytes, at: int, count: int, size: int) -> tuple[Record, ...] | None:
    """Parse `count` records from offset `at`; None if they run beyond the data.

    Records of an unknown type are skipped (RFC 3376 4.2.12), as are those whose group is no
    multicast address, and sources that no host can have; a duplicate source counts once.
    """
    end = len(data)
    records = []
    for _ in range(count):
        start = at + 4 + size
        if start > end:
            return None
        kind, aux = data[at], data[at + 1]
        total = data[at + 2] << 8 | data[at + 3]
        group = data[at + 4 : start]
        at = start + total * size
        if at + 4 * aux > end:
            return None
        if 1 <= kind <= 6 and is_multicast(group):
            if total:
                sources = dict.fromkeys([data[i : i + size] for i in range(start, at, size)])
                records.append(Record(kind, group, tuple([s for s in sources if is_host(s)])))
            else:
                records.append(Record(kind, group))
        at += 4 * aux
    return tuple(records)
