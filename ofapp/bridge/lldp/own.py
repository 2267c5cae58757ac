"""Digests by which the bridges of one controller detect forged LLDP frames.

LLDP is not authenticated. So the last TLV of a sent frame names the port and the bridge that it
left by, with a serial number and a digest (BLAKE2, keyed) of all the LLDPDU before it. The key is
random for each run of the controller, and secret. Then

- a frame that a host has forged or changed proves nothing;
- a copy of an older frame proves nothing: the last four that a port has sent count (which are the
  frames of a fast start, and two minutes otherwise), and none of a port whose switch is
  disconnected;
- a frame that comes back by the port that it left by is no neighbour.

A copy that is forwarded at once is accepted. A host with two ports, or two hosts together, that
forward LLDP both ways cannot be distinguished from a cable; the same holds for an unmanaged switch.
A host with one port cannot make a link, as both ends have to hear each other (`topology`). Where
hosts must not appear as cables, turn LLDP off on their ports: then nothing is sent that could be
copied, and nothing is received. A shutdown LLDPDU proves nothing: on a shared segment any host can
have a port forgotten until its next frame.

Another controller has another key, so its bridges are ordinary neighbours and not forged. A frame
with the number of this controller's key and a wrong digest is counted as forged.

The members of a cluster have one key.  Only the member that owns a bridge knows the last serials
that its ports have sent; it compares them where the map is put together.
"""

import struct
from enum import Enum
from hashlib import blake2s
from hmac import compare_digest
from typing import NamedTuple

from ofapp.bridge.lldp.tlv import organization

OUI = b"\x02\x0f\xa9"
"""Locally administered (IEEE 802c-2017), so no vendor has it."""
_SUBTYPE = 1
_BODY = struct.Struct("!8sQIQ")  # the key's number, datapath id, port, serial
_DIGEST = 16
_LAST = 4
RUN = 40
"""Bits of a serial number that count the frames of one run."""
SIGNATURE = 8 + _DIGEST
"""Octets of a signature."""
_VALUE = len(OUI) + 1 + _BODY.size + _DIGEST


class Sender(NamedTuple):
    """The port of this controller by which a frame has left.  port: physical, OpenFlow's number."""

    datapath_id: int
    port: int


class Relative(NamedTuple):
    """A port of another cluster member, which sealed the frame with the common key.

    serial: the frame's; the member that owns the sender knows whether it is fresh.
    """

    sender: Sender
    serial: int


class Doubt(Enum):
    """Why a frame that names this controller's key is not believed."""

    FORGED = "forged"
    STALE = "stale"


class OwnAgents:
    """The ports of one controller that send LLDP.

    key: secret; without one nothing is sealed, and nothing proven.  life: the run of a controller
    that shares its key, different for each run; None: the key is not shared.
    replays: every signature is taken for right, as the key of a recording is not known.
    """

    def __init__(self, key: bytes = b"", life: int | None = None, *, replays: bool = False) -> None:
        self._key = key
        self._replays = replays
        self._number = blake2s(key, digest_size=8, person=b"ofapplld").digest()
        self._shared = life is not None
        self._serial = (life or 0) << RUN
        self._sent: dict[Sender, tuple[int, ...]] = {}

    def seal(self, sender: Sender, pdu: bytes) -> bytes:
        """The TLV that goes behind these octets of an LLDPDU, which is about to be sent."""
        if not self._key:
            return b""
        self._serial += 1
        self._sent[sender] = (self._serial, *self._sent.get(sender, ()))[:_LAST]
        body = _BODY.pack(self._number, *sender, self._serial)
        return organization(OUI, _SUBTYPE, body + self._digest(body, pdu))

    def recognise(self, proof: bytes, pdu: bytes) -> Sender | Relative | Doubt | None:
        """The sender of a frame, by the value of such a TLV and the octets before it.

        None: the TLV is not by this controller's key.
        """
        if not self._key or len(proof) != _VALUE or proof[3] != _SUBTYPE:
            return None
        body, digest = proof[4:-_DIGEST], proof[-_DIGEST:]
        number, datapath_id, port, serial = _BODY.unpack(body)
        if number != self._number:
            return None
        if not compare_digest(digest, self._digest(body, pdu)):
            return Doubt.FORGED
        sender = Sender(datapath_id, port)
        if serial in self.sent(sender):
            return sender
        return Relative(sender, serial) if self._shared and not self.sent(sender) else Doubt.STALE

    @staticmethod
    def serial_of(proof: bytes) -> int:
        """The serial number of a frame whose sender `recognise` has found."""
        serial: int = _BODY.unpack(proof[4:-_DIGEST])[-1]
        return serial

    def sent(self, sender: Sender) -> tuple[int, ...]:
        """The serial numbers of a port's last frames; none where it sends none."""
        return self._sent.get(sender, ())

    def leave(self, sender: Sender) -> None:
        """Forget the serials of a port that sends no more, or whose switch is disconnected."""
        self._sent.pop(sender, None)

    # Frames of other protocols between this controller's ports

    def serial(self) -> int:
        """Return a number that no other frame of this key has."""
        self._serial += 1
        return self._serial

    def sign(self, octets: bytes) -> bytes:
        """Return a signature of `SIGNATURE` octets; an LLDP frame cannot be taken for it."""
        digest = blake2s(octets, digest_size=_DIGEST, key=self._key, person=b"ofappsig").digest()
        return self._number + digest

    def signed(self, octets: bytes, signature: bytes) -> bool | None:
        """Whether a signature is right; None: it is by another controller's key."""
        if self._replays:
            return True
        if not self._key or signature[: len(self._number)] != self._number:
            return None
        return compare_digest(signature, self.sign(octets))

    def _digest(self, body: bytes, pdu: bytes) -> bytes:
        return blake2s(body + pdu, digest_size=_DIGEST, key=self._key).digest()
