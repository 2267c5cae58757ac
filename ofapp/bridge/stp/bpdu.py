"""BPDUs on the wire: an 802.3 frame, an LLC header, and 802.1D-2004 clause 9.

Three formats exist: Configuration (35 octets), Topology Change Notification (4) and Rapid Spanning
Tree (36).  A later version is read as the latest we know (9.3.4), so an MSTP frame is read as an
RST BPDU and what follows its 36 octets is ignored.  `decode` takes any bytes; it refuses those that
are no valid BPDU with a short reason, which becomes the name of a counter.
"""

import struct
from dataclasses import dataclass, replace
from enum import Enum

from ofapp.bridge.stp.vectors import (
    NO_TIMES,
    NO_VECTOR,
    PriorityVector,
    Times,
    format_bridge_id,
    format_port_id,
)

BRIDGE_GROUP_ADDRESS = bytes.fromhex("0180c2000000")
LLC_BPDU = b"\x42\x42\x03"
MIN_FRAME = 60
MAX_SERIAL = 0xFF_FFFF

_HEADER = 14
_LARGEST_LENGTH = 1500
_CONFIG = struct.Struct("!HBBBQLQHHHHH")
_TCN = struct.Struct("!HBB")
_SERIALS = b"\xa9"
"""First octet of an RST BPDU's padding when two serials of three octets follow."""
_RST_END = _HEADER + len(LLC_BPDU) + _CONFIG.size + 1
_TICKS = 256
"""BPDUs count time in 1/256 s (9.2.8)."""


class BpduType(Enum):
    """9.3: the types this bridge knows."""

    CONFIG = 0x00
    RST = 0x02
    TCN = 0x80


class BpduRole(Enum):
    """9.2.9: the port role in an RST BPDU; a Configuration BPDU counts as DESIGNATED."""

    UNKNOWN = 0
    ALTERNATE_BACKUP = 1
    ROOT = 2
    DESIGNATED = 3


_ROLES = tuple(BpduRole)


class BpduError(ValueError):
    """A frame that is not a BPDU we may act on; `reason` names the counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Bpdu:
    """One BPDU, decoded. A TCN has only its type; the rest keeps the defaults.

    version: as received, 3 for MSTP; BPDUs that are sent have 0 or 2.
    serial, answers: see `answers`; 0 for none.
    """

    type: BpduType
    vector: PriorityVector = NO_VECTOR
    times: Times = NO_TIMES
    role: BpduRole = BpduRole.DESIGNATED
    topology_change: bool = False
    proposal: bool = False
    learning: bool = False
    forwarding: bool = False
    agreement: bool = False
    topology_change_ack: bool = False
    version: int = 0
    serial: int = 0
    answers: int = 0

    def flags(self) -> list[str]:
        """The names of the flags that are set, in wire order."""
        return [name for name in _FLAG_NAMES if getattr(self, name)]

    def describe(self) -> dict[str, object]:
        """JSON-serialisable form, for traces."""
        if self.type is BpduType.TCN:
            return {"type": "TCN", "version": self.version}
        return {
            "type": self.type.name,
            "version": self.version,
            "role": self.role.name.lower().replace("_", "-"),
            "flags": self.flags(),
            "root": format_bridge_id(self.vector.root),
            "root_path_cost": self.vector.cost,
            "bridge": format_bridge_id(self.vector.bridge),
            "port": format_port_id(self.vector.port),
            "message_age": self.times.message_age,
            "max_age": self.times.max_age,
            "hello_time": self.times.hello_time,
            "forward_delay": self.times.forward_delay,
        }

    def __str__(self) -> str:
        if self.type is BpduType.TCN:
            return "TCN"
        flags = " ".join(self.flags()) or "-"
        return (
            f"{self.type.name} {self.role.name.lower().replace('_', '/')} [{flags}]"
            f" root {format_bridge_id(self.vector.root)} cost {self.vector.cost}"
            f" bridge {format_bridge_id(self.vector.bridge)}"
            f" port {format_port_id(self.vector.port)} age {self.times.message_age:g}"
        )


_FLAG_NAMES = (
    "topology_change",
    "proposal",
    "learning",
    "forwarding",
    "agreement",
    "topology_change_ack",
)


def _ticks(seconds: float) -> int:
    return min(max(round(seconds * _TICKS), 0), 0xFFFF)


def _flag_octet(bpdu: Bpdu) -> int:
    octet = (
        bpdu.topology_change
        | bpdu.proposal << 1
        | bpdu.learning << 4
        | bpdu.forwarding << 5
        | bpdu.agreement << 6
        | bpdu.topology_change_ack << 7
    )
    if bpdu.type is BpduType.RST:
        return octet | bpdu.role.value << 2
    return octet & 0x81


def encode(bpdu: Bpdu, source: int) -> bytes:
    """Encode an Ethernet frame, padded to 60 octets, from the address `source` (48 bit)."""
    if bpdu.type is BpduType.TCN:
        body = _TCN.pack(0, 0, bpdu.type.value)
    else:
        body = _CONFIG.pack(
            0,
            2 if bpdu.type is BpduType.RST else 0,
            bpdu.type.value,
            _flag_octet(bpdu),
            bpdu.vector.root,
            min(bpdu.vector.cost, 0xFFFF_FFFF),
            bpdu.vector.bridge,
            bpdu.vector.port,
            *(
                _ticks(t)
                for t in (
                    bpdu.times.message_age,
                    bpdu.times.max_age,
                    bpdu.times.hello_time,
                    bpdu.times.forward_delay,
                )
            ),
        )
        if bpdu.type is BpduType.RST:
            body += b"\0"  # Version 1 Length (9.3.3)
    frame = (
        BRIDGE_GROUP_ADDRESS
        + source.to_bytes(6, "big")
        + (len(LLC_BPDU) + len(body)).to_bytes(2, "big")
        + LLC_BPDU
        + body
    )
    if bpdu.type is BpduType.RST and bpdu.serial:
        frame += _serials(bpdu.serial, bpdu.answers)
    return frame.ljust(MIN_FRAME, b"\0")


def renumbered(frame: bytes, serial: int, answers: int) -> bytes:
    """Replace the serials of an RST BPDU's frame; `serial` is not 0."""
    return frame[:_RST_END] + _serials(serial, answers)


