"""How many of the frames by which hosts are learned are read for IP addresses.

IP addresses are for display only, and reading one takes as long as learning.  So it is bounded
for all switches together: a network where hosts come and go shows all, and a storm of hosts,
from a switch that restarts or from forged addresses, is learned as fast as without.
"""

from __future__ import annotations

RATE = 1000
"""Frames a second."""
SAVED = 500
"""Frames that were not read yet and may be at once."""


class Curiosity:
    """left: how many frames may be read now; the reader subtracts what it read."""

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
"""The limit of this process."""
