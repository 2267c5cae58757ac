"""The last records of each kind and source, in bounded room that no kind can have for itself.

What happens often (a port that flaps, a switch that comes and goes) would push out what happened
once: when there is no more room, the oldest goes of the source with the most records, of the kind
with the most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class History(Generic[T]):
    """At most `size` records, in the order in which they came."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._records: dict[int, T] = {}
        self._numbers: dict[Hashable, dict[Hashable, deque[int]]] = {}  # by kind and source
        self._kinds: dict[Hashable, int] = {}
        self._last = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._records.values())

    def add(self, kind: Hashable, source: Hashable, record: T) -> T | None:
        """The newest; gives the one that had to go for it."""
        self._last += 1
        self._records[self._last] = record
        self._numbers.setdefault(kind, {}).setdefault(source, deque()).append(self._last)
        self._kinds[kind] = self._kinds.get(kind, 0) + 1
        return self._forget_one() if len(self._records) > self._size else None

    def _forget_one(self) -> T:
        kind = max(self._kinds, key=self._kinds.__getitem__)
        sources = self._numbers[kind]
        numbers = max(sources.values(), key=len)  # the first of those with the most
        record = self._records.pop(numbers.popleft())
        self._kinds[kind] -= 1
        if not numbers:  # none had more than one
            del sources[next(iter(sources))]
        if not self._kinds[kind]:
            del self._kinds[kind], self._numbers[kind]
        return record