def _serials(serial: int, answers: int) -> bytes:
    return _SERIALS + serial.to_bytes(3, "big") + answers.to_bytes(3, "big")


def decode(frame: bytes) -> Bpdu:
    """Read a frame as 9.3.4 says.

    Raises BpduError with one of the reasons: truncated, not-bpdu, too-short, protocol-id,
    unknown-type, message-age.
    """
    if len(frame) < _HEADER + len(LLC_BPDU):
        raise BpduError("truncated")
    length = int.from_bytes(frame[12:14], "big")
    if frame[:6] != BRIDGE_GROUP_ADDRESS or length > _LARGEST_LENGTH or frame[14:17] != LLC_BPDU:
        raise BpduError("not-bpdu")
    if len(frame) < _HEADER + length:
        raise BpduError("truncated")
    body = frame[_HEADER + len(LLC_BPDU) : _HEADER + length]
    if len(body) < _TCN.size:
        raise BpduError("too-short")
    protocol, version, kind = _TCN.unpack_from(body)
    if protocol:
        raise BpduError("protocol-id")
    if kind == BpduType.TCN.value:
        return Bpdu(BpduType.TCN, version=version)
    if kind == BpduType.CONFIG.value:
        return _decode_config(body, version, BpduType.CONFIG)
    if kind == BpduType.RST.value and version >= 2:
        if len(body) < _CONFIG.size + 1:
            raise BpduError("too-short")
        bpdu = _decode_config(body, version, BpduType.RST)
        return _numbered(bpdu, frame[_HEADER + length :])
    raise BpduError("unknown-type")


def _numbered(bpdu: Bpdu, padding: bytes) -> Bpdu:
    if len(padding) < 7 or not padding.startswith(_SERIALS):
        return bpdu
    serial, answers = (int.from_bytes(padding[at : at + 3], "big") for at in (1, 4))
    return replace(bpdu, serial=serial, answers=answers)


def _decode_config(body: bytes, version: int, kind: BpduType) -> Bpdu:
    if len(body) < _CONFIG.size:
        raise BpduError("too-short")
    fields = _CONFIG.unpack_from(body)
    flags: int = fields[3]
    age, max_age, hello, delay = (ticks / _TICKS for ticks in fields[8:12])
    role = _ROLES[flags >> 2 & 3] if kind is BpduType.RST else BpduRole.DESIGNATED
    if role is BpduRole.UNKNOWN:
        # 9.2.9: an RST BPDU of unknown role is to be taken for a Configuration BPDU.
        kind, role = BpduType.CONFIG, BpduRole.DESIGNATED
    if kind is BpduType.CONFIG:
        # An RST BPDU that is too old is accepted: its port must drop its information (17.21.23).
        if age >= max_age:
            raise BpduError("message-age")
        flags &= 0x81
    return Bpdu(
        kind,
        PriorityVector(*fields[4:8]),
        Times(age, max_age, delay, hello),
        role,
        topology_change=bool(flags & 0x01),
        proposal=bool(flags & 0x02),
        learning=bool(flags & 0x10),
        forwarding=bool(flags & 0x20),
        agreement=bool(flags & 0x40),
        topology_change_ack=bool(flags & 0x80),
        version=version,
    )
