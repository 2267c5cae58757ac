"""Which members of a fabric are connected, and whether the protocols of its bridge may run.

They run while the controller can set the state of every port that forwards.  A member that is not
connected, but has carrier on its links, forwards by what it holds: all protocols are paused.  A
member without carrier at the other end of each of its links is off or cut off from the others: it
is gone, and so are its ports.
"""

from collections.abc import Callable, Iterable

from ofapp.bridge.fabric.plans.graph import Graph

PATIENCE = 10.0
"""Seconds for which a member has to be without links that was not connected since the start: the
links of the others are only being found then."""


class Presence:
    """Members by their connections.

    connected: those that the controller can program.
    seen: those that were connected since the start.
    arriving: those with a connection over which they are not programmed yet.
    gone: those that are not connected and have no links.
    """

    def __init__(self) -> None:
        self.connected: set[int] = set()
        self.seen: set[int] = set()
        self.arriving: set[int] = set()
        self.gone: set[int] = set()
        self._alone_since: dict[int, float] = {}

    def expect(self, member: int) -> None:
        """Take note that a member has a connection, over which it is not programmed yet."""
        self.arriving.add(member)
        self.gone.discard(member)
        self._alone_since.pop(member, None)

    def connect(self, member: int) -> None:
        """Take note that a member can be programmed."""
        self.expect(member)
        self.arriving.discard(member)
        self.connected.add(member)
        self.seen.add(member)

    def disconnect(self, member: int) -> None:
        """Take note that a member has no connection."""
        self.connected.discard(member)
        self.arriving.discard(member)

    def forget(self, member: int) -> None:
        """Take note that a member is no member any more."""
        self.disconnect(member)
        self.seen.discard(member)
        self.gone.discard(member)
        self._alone_since.pop(member, None)

    def disconnected(self, members: Iterable[int]) -> list[int]:
        """Members that may forward, and cannot be programmed."""
        return [each for each in members if each not in self.connected and each not in self.gone]

    def look(
        self,
        members: Iterable[int],
        is_alone: Callable[[int], bool],
        graph: Graph,
        now: float,
        found: bool = True,
    ) -> list[int]:
        """Return the members that are gone since the last call; some member must be connected.

        A member behind a disconnected one may forward, too.  A member that was gone, and has links
        again, may have been cut off only: it is disconnected until it connects.

        found: links are known.  While they are being found again, a member whose connection ends
        seems to have none, and may forward.
        """
        if not self.connected:
            return []
        self.gone = {member for member in self.gone if is_alone(member)}
        waited = self.disconnected(members)
        alive = {each for each in waited if each in self.arriving or not is_alone(each)}
        behind = _reached(graph, alive, {*waited})
        new: list[int] = []
        for member in waited:
            if member in behind or (alive and member not in self.seen):
                self._alone_since.pop(member, None)
                continue
            since = self._alone_since.setdefault(member, now)
            if (found and member in self.seen) or since + PATIENCE <= now:
                del self._alone_since[member]
                new.append(member)
        self.gone.update(new)
        return new

    def next_wakeup(self) -> float | None:
        """When `look` is due, None when nothing is."""
        due = (since + PATIENCE for since in self._alone_since.values())
        return min(due, default=None) if self.connected else None


def _reached(graph: Graph, start: set[int], among: set[int]) -> set[int]:
    """Members that are reached from some without leaving a set of members."""
    reached, waiting = set(start), [*start]
    while waiting:
        for hop in graph.hops.get(waiting.pop(), ()):
            if hop.member in among and hop.member not in reached:
                reached.add(hop.member)
                waiting.append(hop.member)
    return reached
