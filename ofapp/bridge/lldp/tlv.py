"""TLVs: the blocks of which an LLDPDU consists (802.1AB-2016 8.4).

A header of 16 bits, seven of type and nine of length, and the octets. The octets of a basic TLV
(8.5) and of 802.1's TLVs (802.1Q-2018 annex D) are decoded here; malformed ones raise TlvError.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from ipaddress import ip_address
from typing import Any, NamedTuple

from ofapp.bridge.lldp.information import Identifier, VlanName, spoken_address, text_of

MAX_LENGTH = 511
MAX_TEXT = 255
MAX_ADDRESSES = 8
"""Most management addresses that are kept of a neighbour."""
MAX_VLANS = 16
"""Most VLAN names that are kept of a neighbour."""
MAX_VLAN_NAME = 32
IEEE_8021 = b"\x00\x80\xc2"
PORT_VLAN_ID, VLAN_NAME = 1, 3
_ALL802, _IPV4, _IPV6 = 6, 1, 2
_INTERFACE_UNKNOWN = 1


class Type(IntEnum):
    """Types of basic TLVs (table 8-1)."""

    END = 0
    CHASSIS_ID = 1
    PORT_ID = 2
    TTL = 3
    PORT_DESCRIPTION = 4
    SYSTEM_NAME = 5
    SYSTEM_DESCRIPTION = 6
    CAPABILITIES = 7
    MANAGEMENT_ADDRESS = 8
    ORGANIZATION = 127


class TlvError(ValueError):
    """The octets of a TLV cannot be what its type says."""


class Tlv(NamedTuple):
    """One TLV of a frame; whole: it is not cut off."""

    type: int
    value: bytes
    whole: bool = True


def tlvs(octets: bytes) -> Iterator[Tlv]:
    """The TLVs up to the End Of LLDPDU TLV, or to the last octet."""
    at = 0
    while at + 2 <= len(octets):
        header = octets[at] << 8 | octets[at + 1]
        type_, length = header >> 9, header & MAX_LENGTH
        value = octets[at + 2 : at + 2 + length]
        yield Tlv(type_, value, len(value) == length)
        at += 2 + length
        if type_ == Type.END:
            return


def tlv(type_: int, value: bytes) -> bytes:
    """A TLV on the wire."""
    return struct.pack("!H", type_ << 9 | len(value)) + value


def organization(oui: bytes, subtype: int, value: bytes) -> bytes:
    """An organizationally specific TLV (8.6) on the wire."""
    return tlv(Type.ORGANIZATION, oui + bytes((subtype,)) + value)


def identifier(type_: int, value: Identifier) -> bytes:
    """A chassis ID or port ID TLV on the wire."""
    return tlv(type_, bytes((value.subtype,)) + value.octets)


def text(type_: int, words: str) -> bytes:
    """A TLV of text on the wire, cut where it is too long."""
    return tlv(type_, words.encode()[:MAX_TEXT])


def capabilities(bits: int) -> bytes:
    """System capabilities, supported and enabled alike (8.5.8), on the wire."""
    return tlv(Type.CAPABILITIES, struct.pack("!HH", bits, bits))


def management_address(address: str, mac: int) -> bytes:
    """A management address TLV (8.5.9) on the wire: the address, or the MAC address without one."""
    if address:
        ip = ip_address(address)
        value = bytes((_IPV4 if ip.version == 4 else _IPV6,)) + ip.packed
    else:
        value = bytes((_ALL802,)) + mac.to_bytes(6, "big")
    interface = struct.pack("!BIB", _INTERFACE_UNKNOWN, 0, 0)
    return tlv(Type.MANAGEMENT_ADDRESS, bytes((len(value),)) + value + interface)


def port_vlan_id(vid: int) -> bytes:
    """A port VLAN ID TLV (802.1Q-2018 D.2.1) on the wire."""
    return organization(IEEE_8021, PORT_VLAN_ID, vid.to_bytes(2, "big"))


def vlan_name(value: VlanName) -> bytes:
    """A VLAN name TLV (802.1Q-2018 D.2.3) on the wire."""
    name = value.name.encode()[:MAX_VLAN_NAME]
    return organization(IEEE_8021, VLAN_NAME, struct.pack("!HB", value.vid, len(name)) + name)


def read_identifier(value: bytes) -> Identifier:
    """Decode a chassis or port ID (8.5.2, 8.5.3), a subtype and 1 to 255 octets.

    Raises TlvError.
    """
    if not 2 <= len(value) <= 256:
        raise TlvError(f"an identifier of {len(value) - 1} octets")
    return Identifier(value[0], value[1:])


def read_ttl(value: bytes) -> int:
    """Decode the time to live (8.5.4), in seconds.  Raises TlvError."""
    if len(value) < 2:
        raise TlvError("a time to live of less than two octets")
    return value[0] << 8 | value[1]


def _text(value: bytes) -> str:
    if len(value) > MAX_TEXT:
        raise TlvError(f"text of {len(value)} octets")
    return text_of(value)


def read_basic(type_: int, value: bytes, known: dict[str, Any]) -> None:
    """Put the content of an optional basic TLV (8.5.5 to 8.5.9) into `known`.  Raises TlvError.

    The first one of a type counts, except that there may be several management addresses.
    """
    match type_:
        case Type.PORT_DESCRIPTION:
            known.setdefault("port_description", _text(value))
        case Type.SYSTEM_NAME:
            known.setdefault("system_name", _text(value))
        case Type.SYSTEM_DESCRIPTION:
            known.setdefault("system_description", _text(value))
        case Type.CAPABILITIES:
            if len(value) != 4:
                raise TlvError(f"capabilities of {len(value)} octets")
            can, does = struct.unpack("!HH", value)
            known.setdefault("capabilities", can)
            known.setdefault("enabled", does)
        case Type.MANAGEMENT_ADDRESS:
            _append(known, "addresses", _read_address(value), MAX_ADDRESSES)


def read_8021(value: bytes, known: dict[str, Any]) -> bool:
    """The same for a TLV of 802.1; False for one that is not understood here.  Raises TlvError."""
    subtype, octets = value[3], value[4:]
    if subtype == PORT_VLAN_ID:
        if len(octets) != 2:
            raise TlvError(f"a port VLAN ID of {len(octets)} octets")
        known.setdefault("pvid", int.from_bytes(octets, "big"))
    elif subtype == VLAN_NAME:
        if len(octets) < 3 or len(octets) != 3 + octets[2] or octets[2] > MAX_VLAN_NAME:
            raise TlvError("a VLAN name whose length is not its own")
        vid = int.from_bytes(octets[:2], "big")
        _append(known, "vlans", VlanName(vid, text_of(octets[3:])), MAX_VLANS)
    else:
        return False
    return True


def _read_address(value: bytes) -> str:
    length = value[0] if value else 0
    if not 2 <= length <= 32 or len(value) < 1 + length + 6:
        raise TlvError("a management address whose length is not its own")
    if len(value) != 1 + length + 6 + value[length + 6]:
        raise TlvError("an object identifier whose length is not its own")
    return spoken_address(value[1], value[2 : 1 + length])


def _append(known: dict[str, Any], name: str, value: object, most: int) -> None:
    if len(known.get(name, ())) < most:
        known[name] = (*known.get(name, ()), value)
