"""How long a link that has failed waits until it is used again."""

from __future__ import annotations

FIRST_HOLD, MOST_HOLD = 1.0, 64.0
"""Seconds that a proven link waits after one failure, doubled with each further one; the most."""
FORGET = 600.0
"""Seconds without a failure after which the next one counts as the first."""
FLAPPING = 3
"""Failures, each within `FORGET` of the one before, that are reported as flapping."""


class Damping:
    """Failures of one link.

    failures: all of them; streak: those that are not forgotten; at: the last one.
    """

    __slots__ = ("at", "failures", "streak")

    def __init__(self) -> None:
        self.failures = self.streak = 0
        self.at = float("-inf")

    def fail(self, now: float) -> None:
        """Take note of a failure."""
        self.streak = self.streak + 1 if now - self.at < FORGET else 1
        self.failures += 1
        self.at = now

    def hold(self, now: float) -> float:
        """Seconds that the link has to stay proven from now on until it is used."""
        if not self.streak or now - self.at >= FORGET:
            return 0.0
        return min(FIRST_HOLD * 2.0 ** min(self.streak - 1, 16), MOST_HOLD)
