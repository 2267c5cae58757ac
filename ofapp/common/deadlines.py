"""Deadlines by key, in a heap."""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Deadlines(Generic[K]):
    """When each key is due.  Times are the caller's, in seconds."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []  # with outdated entries
        self._pushed = 0

    def __len__(self) -> int:
        """Number of entries, with outdated ones."""
        return len(self._heap)

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def set(self, key: K, when: float | None) -> None:
        """Replace a key's deadline; None for none."""
        if when is None:
            self._due.pop(key, None)
        elif self._due.get(key) != when:
            self._due[key] = when
            self._pushed += 1
            heappush(self._heap, (when, self._pushed, key))
            if len(self._heap) > 2 * len(self._due) + 64:
                self._heap = [each for each in self._heap if self._due.get(each[2]) == each[0]]
                heapify(self._heap)

    def advance(self, key: K, when: float) -> None:
        """Set a key's deadline, unless it has an earlier one."""
        if when < self._due.get(key, inf):
            self.set(key, when)

    def next(self) -> float | None:
        """The earliest deadline."""
        heap = self._heap
        while heap and self._due.get(heap[0][2]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def expired(self, now: float) -> Iterator[K]:
        """Take out the keys that are due, in order; changes meanwhile are safe."""
        while (due := self.next()) is not None and due <= now:
            key = heappop(self._heap)[2]
            del self._due[key]
            yield key
