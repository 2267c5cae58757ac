"""How many of the frames by which hosts are learned are read for IP addresses.

IP addresses are for display only, and reading one takes as long as learning.  So it is bounded
for all switches together: a network where hosts come and go shows all, and a storm of hosts,
from a switch that restarts or from forged addresses, is learned as fast as without.
"""

from __future__ import annotations

IP_SAMPLE_RATE = 1000
"""Frames a second."""
SAVED = 500
"""Frames that were not read yet and may be at once."""


class IpSampling:
    """Budget of frames.  left: how many may be read now; the reader subtracts what it has read."""

    def __init__(self, left: int = SAVED) -> None:
        self.left = left
        self._at = 0.0

    def renew(self, now: float) -> None:
        """Allow further frames for the time since the last call; `now` in seconds."""
        more = int((now - self._at) * IP_SAMPLE_RATE)
        if more > 0:
            self._at += more / IP_SAMPLE_RATE
            self.left = min(self.left + more, SAVED)


IP_SAMPLING = IpSampling()
"""The limit of this process."""
