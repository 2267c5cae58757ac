"""Bridges whose switch is away: since when, and which of them for too long.

What is known of a switch that is away for a minute is kept.  One that was deleted never comes back,
and nobody can tell the two apart: so a bridge is forgotten after a time, or when somebody says so.
"""

from __future__ import annotations

from collections.abc import Iterator


class Away:
    """By datapath id, the longest away first; times are monotonic."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def __contains__(self, datapath_id: int) -> bool:
        return datapath_id in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def left(self, datapath_id: int, now: float) -> None:
        """The switch is gone."""
        self._since.pop(datapath_id, None)
        self._since[datapath_id] = now

    def back(self, datapath_id: int) -> None:
        """The switch is there again, or its bridge is forgotten."""
        self._since.pop(datapath_id, None)

    def seconds(self, datapath_id: int, now: float) -> float | None:
        """For how long a switch has been away; None when it is there."""
        since = self._since.get(datapath_id)
        return None if since is None else now - since

    def longest(self) -> int | None:
        """The one that has been away the longest; None when none is."""
        return next(iter(self._since), None)

    def overdue(self, patience: float, now: float) -> list[int]:
        """Those away for `patience` seconds or more."""
        return [known for known, since in self._since.items() if now - since >= patience]
