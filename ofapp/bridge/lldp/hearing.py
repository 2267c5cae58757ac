"""Whether the neighbours of a port hear it: the check for one-way links.

A cable can pass frames in one direction alone: a broken fibre, a failed transmitter.  The end that
hears nothing cannot tell this from a neighbour that is switched off.  The other end can: each
LLDPDU lists the neighbours that its port hears, by digests of their identities.  So a port whose
neighbour speaks without listing it is not heard there.

LLDP carries the list because its agents run on each physical port, its frames never pass a bridge,
and their last TLV authenticates them.  Frames of loop protection are sent by edge ports alone and
pass other bridges, so they say nothing of one cable.

A neighbour is listed for two and a half of its intervals, and three seconds.  A port that is
missing from a list sends some frames at once.  If the neighbour speaks again without listing it,
although two of these frames had the time to arrive, the link is one-way.  Silence proves nothing:
the neighbour's controller may be stopped.  Where another neighbour hears the port, on a segment
with several, it is not one-way either.

No host can make a link appear one-way by its own frames.  A list counts if its frame is
authenticated and newer than the last one; others lead to a warning.  A host with a port on two
segments can pass frames of one on to the other, so a port is closed only if the sender's port is
set to `hold`, too: hosts are behind neither.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2s
from typing import NamedTuple

from ofapp.bridge.lldp import tlv
from ofapp.bridge.lldp.own import OUI, RUN
from ofapp.bridge.lldp.receive import Identity, Neighbour
from ofapp.bridge.lldp.tlv import Type

SUBTYPE = 2
HOLD = 4
"""msgTxHold (802.1AB-2016 9.2.5.6): intervals for which a neighbour remembers this bridge."""
ASKED = 2
"""Frames of a port that the neighbour had time to hear, and did not, before a link is one-way."""
MARGIN = 1.5
"""Seconds that a frame has to arrive and to be answered."""
_NAME = 8
_MAY_CLOSE = 1


class Listing(NamedTuple):
    """A neighbour's list.  may_close: a one-way link is closed at that end, too.

    names: digests of the neighbours that it hears.
    """

    may_close: bool
    names: frozenset[bytes]


def name_of(identity: Identity) -> bytes:
    """A digest of an MSAP identifier (802.1AB-2016 3.2.31)."""
    chassis, port = identity
    octets = tlv.identifier(Type.CHASSIS_ID, chassis) + tlv.identifier(Type.PORT_ID, port)
    return blake2s(octets, digest_size=_NAME, person=b"ofapphrd").digest()


def write(listing: Listing) -> bytes:
    """The TLV of a list."""
    flags = bytes((_MAY_CLOSE if listing.may_close else 0,))
    return tlv.organization(OUI, SUBTYPE, flags + b"".join(sorted(listing.names)))


def read(value: bytes) -> Listing | None:
    """Read the value of such a TLV; None for any other content."""
    octets = value[len(OUI) + 1 :]
    if not octets or (len(octets) - 1) % _NAME:
        return None
    names = (octets[at : at + _NAME] for at in range(1, len(octets), _NAME))
    return Listing(bool(octets[0] & _MAY_CLOSE), frozenset(names))


def memory(ttl: int) -> float:
    """Seconds for which a neighbour is listed after its last frame, by the TTL of that frame."""
    return 2.5 * max((ttl - 1) / HOLD, 1) + 3


@dataclass(slots=True)
class _Neighbour:
    """A neighbour that sends lists.

    serial: serial number of its last frame, 0 while it has not proven to be of this controller.
    hears: its last list names this port, and is proven; heard: one has, in the run of its sender.
    missing: since when its lists do not name this port; None: they do.
    """

    serial: int = 0
    hears: bool = False
    heard: bool = False
    missing: float | None = None

    def is_older(self, serial: int) -> bool:
        """Whether its last frame was sent before that of this serial number, 0 without a proof."""
        if serial >> RUN != self.serial >> RUN:
            return serial > 0
        return serial > self.serial or self.serial == 0


class Hearing:
    """The neighbours of one port that send lists, and whether they hear the port."""

    __slots__ = ("_known", "_sent")

    def __init__(self) -> None:
        self._known: dict[Identity, _Neighbour] = {}
        self._sent: deque[float] = deque(maxlen=16)

    def sent(self, now: float) -> None:
        """Note that the port sends a frame."""
        self._sent.append(now)

    def restart(self) -> None:
        """Count no frame that was sent before."""
        self._sent.clear()
        for known in self._known.values():
            known.missing = None

    def forget(self, identity: Identity) -> None:
        """Forget a neighbour that is gone."""
        self._known.pop(identity, None)

    def leave(self, identity: Identity, serial: int) -> bool:
        """Forget a neighbour that sends no list any more; whether that is proven.

        serial: serial number of its frame without a list, else 0.
        """
        known = self._known.get(identity)
        if known is None or not known.is_older(serial):
            return False
        del self._known[identity]
        return serial > 0

    def heard(self, identity: Identity) -> bool:
        """Whether a list of a neighbour has named the port, since its sender has started."""
        known = self._known.get(identity)
        return known is not None and known.heard

    @property
    def missing(self) -> bool:
        """Whether some neighbour's list does not name the port."""
        return any(known.missing is not None for known in self._known.values())

    def take(self, identity: Identity, serial: int, names_port: bool, now: float) -> bool | None:
        """Take a neighbour's list: whether it hears the port, None while that is not certain.

        serial: serial number of a proven frame, else 0.  A list that is older than the last one
        counts for nothing, nor does one without a proof of a neighbour that has proven itself.
        """
        known = self._known.setdefault(identity, _Neighbour())
        if not known.is_older(serial):
            return None
        if serial >> RUN != known.serial >> RUN:
            known.heard = False
        known.serial = serial
        known.hears = names_port and serial > 0
        if names_port:
            known.heard, known.missing = True, None
            return True
        if known.missing is None:
            known.missing = now
        asked = sum(known.missing <= at <= now - MARGIN for at in self._sent)
        others = any(each.hears for each in self._known.values())
        return None if asked < ASKED or others else False

    def listed(self, neighbours: Iterable[Neighbour], now: float) -> frozenset[bytes]:
        """The names of neighbours that send lists and are heard."""
        return frozenset(
            name_of(each.information.identity)
            for each in self._listing(neighbours)
            if each.seen + memory(each.information.ttl) > now
        )

    def due(self, neighbours: Iterable[Neighbour], now: float) -> float | None:
        """When the next neighbour leaves the list."""
        ends = (each.seen + memory(each.information.ttl) for each in self._listing(neighbours))
        return min((end for end in ends if end > now), default=None)

    def _listing(self, neighbours: Iterable[Neighbour]) -> Iterable[Neighbour]:
        return (each for each in neighbours if each.information.identity in self._known)
