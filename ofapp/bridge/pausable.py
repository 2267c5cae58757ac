"""A protocol's clock, paused while its switch is disconnected or its controller is stopped.

A bridge whose switch is disconnected can neither receive nor send.  Its protocols are paused, and
that time does not count: the datapath keeps its last flows, so both agree when the protocols
resume.

The same holds for a controller that is stopped for a while: frames that arrived meanwhile are still
to be read.  If that time counted, every neighbour would appear silent.  So the loop that runs the
protocols calls `beat`, and time without calls does not count.
"""

from math import inf, nextafter

UNLIVED = 1.0
"""Seconds without `beat` after which that time does not count."""


class PausableTime:
    """Translates between the shell's time and a protocol's.

    paused: the protocol's instant at which it is paused, for a restored one; None: it runs.
    """

    def __init__(self, paused: float | None = None) -> None:
        self._lost = 0.0
        self._paused = paused
        self._seen: float | None = None  # the last `beat`; None: there was none

    @property
    def runs(self) -> bool:
        """Whether time passes."""
        return self._paused is None

    def beat(self, now: float) -> None:
        """Signal that the controller runs; after the first call several times a second."""
        if self._seen is None:
            self._seen = now
        self._live(now)

    def at(self, now: float) -> float:
        """The protocol's time at the shell's `now`."""
        self._live(now)
        return (now if self._paused is None else self._paused) - self._lost

    def then(self, instant: float) -> float:
        """The protocol's time at another of the shell's instants, should it run until then."""
        return instant - self._lost

    def due(self, instant: float | None) -> float | None:
        """The shell's time of one of the protocol's instants; None while paused or without one.

        `at` gives the instant at that time, or a later one: a sum that is rounded down would leave
        the caller with a timer that is due and does nothing.
        """
        if instant is None or self._paused is not None:
            return None
        due = instant + self._lost
        while due - self._lost < instant:
            due = nextafter(due, inf)
        return due

    def pause(self, now: float) -> None:
        """Pause the clock."""
        self._live(now)
        if self._paused is None:
            self._paused = now

    def resume(self, now: float) -> None:
        """Run the clock again."""
        if self._paused is not None:
            self._lost += now - self._paused
            self._paused = None
            self._seen = None if self._seen is None else now

    def _live(self, now: float) -> None:
        """Count the time until now, except a stall; a stall while paused is not lost twice."""
        if self._seen is None:
            return
        if self._paused is None and now - self._seen > UNLIVED:
            self._lost += now - self._seen
        self._seen = max(self._seen, now)
