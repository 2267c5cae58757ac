"""Values of SNMP objects: a type of RFC 2741 5.4 and a value."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

Oid = tuple[int, ...]


class Kind(IntEnum):
    """Types of values, and of their substitutes."""

    INTEGER = 2
    OCTETS = 4
    NULL = 5
    OID = 6
    COUNTER32 = 65
    GAUGE32 = 66
    TICKS = 67
    COUNTER64 = 70
    NO_OBJECT = 128
    NO_INSTANCE = 129
    END_OF_VIEW = 130


class Value(NamedTuple):
    """content: a number, octets or an object identifier, by its type; None for those without."""

    kind: Kind
    content: int | bytes | Oid | None = None


END_OF_VIEW = Value(Kind.END_OF_VIEW)
NO_OBJECT = Value(Kind.NO_OBJECT)
NOWHERE = Value(Kind.OID, (0, 0))


def integer(number: int) -> Value:
    """INTEGER, and what is made of it: enumerations, TruthValue (1 true, 2 false)."""
    return Value(Kind.INTEGER, number)


def truth(true: bool) -> Value:
    """TruthValue (RFC 2579)."""
    return integer(1 if true else 2)


def octets(text: bytes | str) -> Value:
    """OCTET STRING."""
    return Value(Kind.OCTETS, text.encode() if isinstance(text, str) else text)


def counter32(number: int | None) -> Value:
    """It wraps after 2^32 - 1; what is not counted is 0."""
    return Value(Kind.COUNTER32, (number or 0) & 0xFFFFFFFF)


def counter64(number: int | None) -> Value:
    """Likewise after 2^64 - 1."""
    return Value(Kind.COUNTER64, (number or 0) & 0xFFFFFFFFFFFFFFFF)


def gauge32(number: int) -> Value:
    """It stays at its most when there is more (RFC 2578 7.1.7)."""
    return Value(Kind.GAUGE32, min(max(number, 0), 0xFFFFFFFF))


def ticks(seconds: float) -> Value:
    """TimeTicks, of a hundredth of a second."""
    return Value(Kind.TICKS, int(seconds * 100) & 0xFFFFFFFF)


def mac(text: str) -> bytes:
    """The octets of a MAC address as the API writes it."""
    return bytes.fromhex(text.replace(":", ""))


def bridge_id(text: str) -> bytes:
    """The octets of a bridge identifier as the API writes it: 8000.02:00:00:00:00:01."""
    priority, _, address = text.partition(".")
    return bytes.fromhex(priority) + mac(address)


def port_list(ports: Iterable[int]) -> Value:
    """PortList (RFC 4363): port 1 is the highest bit of the first octet."""
    numbers = set(ports)
    made = bytearray((max(numbers, default=0) + 7) // 8)
    for port in numbers:
        made[(port - 1) // 8] |= 0x80 >> (port - 1) % 8
    return octets(bytes(made))
