"""A rate limit: at most so many of something in any so many seconds.

The standard requires it for LACPDUs. Everything else that a host can cause needs it as well: the
load on the switch and the number of events must not depend on how fast a host can send.
"""

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


class EventPace(Pace):
    """A rate limit of events, with the number of suppressed ones."""

    __slots__ = ("suppressed",)

    def __init__(self, most: int, period: float) -> None:
        super().__init__(most, period)
        self.suppressed = 0

    def take(self, now: float) -> bool:
        """Whether one more event is allowed now; otherwise it is counted."""
        allowed = super().take(now)
        self.suppressed += not allowed
        return allowed

    def left_out(self, now: float) -> int:
        """Return and reset the number of suppressed events, once some are allowed again."""
        if not self.suppressed or now < self.free_at:
            return 0
        count, self.suppressed = self.suppressed, 0
        return count
