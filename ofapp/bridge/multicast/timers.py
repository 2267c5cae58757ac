"""One heap for every deadline of a bridge's snooping.

A deadline that moves later, as with each report, costs nothing: the owner comes up at the old time,
is found not yet due and goes back. A deadline that moves earlier is pushed again and the old heap
entry becomes stale; stale ones are swept out when they outnumber the live ones, so no sequence of
joins and leaves can make the heap grow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import inf

ScopeKey = tuple[int, bool]
"""VLAN and family of an object: the VID, and whether it is of IPv6."""


class Timed(ABC):
    """An object with a next deadline.

    place: its VLAN and family, by which its owner finds it. `due` belongs to `Timers`: when its
    heap entry comes up.
    """

    __slots__ = ("due", "place")

    def __init__(self, place: ScopeKey) -> None:
        self.due = inf
        self.place = place

    @abstractmethod
    def deadline(self) -> float:
        """The instant at which it is due next; infinity for never."""
        ...


class Timers:
    """The heap. Entries are (time, sequence number, owner), valid while time equals owner.due."""

    __slots__ = ("_heap", "_live", "_sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timed]] = []
        self._live = 0
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    def update(self, owner: Timed) -> None:
        """Note the owner's deadline; cheap when it moved later or stayed."""
        when = owner.deadline()
        if when >= owner.due:
            return
        if owner.due == inf:
            self._live += 1
        owner.due = when
        self._sequence += 1
        heappush(self._heap, (when, self._sequence, owner))
        if len(self._heap) > 2 * self._live + 64:
            self._sweep()

    def cancel(self, owner: Timed) -> None:
        """Forget an owner that is gone."""
        if owner.due != inf:
            owner.due = inf
            self._live -= 1

    def next(self) -> float | None:
        """The earliest time anything may be due; None for never."""
        heap = self._heap
        while heap and heap[0][0] != heap[0][2].due:
            heappop(heap)
        return heap[0][0] if heap else None

    def run(self, now: float) -> Iterator[Timed]:
        """All objects that are due at `now`, in order of time.

        Each must be handled before the next is taken, so that its deadline is past `now`.
        """
        while self._heap and self._heap[0][0] <= now:
            when, _, owner = heappop(self._heap)
            if when != owner.due:
                continue
            owner.due = inf
            self._live -= 1
            if owner.deadline() <= now:
                yield owner
            self.update(owner)

    def _sweep(self) -> None:
        self._heap = [entry for entry in self._heap if entry[0] == entry[2].due]
        heapify(self._heap)
