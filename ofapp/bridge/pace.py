"""At most so many of something in any so many seconds.

LACPDUs need it by the standard, and everything else that a host can bring about needs it as well:
what it costs the switch and the people who read events must not depend on how fast a host can send.
"""

from __future__ import annotations

from collections import deque

EXPIRED = float("-inf")


class Pace:
    """At most `most` in any `period` seconds; the instants of the last ones are all it keeps."""

    __slots__ = ("_period", "_taken")

    def __init__(self, most: int, period: float) -> None:
        self._period = period
        self._taken: deque[float] = deque(maxlen=most)

    @property
    def free_at(self) -> float:
        """The instant from which on one more is allowed."""
        full = len(self._taken) == self._taken.maxlen
        return self._taken[0] + self._period if full else EXPIRED

    def take(self, now: float) -> bool:
        """Whether one more is allowed now; then it counts."""
        if now < self.free_at:
            return False
        self._taken.append(now)
        return True


class Telling(Pace):
    """Events, so many of them; untold: how many more there were."""

    __slots__ = ("untold",)

    def __init__(self, most: int, period: float) -> None:
        super().__init__(most, period)
        self.untold = 0

    def take(self, now: float) -> bool:
        """Whether one more may be told now; otherwise it is counted."""
        allowed = super().take(now)
        self.untold += not allowed
        return allowed

    def left_out(self, now: float) -> int:
        """How many were not told, once some may be again; they count no more."""
        if not self.untold or now < self.free_at:
            return 0
        count, self.untold = self.untold, 0
        return count
