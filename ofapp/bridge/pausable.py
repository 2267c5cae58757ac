"""A protocol's own time, which stands still while its switch is away.

A bridge whose switch is away can neither hear nor be heard.  Its protocols are paused, as if that
time had not been: the datapath keeps what they last told it, so they agree when they go on.
"""

from __future__ import annotations


class PausableTime:
    """Translates between the shell's time and a protocol's.

    paused: the protocol's instant at which it stands, for one that was revived; None: it runs.
    """

    def __init__(self, paused: float | None = None) -> None:
        self._lost = 0.0
        self._paused = paused

    @property
    def runs(self) -> bool:
        """Whether time passes."""
        return self._paused is None

    def at(self, now: float) -> float:
        """The protocol's time at the shell's `now`."""
        return (now if self._paused is None else self._paused) - self._lost

    def due(self, instant: float | None) -> float | None:
        """The shell's time of one of the protocol's instants; None while paused or without one."""
        return None if instant is None or self._paused is not None else instant + self._lost

    def pause(self, now: float) -> None:
        """Stand still from now on."""
        if self._paused is None:
            self._paused = now

    def resume(self, now: float) -> None:
        """Go on."""
        if self._paused is not None:
            self._lost += now - self._paused
            self._paused = None
