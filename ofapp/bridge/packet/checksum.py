"""The Internet checksum (RFC 1071)."""

from struct import pack


def checksum_ok(data: bytes) -> bool:
    """Whether one's-complement 16-bit words, checksum included, add up to all ones.

    65536 is 1 modulo 65535, so the data read as one big number is congruent to the sum of its
    words: one division in C in place of a loop in Python. All-zero data does not pass.
    """
    number = int.from_bytes(data, "big") << (8 if len(data) & 1 else 0)
    return number != 0 and number % 0xFFFF == 0


def checksum(data: bytes | bytearray) -> int:
    """Internet checksum (RFC 1071) of data whose checksum field is zero."""
    number = int.from_bytes(data, "big") << (8 if len(data) & 1 else 0)
    return 0xFFFF - number % 0xFFFF


def pseudo_header(source: bytes, dest: bytes, length: int, protocol: int) -> bytes:
    """Octets before a message in its checksum: RFC 8200 8.1 for IPv6, RFC 768 for IPv4."""
    if len(source) == 4:
        return source + dest + pack("!HH", protocol, length)
    return source + dest + pack("!II", length, protocol)
