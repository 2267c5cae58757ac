"""Who is heard on a port, and for how long (802.1AB-2016 9.2.9): its remote systems MIB.

Most frames say what the last one said, so a neighbour is kept with the octets of its frame: what is
the same need not be read again. There is room for MOST of them; a frame of one more is refused, and
for as long as that frame was good there are too many neighbours (9.2.7.7.5).
"""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.bridge.lldp.information import Identifier, Information
from ofapp.bridge.lldp.own import Relative, Sender

MOST = 8
"""Neighbours of a port that are remembered: on most there is one, on a shared segment a few."""
Identity = tuple[Identifier, Identifier]


@dataclass(slots=True)
class Neighbour:
    """information: what it says; since, seen, expires: instants.

    sender: the port of this controller that it has proven to be, or of its cluster.
    """

    information: Information
    since: float
    seen: float
    expires: float
    sender: Sender | Relative | None


class Receiver:
    """neighbours: by what identifies them (MSAP identifier, 3.2.31).

    crowded_until: until then there are too many neighbours; None: there are not.
    """

    __slots__ = ("_earliest", "crowded_until", "neighbours")

    def __init__(self) -> None:
        self.neighbours: dict[Identity, Neighbour] = {}
        self.crowded_until: float | None = None
        self._earliest: float | None = None

    def hear(
        self, said: Information, sender: Sender | Relative | None, room: bool, now: float
    ) -> tuple[Neighbour | None, Neighbour | None]:
        """A frame with a time to live came in: the neighbour before and now.

        room: the bridge has room for one more; None now: there is none.
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
        """It has said that it goes; None when it was not known."""
        self._earliest = None
        return self.neighbours.pop(identity, None)

    def clear(self) -> list[Neighbour]:
        """The port hears no more; gives who was known."""
        gone = [*self.neighbours.values()]
        self.neighbours.clear()
        self.crowded_until = self._earliest = None
        return gone

    def expire(self, now: float) -> list[Neighbour]:
        """Take out those whose time is over (rxInfoTTL, 9.2.2.1)."""
        gone = [known for known in self.neighbours.values() if known.expires <= now]
        for known in gone:
            self.forget(known.information.identity)
        return gone

    def due(self) -> float | None:
        """When somebody's time is over, or there are not too many any more."""
        if self._earliest is None and self.neighbours:
            self._earliest = min(known.expires for known in self.neighbours.values())
        due = [when for when in (self._earliest, self.crowded_until) if when is not None]
        return min(due, default=None)
