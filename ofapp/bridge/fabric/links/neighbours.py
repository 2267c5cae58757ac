"""Which ports a link port hears, or is heard at, and since when."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.fabric.graph import End

LIFE = 12.5
"""Seconds for which a port counts that is not heard any more: more than two probes at rest."""


class Neighbours:
    """Ports with the instants when they were first and last heard."""

    __slots__ = ("_spans",)

    def __init__(self) -> None:
        self._spans: dict[End, tuple[float, float]] = {}

    def __iter__(self) -> Iterator[End]:
        return iter([*self._spans])

    def note(self, end: End, now: float) -> bool:
        """Take note that a port was heard; whether it was not there before."""
        first, last = self._spans.get(end, (now, now))
        new = now - last > LIFE or end not in self._spans
        self._spans[end] = (now if new else first, now)
        return new

    def forget(self, end: End) -> None:
        """Forget a port."""
        self._spans.pop(end, None)

    def clear(self) -> None:
        """Forget all."""
        self._spans.clear()

    def newest(self, now: float) -> float:
        """When the newest port was first heard; forgets those that are not heard any more."""
        for end in [end for end, (_, last) in self._spans.items() if now - last > LIFE]:
            del self._spans[end]
        return max((first for first, _ in self._spans.values()), default=0.0)

    def since(self, instant: float) -> frozenset[End]:
        """Ports that were heard at this instant or later.

        A port that was heard last before the newest one appeared is no neighbour: a cable was
        moved.  One that is still heard afterwards is: there is a hub.
        """
        return frozenset(end for end, (_, last) in self._spans.items() if last >= instant)
