"""How the bridges of one controller know each other's LLDP frames from what a host made up.

What LLDP says anybody can say. So the last TLV of what is sent tells which port of which bridge it
left by, with a serial number and a digest (BLAKE2, keyed) of all the LLDPDU before it. The key is
random for each run of the controller, and known to nobody else. Then

- a frame that somebody made up, or has changed, proves nothing;
- a copy of an older frame proves nothing: the last four that a port has sent count (which are the
  frames of a fast start, and two minutes otherwise), and none of a port whose switch is away;
- a frame that comes back by the port that it left by is no neighbour.

A copy that is passed on at once does prove something, to whoever gets it: who has two ports, or two
hosts together, and passes LLDP on between them both ways, is a cable to what looks at frames alone,
and so is an unmanaged switch. Who has one port cannot make a link, as both ends have to hear each
other (`topology`). Where hosts are not to appear as cables, turn LLDP off on their ports: nothing
is sent then that could be copied, and nothing that comes is heard. A goodbye proves nothing: on a
shared segment anybody can have a port forgotten until its next frame.

Another controller has another key, so its bridges are neighbours; that is no forgery.  Whoever uses
the number of this one's key and cannot make its digest is a forger, and is counted as one.

The members of a cluster have one key.  Whether a frame of another member's bridge is one of the
last that its port has sent, that member knows: it is told by whoever puts the map together.
"""

from __future__ import annotations

import struct
from enum import Enum
from hashlib import blake2s
from hmac import compare_digest
from typing import NamedTuple

from ofapp.bridge.lldp.tlv import organization

OUI = b"\x02\x0f\xa9"
"""Nobody's: one of those that administrators give out (IEEE 802c-2017), so no vendor has it."""
_SUBTYPE = 1
_BODY = struct.Struct("!8sQIQ")  # the key's number, datapath id, port, serial
_DIGEST = 16
_LAST = 4
_RUN = 40  # bits: of the frames of a run
_VALUE = len(OUI) + 1 + _BODY.size + _DIGEST


class Sender(NamedTuple):
    """The port of this controller by which a frame has left.  port: of OpenFlow, not logical."""

    datapath_id: int
    port: int


class Relative(NamedTuple):
    """A port of another member of the cluster, by whose key a frame is sealed.

    serial: the frame's; the sender's owner knows whether it is fresh.
    """

    sender: Sender
    serial: int


class Doubt(Enum):
    """Why a frame that names this controller's key is not believed."""

    FORGED = "forged"
    STALE = "stale"


class OwnAgents:
    """The ports of one controller that send LLDP.

    key: secret; without one nothing is sealed, and nothing proven.  life: another one for each run
    of a controller whose key others have, too; None: nobody else has it.
    """

    def __init__(self, key: bytes = b"", life: int | None = None) -> None:
        self._key = key
        self._number = blake2s(key, digest_size=8, person=b"ofapplld").digest()
        self._shared = life is not None
        self._serial = (life or 0) << _RUN
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
        """Whose frame it is, by the value of such a TLV and the octets before it.

        None: it says nothing of this controller.
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

    def sent(self, sender: Sender) -> tuple[int, ...]:
        """The serial numbers of a port's last frames; none where it sends none."""
        return self._sent.get(sender, ())

    def leave(self, sender: Sender) -> None:
        """The port sends no more, or its switch is away: nothing that it has sent counts."""
        self._sent.pop(sender, None)

    def _digest(self, body: bytes, pdu: bytes) -> bytes:
        return blake2s(body + pdu, digest_size=_DIGEST, key=self._key).digest()
