"""How often topology changes may make a bridge ask for members.

A neighbour tells a change more than once, a new one while the last is still told, and a hostile
host tells as many as it likes.  The first is asked about at once; while they go on, the waits
double, and a change that comes meanwhile is asked about after the wait.  No change goes unasked.
"""

from __future__ import annotations

from math import inf

from ofapp.bridge.event import Event, Severity

SHORTEST = 1.0
"""Seconds between the first two times."""
LONGEST = 10.0
"""Seconds that the wait grows to, and without a change until it is the shortest again."""


class TopologyChanges:
    """Topology changes in, times to ask out.

    heard, delayed: topology changes, and those of them that had to wait.
    wait: seconds from the last time until the next may be; 0 when it is calm.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.delayed = 0
        self.wait = 0.0
        self._heard_at = -inf
        self._asked_at = -inf
        self._due = inf

    def hear(self, now: float) -> None:
        """The topology has changed."""
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
        """Whether to ask now, and what to tell."""
        events = []
        if self._calm_at() <= now < self._due:
            if self.wait == LONGEST:
                message = "no more topology changes: members are asked about the next at once"
                events.append(Event("mcast.changes.cleared", message))
            self.wait = 0.0
        if now < self._due:
            return False, events
        self._asked_at, self._due = now, inf
        longer = min(2 * self.wait or SHORTEST, LONGEST)
        if longer == LONGEST > self.wait:
            message = f"topology changes keep coming: members are asked every {LONGEST:g} s at most"
            events.append(
                Event("mcast.changes", message, Severity.WARNING, data={"changes": self.heard})
            )
        self.wait = longer
        return True, events
