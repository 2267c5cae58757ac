"""Numbers of the frames that loop protection sends: which ones count when they come back.

A loop through several bridges is found by each of them, and one hold ends it.  So a frame that left
before another bridge of this controller has closed a port, and `SETTLE` seconds after that, holds
nothing: its port sends again.  Many bridges that close ports for other loops delay this by
`PATIENCE` seconds at most.
"""

from collections import deque

from ofapp.bridge.loop_protect.frame import LoopFrame

SETTLE = 0.25
"""Seconds until a switch has closed a port."""
PATIENCE = 2.0
"""Most seconds for which holds of other bridges, one soon after the other, have a port wait."""


class SentFrames:
    """The frames that one bridge has sent; times are the protocol's.

    most: how many of their times are remembered.
    """

    def __init__(self, most: int) -> None:
        self._number = 0
        # When, and the number of the last frame sent before.
        self._marks = deque([(0.0, 0)], maxlen=most)
        # Ports that send again, and those that have, each with the end of `SETTLE` then.
        self._again: dict[int, float] = {}
        self._repeated: dict[int, float] = {}
        # The first and the last such time of holds by other bridges, one soon after the other.
        self._series: dict[int, tuple[float, float]] = {}

    def next(self) -> int:
        """The number of a frame that is sent now."""
        self._number += 1
        return self._number

    def mark(self, at: float) -> None:
        """Note the time: the frames that are sent from now on have greater numbers."""
        self._marks.append((at, self._number))

    def restart(self) -> None:
        """Count none of the frames that were sent until now."""
        self._marks.clear()
        self.mark(0.0)
        self._again.clear()

    def forget(self, port: int) -> None:
        """Forget a port that is gone."""
        for times in (self._again, self._repeated, self._series):
            times.pop(port, None)

    def is_fresh(self, frame: LoopFrame, oldest: float) -> bool:
        """Whether a frame was sent after this time."""
        while len(self._marks) > 1 and self._marks[1][0] <= oldest:
            self._marks.popleft()
        return frame.number > self._marks[0][1]

    def is_outdated(self, frame: LoopFrame, begun: float) -> bool:
        """Whether another bridge, which has begun a hold, may have ended the loop since.

        Then the frame's port sends again, once.
        """
        settled = begun + SETTLE
        first, last = self._series.get(frame.port, (settled, settled))
        first = settled if settled - last > PATIENCE else first
        self._series[frame.port] = first, settled
        settled = min(settled, first + PATIENCE)
        since = (number for when, number in self._marks if when >= settled)
        if frame.number > next(since, self._number):
            return False
        if self._repeated.get(frame.port) != settled:
            self._again[frame.port] = settled
        return True

    def due(self) -> list[float]:
        """When ports send again."""
        return [*self._again.values()]

    def take_due(self, at: float) -> list[int]:
        """The ports that send again now."""
        ports = sorted(port for port, due in self._again.items() if due <= at)
        if ports:
            self.mark(at)
        self._repeated |= {port: self._again.pop(port) for port in ports}
        return ports
