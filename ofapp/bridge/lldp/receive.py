"""Neighbours of a port and how long each is remembered (802.1AB-2016 9.2.9): remote systems MIB.

There is room for MOST neighbours. A frame of one more is refused, and until its TTL has expired
there are too many neighbours (9.2.7.7.5).
"""

from dataclasses import dataclass

from ofapp.bridge.lldp.information import Identifier, Information
from ofapp.bridge.lldp.own import Relative, Sender

MOST = 8
"""Most neighbours of a port: usually there is one, on a shared segment a few."""
Identity = tuple[Identifier, Identifier]


@dataclass(slots=True)
class Neighbour:
    """One neighbour.  information: what it last sent; since, seen, expires: instants.

    sender: the port of this controller, or of its cluster, that it has proven to be.
    """

    information: Information
    since: float
    seen: float
    expires: float
    sender: Sender | Relative | None


class Receiver:
    """The neighbours of one port.  neighbours: by MSAP identifier (3.2.31).

    crowded_until: until then there are too many neighbours; None: not too many.
    """

    __slots__ = ("_earliest", "crowded_until", "neighbours")

    def __init__(self) -> None:
        self.neighbours: dict[Identity, Neighbour] = {}
        self.crowded_until: float | None = None
        self._earliest: float | None = None

    def hear(
        self, said: Information, sender: Sender | Relative | None, room: bool, now: float
    ) -> tuple[Neighbour | None, Neighbour | None]:
        """Take a frame whose TTL is not zero; gives the neighbour before and after.

        room: the bridge has room for one more.  None after: there is no room.
        """
        before = self.neighbours.get(said.identity)
        if before is None and (len(self.neighbours) >= MOST or not room):
            self.crowded_until = max(self.crowded_until or now, now + said.ttl)
            return None, None
        since = now if before is None else before.since
        known = Neighbour(said, since, now, now + said.ttl, sender)
        self.neighbours[said.identity] = known
        self._earliest = None
        return before, known

    def forget(self, identity: Identity) -> Neighbour | None:
        """Forget a neighbour; gives it, None when it was not known."""
        self._earliest = None
        return self.neighbours.pop(identity, None)

    def clear(self) -> list[Neighbour]:
        """Forget all neighbours; gives those that were known."""
        gone = [*self.neighbours.values()]
        self.neighbours.clear()
        self.crowded_until = self._earliest = None
        return gone

    def expire(self, now: float) -> list[Neighbour]:
        """Take out neighbours whose TTL has expired (rxInfoTTL, 9.2.2.1)."""
        gone = [known for known in self.neighbours.values() if known.expires <= now]
        for known in gone:
            self.forget(known.information.identity)
        return gone

    def due(self) -> float | None:
        """When a TTL expires, or there are no longer too many neighbours."""
        if self._earliest is None and self.neighbours:
            self._earliest = min(known.expires for known in self.neighbours.values())
        due = [when for when in (self._earliest, self.crowded_until) if when is not None]
        return min(due, default=None)
