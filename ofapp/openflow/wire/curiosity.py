"""How many of the frames by which hosts are learned are looked into for more than that.

What they tell is nice to know and no more, and to read one takes as long as to learn.  So it is
bounded for all switches together: a network where hosts come and go tells all, and a storm of
them, be it of a switch that restarts or of one that invents them, is learned as fast as without.
"""

from __future__ import annotations

RATE = 1000
"""Frames a second."""
SAVED = 500
"""Frames that were not read yet and may be at once."""


class Curiosity:
    """left: how many frames may be read now; whoever reads some takes them off."""

    def __init__(self, left: int = SAVED) -> None:
        self.left = left
        self._at = 0.0

    def renew(self, now: float) -> None:
        """Time has passed, in seconds."""
        more = int((now - self._at) * RATE)
        if more > 0:
            self._at += more / RATE
            self.left = min(self.left + more, SAVED)


CURIOSITY = Curiosity()
"""Of this process."""
