"""Bridges whose switch is disconnected: since when, and which of them for too long.

The state of a switch that is away for a minute is kept.  A deleted switch never comes back, and
looks the same from here: so a bridge is forgotten after a time, or on request.
"""

from __future__ import annotations

from collections.abc import Iterator


class Away:
    """Absent switches by datapath id, the longest away first; times are monotonic."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def __contains__(self, datapath_id: int) -> bool:
        return datapath_id in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def left(self, datapath_id: int, now: float) -> None:
        """Note that the switch has disconnected."""
        self._since.pop(datapath_id, None)
        self._since[datapath_id] = now

    def back(self, datapath_id: int) -> None:
        """Note that the switch is connected again, or that its bridge is forgotten."""
        self._since.pop(datapath_id, None)

    def seconds(self, datapath_id: int, now: float) -> float | None:
        """Seconds since the switch disconnected; None when it is connected."""
        since = self._since.get(datapath_id)
        return None if since is None else now - since

    def longest(self) -> int | None:
        """The switch that has been away the longest; None when none is."""
        return next(iter(self._since), None)

    def overdue(self, patience: float, now: float) -> list[int]:
        """Switches that have been away for `patience` seconds or more."""
        return [known for known, since in self._since.items() if now - since >= patience]
