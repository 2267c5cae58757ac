"""Slow Protocols frames (802.3-2018 annex 57A) and the two of them that are handled here.

LACPDUs (802.1AX, 6.4.2) and Marker PDUs (6.5.3).  `decode` takes any bytes; it refuses others with
the kind under which 6.3.3 of the management clause counts them: *illegal* is badly formed,
*unknown* is a protocol that is not supported here.

A receiver ignores the version, the types of the TLVs and reserved octets (6.4.12), so of later
versions the first 110 octets are read.  It may check lengths: they are the standard's in version 1,
and may only grow in a later one.
"""

import struct
from dataclasses import dataclass

from ofapp.bridge.lag.lacp.information import Information, State, System

SLOW_PROTOCOLS_ADDRESS = bytes.fromhex("0180c2000002")
SLOW_PROTOCOLS_TYPE = b"\x88\x09"
VERSION = 1

_LACP, _MARKER = 1, 2
_MAX_SUBTYPE = 10
_HEADER = 14
_PDU = 110
"""Octets of an LACPDU of version 1, and of a Marker PDU, after the Ethernet header."""
_INFORMATION = struct.Struct("!H6sHHHB")
_INFORMATION_LENGTH = 20
_COLLECTOR_LENGTH = 16
_MARKER_LENGTH = 16
_REQUESTER = struct.Struct("!H6sI")
_MARKER_INFORMATION, _MARKER_RESPONSE = 1, 2


class SlowError(ValueError):
    """A frame that is dropped.

    kind: illegal or unknown; reason: the error, one of a few words.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Lacpdu:
    """An LACPDU.  version: as received; 1 is sent."""

    actor: Information
    partner: Information
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Marker:
    """A Marker PDU (6.5.3.3): the requester's port, system address and transaction number."""

    port: int
    system: int
    transaction: int
    response: bool = False


def decode(frame: bytes) -> Lacpdu | Marker:
    """Decode an Ethernet frame. Raises SlowError."""
    if len(frame) < _HEADER + 1:
        raise SlowError("illegal", "truncated")
    if frame[:6] != SLOW_PROTOCOLS_ADDRESS or frame[12:_HEADER] != SLOW_PROTOCOLS_TYPE:
        raise SlowError("unknown", "not-slow-protocols")
    subtype = frame[_HEADER]
    if subtype not in (_LACP, _MARKER):
        illegal = not 1 <= subtype <= _MAX_SUBTYPE
        raise SlowError("illegal" if illegal else "unknown", "subtype")
    if len(frame) < _HEADER + _PDU:
        raise SlowError("illegal", "truncated")
    return _decode_lacpdu(frame) if subtype == _LACP else _decode_marker(frame)


def encode_lacpdu(actor: Information, partner: Information, source: int) -> bytes:
    """The Ethernet frame of 124 octets, without FCS, from the address `source` (48 bit)."""
    pdu = (
        bytes((_LACP, VERSION, 1, _INFORMATION_LENGTH))
        + _pack(actor)
        + bytes((2, _INFORMATION_LENGTH))
        + _pack(partner)
        + bytes((3, _COLLECTOR_LENGTH))
        + bytes(_COLLECTOR_LENGTH - 2)  # CollectorMaxDelay 0: frames are forwarded at once
    )
    return _frame(pdu, source)


def encode_marker(marker: Marker, source: int) -> bytes:
    """The Ethernet frame of a marker, or of the response to one."""
    kind = _MARKER_RESPONSE if marker.response else _MARKER_INFORMATION
    pdu = bytes((_MARKER, 1, kind, _MARKER_LENGTH)) + _REQUESTER.pack(
        marker.port, marker.system.to_bytes(6, "big"), marker.transaction
    )
    return _frame(pdu, source)


def _frame(pdu: bytes, source: int) -> bytes:
    header = SLOW_PROTOCOLS_ADDRESS + source.to_bytes(6, "big") + SLOW_PROTOCOLS_TYPE
    return header + pdu.ljust(_PDU, b"\0")


def _decode_lacpdu(frame: bytes) -> Lacpdu:
    version = frame[_HEADER + 1]
    actor_at = _HEADER + 2
    partner_at = actor_at + _length(version, frame, actor_at)
    _length(version, frame, partner_at)
    return Lacpdu(_unpack(frame, actor_at), _unpack(frame, partner_at), version)


def _length(version: int, frame: bytes, tlv: int) -> int:
    length = frame[tlv + 1]
    if length != _INFORMATION_LENGTH and (version <= VERSION or length < _INFORMATION_LENGTH):
        raise SlowError("illegal", "length")
    if len(frame) < tlv + length + _INFORMATION_LENGTH:  # the next TLV has to fit as well
        raise SlowError("illegal", "truncated")
    return length


def _decode_marker(frame: bytes) -> Marker:
    kind, length = frame[_HEADER + 2], frame[_HEADER + 3]
    if kind not in (_MARKER_INFORMATION, _MARKER_RESPONSE):
        raise SlowError("illegal", "type")
    if length < _MARKER_LENGTH:
        raise SlowError("illegal", "length")
    port, system, transaction = _REQUESTER.unpack_from(frame, _HEADER + 4)
    return Marker(port, int.from_bytes(system, "big"), transaction, kind == _MARKER_RESPONSE)


def _pack(said: Information) -> bytes:
    return _INFORMATION.pack(
        said.system.priority,
        said.system.address.to_bytes(6, "big"),
        said.key,
        said.port_priority,
        said.port,
        said.state,
    ) + bytes(3)


def _unpack(frame: bytes, tlv: int) -> Information:
    priority, address, key, port_priority, port, state = _INFORMATION.unpack_from(frame, tlv + 2)
    system = System(priority, int.from_bytes(address, "big"))
    return Information(system, key, port_priority, port, State(state))
