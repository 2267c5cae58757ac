"""Probes: frames by which the ends of a cable find and prove each other.

After the Ethernet header: a mark, the fabric, the member and port that sent it, the length of all
this with padding, a serial number, and a signature by the controller's key.  Only the controller
can make one, and each is accepted once at a port, soon after it was sent (`flights`).
"""

import struct
from dataclasses import dataclass
from enum import Enum

from ofapp.bridge.fabric.address import PROBE_DESTINATION, PROBE_TYPE
from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.lldp.own import SIGNATURE, OwnAgents

ETHERNET = 14
_LEAST = 46
_HEAD = struct.Struct("!2sBHIHQ")  # mark, fabric, member, port, length, serial
_MARK = b"of"
_SIGNED = ETHERNET + _HEAD.size
_WHOLE = _SIGNED + SIGNATURE
_TO = PROBE_DESTINATION.to_bytes(6, "big")
_TYPE = PROBE_TYPE.to_bytes(2, "big")


class Refusal(Enum):
    """Why a frame is not taken as a probe; the values name counters."""

    MALFORMED = "malformed"
    FORGED = "forged"
    FOREIGN = "foreign"  # by another controller's key


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe with a valid signature.  octets: its length without the Ethernet header."""

    fabric: int
    sender: End
    octets: int
    serial: int


def write(probe: Probe, mac: int, agents: OwnAgents) -> bytes:
    """Return the frame; mac: the sending port's."""
    member, port = probe.sender
    octets = max(probe.octets, _LEAST)
    head = _HEAD.pack(_MARK, probe.fabric, member, port, octets, probe.serial)
    signed = _TO + mac.to_bytes(6, "big") + _TYPE + head
    return (signed + agents.sign(signed)).ljust(ETHERNET + octets, b"\0")


def read(frame: bytes, agents: OwnAgents) -> Probe | Refusal:
    """Read a frame that a link port has received; one that was cut off is malformed."""
    if len(frame) < _WHOLE or frame[12:ETHERNET] != _TYPE:
        return Refusal.MALFORMED
    mark, fabric, member, port, octets, serial = _HEAD.unpack_from(frame, ETHERNET)
    if mark != _MARK or len(frame) < ETHERNET + octets:
        return Refusal.MALFORMED
    right = agents.signed(frame[:_SIGNED], frame[_SIGNED:_WHOLE])
    if right is None:
        return Refusal.FOREIGN
    return Probe(fabric, End(member, port), octets, serial) if right else Refusal.FORGED
