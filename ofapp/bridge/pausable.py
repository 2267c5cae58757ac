"""A protocol's own time: it stands still while its switch is away or its controller is stopped.

A bridge whose switch is away can neither hear nor be heard.  Its protocols are paused, as if that
time had not been: the datapath keeps what they last told it, so they agree when they go on.

A controller that is stopped for a while is no better off: what was said to it meanwhile still waits
to be read when it goes on.  To let that time pass would be to take every neighbour for silent.  So
whoever runs the protocols shows that he is there (`beat`), and time in which he was not does not
count.
"""

from __future__ import annotations

UNLIVED = 1.0
"""Seconds without a sign of life after which they are taken not to have been lived."""


class PausableTime:
    """Translates between the shell's time and a protocol's.

    paused: the protocol's instant at which it stands, for one that was revived; None: it runs.
    """

    def __init__(self, paused: float | None = None) -> None:
        self._lost = 0.0
        self._paused = paused
        self._seen: float | None = None  # when somebody showed that he was there; None: nobody does

    @property
    def runs(self) -> bool:
        """Whether time passes."""
        return self._paused is None

    def beat(self, now: float) -> None:
        """Who runs the protocol is there.  Once that was said it is to be said several times a
        second."""
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
        """The shell's time of one of the protocol's instants; None while paused or without one."""
        return None if instant is None or self._paused is not None else instant + self._lost

    def pause(self, now: float) -> None:
        """Stand still from now on."""
        self._live(now)
        if self._paused is None:
            self._paused = now

    def resume(self, now: float) -> None:
        """Go on."""
        if self._paused is not None:
            self._lost += now - self._paused
            self._paused = None
            self._seen = None if self._seen is None else now

    def _live(self, now: float) -> None:
        """Until now; what was not lived is lost, but not twice while paused."""
        if self._seen is None:
            return
        if self._paused is None and now - self._seen > UNLIVED:
            self._lost += now - self._seen
        self._seen = max(self._seen, now)
