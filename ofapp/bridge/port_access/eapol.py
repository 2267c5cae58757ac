"""EAPOL and EAP frames (802.1X-2020 clause 11, RFC 3748 clause 4).

The bridge reads the header of EAP and the user's identity.  The rest is between host and server.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ofapp.bridge.packet.ethernet import read_ethernet
from ofapp.bridge.packet.malformed import Malformed

PAE_GROUP = 0x0180C2000003
"""Nearest non-TPMR bridge group address, to which authenticators send (802.1X-2020 11.1.1)."""
ETHERTYPE = b"\x88\x8e"
VERSION = 2  # hosts of 2001 and 2004 read it, too
EAP, START, LOGOFF = 0, 1, 2
REQUEST, RESPONSE, SUCCESS, FAILURE = 1, 2, 3, 4
IDENTITY = 1
MOST_IDENTITY = 253
"""Octets of an identity: a RADIUS attribute has no more (RFC 2865 5.1)."""

TRUNCATED = Malformed("eapol_truncated")
UNKNOWN = Malformed("eapol_unknown")
BAD_EAP = Malformed("eap_malformed")

_HEADER = struct.Struct("!BBH")


class Eapol(NamedTuple):
    """A frame of a host.  mac: its source; kind: EAP, START or LOGOFF; eap: the EAP message."""

    mac: int
    kind: int
    eap: bytes = b""

    @property
    def identifier(self) -> int:
        """The identifier of the EAP message, by which it answers a request."""
        return self.eap[1]

    @property
    def identity(self) -> bytes | None:
        """The user's name in a Response/Identity (RFC 3748 5.1); None for any other message."""
        return self.eap[5:] if self.eap[4] == IDENTITY else None


def read(frame: bytes) -> Eapol | Malformed:
    """Read a frame of a host: Start, Logoff, or EAP with a response."""
    ethernet = read_ethernet(frame)
    if isinstance(ethernet, Malformed):
        return ethernet
    body = frame[ethernet.at :]
    if len(body) < _HEADER.size:
        return TRUNCATED
    _version, kind, length = _HEADER.unpack_from(body)
    if kind in (START, LOGOFF):
        return Eapol(ethernet.mac, kind)
    if kind != EAP:
        return UNKNOWN
    eap = body[_HEADER.size : _HEADER.size + length]
    if len(eap) < length:
        return TRUNCATED
    if len(eap) < 5 or eap[0] != RESPONSE or int.from_bytes(eap[2:4], "big") != length:
        return BAD_EAP
    if eap[4] == IDENTITY and not 0 < length - 5 <= MOST_IDENTITY:
        return BAD_EAP
    return Eapol(ethernet.mac, EAP, eap)


def frame(to: int, source: int, eap: bytes) -> bytes:
    """A frame with an EAP message.  source: MAC address of the port."""
    ends = to.to_bytes(6, "big") + source.to_bytes(6, "big")
    return ends + ETHERTYPE + _HEADER.pack(VERSION, EAP, len(eap)) + eap


def identity_request(identifier: int) -> bytes:
    """An EAP-Request/Identity."""
    return bytes([REQUEST, identifier, 0, 5, IDENTITY])


def result(success: bool, identifier: int) -> bytes:
    """An EAP-Success or EAP-Failure, which a host takes without an answer."""
    return bytes([SUCCESS if success else FAILURE, identifier, 0, 4])


def without_data(eap: bytes) -> bytes:
    """The message with zeros for the data of its method, which may be about a password."""
    if len(eap) < 5 or eap[4] == IDENTITY:
        return eap
    return eap[:5] + bytes(len(eap) - 5)


def frame_without_data(octets: bytes) -> bytes:
    """The same for an EAPOL frame; any other frame stays as it is."""
    at = octets.find(ETHERTYPE, 12, 18)
    begin = at + len(ETHERTYPE) + _HEADER.size
    if at < 0 or octets[begin - 3 : begin - 2] != bytes([EAP]):
        return octets
    return octets[:begin] + without_data(octets[begin:])


def is_request(eap: bytes) -> bool:
    """Whether it is a whole EAP request, which a server may have the bridge pass on."""
    return len(eap) >= 5 and eap[0] == REQUEST and int.from_bytes(eap[2:4], "big") == len(eap)
