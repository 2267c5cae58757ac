"""Frames of loop protection: made, and checked when they come back.

The destination is a group address of this bridge alone, so other bridges forward the frame, and
only this bridge takes it.  After the Ethernet header: a mark, the bridge, the port, the VLAN and
the number of the frame, and a signature by the controller's key.  The tag is not signed: a bridge
on the path may change it.

The signature shows that the frame is this controller's, and the number that it is one of the last
that its port has sent.  Numbers start again with a bridge, so the signature covers its life, too.
"""

import struct
from enum import Enum
from typing import NamedTuple

from ofapp.bridge.lldp.own import SIGNATURE, OwnAgents
from ofapp.bridge.packet.ethernet import frame_vid, read_ethernet, tagged
from ofapp.bridge.packet.malformed import Malformed

ETHERTYPE = b"\x88\xb5"
"""The first for local experiments (IEEE 802-2014 9.2.4)."""
MARK = b"lp"
_HEAD = struct.Struct("!2sQIHQ")  # mark, datapath id, port, VLAN, number
_LEAST = 60


class Refusal(Enum):
    """Why a frame is not taken as one of loop protection; the values name counters."""

    MALFORMED = "malformed"
    FORGED = "forged"
    FOREIGN = "foreign"  # by another key: an earlier run of the controller, or another controller


class LoopFrame(NamedTuple):
    """Which port has sent a frame, in which VLAN (0: none), and its number among the port's."""

    port: int
    vid: int
    number: int


def destination(datapath_id: int) -> int:
    """The group address of a bridge's frames, locally administered."""
    return 0x13 << 40 | datapath_id & 0xFF_FFFF_FFFF


class LoopFrames:
    """Makes and reads the frames of one bridge."""

    def __init__(self, datapath_id: int, own: OwnAgents) -> None:
        self._datapath_id = datapath_id
        self._own = own
        self._life = own.serial().to_bytes(8, "big")
        self._to = destination(datapath_id).to_bytes(6, "big")

    def write(self, sent: LoopFrame, mac: int, tag: bool) -> bytes:
        """Return the frame.  mac: the port's; tag: its VLAN leaves the port with a tag."""
        head = _HEAD.pack(MARK, self._datapath_id, *sent)
        frame = self._to + mac.to_bytes(6, "big") + ETHERTYPE + head + self._sign(head)
        return tagged(frame, sent.vid if tag else 0).ljust(_LEAST, b"\0")

    def read(self, frame: bytes) -> tuple[int, LoopFrame] | Refusal:
        """Read a frame: the VID of its tag, 0 for none, and what is in it."""
        header = read_ethernet(frame)
        if isinstance(header, Malformed) or header.ethertype != ETHERTYPE:
            return Refusal.MALFORMED
        head, rest = frame[header.at : header.at + _HEAD.size], frame[header.at + _HEAD.size :]
        if len(rest) < SIGNATURE or head[: len(MARK)] != MARK:
            return Refusal.MALFORMED
        _, datapath_id, *sent = _HEAD.unpack(head)
        right = self._own.signed(head + self._life, rest[:SIGNATURE])
        if right is None or datapath_id != self._datapath_id:
            return Refusal.FOREIGN
        return (frame_vid(frame), LoopFrame(*sent)) if right else Refusal.FORGED

    def _sign(self, head: bytes) -> bytes:
        return self._own.sign(head + self._life)
