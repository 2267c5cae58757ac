"""How much a switch may be told without having answered.

A switch under a flood of new addresses carries out a few thousand flow-mods a second, and whatever
is sent queues behind them, in its socket and in ours: hellos of spanning tree were 1.4 s late
[measured].  So every few kilobytes a barrier asks the switch how far it has come, and new
addresses wait here, where they cost nobody anything, while too much is unanswered.  The window
follows the time that answers take: a fast switch never notices it.
"""

from __future__ import annotations

SMALLEST, LARGEST = 4 << 10, 256 << 10
MARK = 4 << 10
"""Bytes between two questions."""
FAST, SLOW = 0.01, 0.04
"""Seconds for an answer, below and above which the window grows and shrinks."""


class Window:
    """Bytes sent and answered on one connection."""

    def __init__(self) -> None:
        self.size = 16 * SMALLEST
        self._sent = 0
        self._answered = 0
        self._marked = 0
        self._resized = 0.0

    @property
    def is_open(self) -> bool:
        """Whether more may be sent."""
        return self._sent - self._answered < self.size

    def sent(self, count: int) -> bool:
        """So many bytes went out; gives whether it is time to ask."""
        self._sent += count
        return self._sent - self._marked >= MARK

    def mark(self) -> int:
        """A question goes out now; gives what an answer to it is about."""
        self._marked = self._sent
        return self._sent

    def answered(self, mark: int, asked: float, now: float) -> None:
        """The question of that mark, asked at `asked`, is answered."""
        self._answered = max(self._answered, mark)
        took = now - asked
        if asked < self._resized:
            return  # it tells of the window before
        if took > SLOW:
            self.size = max(self.size // 2, SMALLEST)
            self._resized = now
        elif took < FAST and self.size < LARGEST:
            self.size *= 2
            self._resized = now
