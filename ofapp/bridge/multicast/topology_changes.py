"""Rate limit for queries after topology changes.

A neighbour reports a change more than once, and a new one during the last; a hostile host reports
any number.  The first is followed by a query at once.  While they go on, the waits double, and a
change during a wait is followed by a query after it.  No change goes without a query.
"""

from math import inf

from ofapp.bridge.event import Event
from ofapp.bridge.multicast.events import MCAST_CHANGES, MCAST_CHANGES_CLEARED

SHORTEST = 1.0
"""Seconds between the first two queries."""
LONGEST = 10.0
"""Longest wait in seconds; also the seconds without a change that reset the wait."""


class TopologyChanges:
    """Decides when to query after topology changes.

    heard, delayed: topology changes, and those of them that had to wait.
    wait: seconds from the last query until the next may be; 0 when there are no changes.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.delayed = 0
        self.wait = 0.0
        self._heard_at = -inf
        self._asked_at = -inf
        self._due = inf

    def hear(self, now: float) -> None:
        """Note a topology change."""
        self.heard += 1
        self._heard_at = now
        self._due = min(self._due, max(now, self._asked_at + self.wait))
        self.delayed += self._due > now

    def next(self) -> float:
        """When `run` has something to do; infinity for never."""
        return min(self._due, self._calm_at())

    def _calm_at(self) -> float:
        return max(self._heard_at, self._asked_at) + LONGEST if self.wait else inf

    def run(self, now: float) -> tuple[bool, list[Event]]:
        """Gives whether to query now, and the events to emit."""
        events = []
        if self._calm_at() <= now < self._due:
            if self.wait == LONGEST:
                message = "no more topology changes: members are queried at once after the next"
                events.append(MCAST_CHANGES_CLEARED.event(message))
            self.wait = 0.0
        if now < self._due:
            return False, events
        self._asked_at, self._due = now, inf
        longer = min(2 * self.wait or SHORTEST, LONGEST)
        if longer == LONGEST > self.wait:
            message = (
                f"topology changes keep coming: members are queried every {LONGEST:g} s at most"
            )
            events.append(MCAST_CHANGES.event(message, data={"changes": self.heard}))
        self.wait = longer
        return True, events
