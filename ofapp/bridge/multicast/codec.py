"""The floating-point codes of IGMPv3 and MLDv2."""

from ofapp.bridge.multicast.message import Record
from ofapp.bridge.packet.address import is_host, is_multicast


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
