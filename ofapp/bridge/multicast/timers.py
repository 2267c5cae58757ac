"""One heap for every deadline of a bridge's snooping.

A deadline that moves later, which each report does to one, costs nothing: the owner is woken at
the old time, sees that it is not yet due and asks again. A deadline that moves earlier is pushed
anew and the old heap entry becomes stale; stale ones are swept out when they outnumber the live
ones, so no sequence of joins and leaves can make the heap grow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heapify, heappop, heappush
from math import inf


class Timed(ABC):
    """Something with a next deadline. `due` belongs to `Timers`: when its heap entry fires."""

    __slots__ = ("due",)

    def __init__(self) -> None:
        self.due = inf

    @abstractmethod
    def deadline(self) -> float:
        """When it wants to be woken; infinity for never."""
        ...

    @abstractmethod
    def expire(self, now: float) -> None:
        """Do what is due, so that `deadline` is past `now` after."""
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
        """Note the owner's deadline; cheap when it moved later or not at all."""
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

    def run(self, now: float) -> None:
        """Wake all that is due at `now`, in order of time."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            when, _, owner = heappop(heap)
            if when != owner.due:
                continue
            owner.due = inf
            self._live -= 1
            if owner.deadline() <= now:
                owner.expire(now)
            self.update(owner)

    def _sweep(self) -> None:
        self._heap = [entry for entry in self._heap if entry[0] == entry[2].due]
        heapify(self._heap)
