"""The last records of each kind and source, in bounded memory that no kind can fill alone.

What happens often (a port or a switch that flaps) would push out what happened once. So when the
history is full, the kind with the most records loses one: the oldest of its source with the most.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class _Kind:
    """The numbers of one kind's records, by source; the source with the most is known at once."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[Hashable, deque[int]] = {}
        # Sources by their number of records: a search through all of them took most of an event's
        # time while a thousand switches connect.
        self._with: defaultdict[int, dict[Hashable, None]] = defaultdict(dict)
        self._most = 0

    def add(self, source: Hashable, number: int) -> None:
        numbers = self._numbers.setdefault(source, deque())
        numbers.append(number)
        self.count += 1
        self._moved(source, len(numbers) - 1, len(numbers))
        self._most = max(self._most, len(numbers))

    def forget_one(self) -> int:
        """Forget the oldest record of the source with the most; gives its number."""
        source = next(iter(self._with[self._most]))
        numbers = self._numbers[source]
        oldest = numbers.popleft()
        self.count -= 1
        self._moved(source, len(numbers) + 1, len(numbers))
        if not self._with[self._most]:
            self._most -= 1
        if not numbers:
            del self._numbers[source]
        return oldest

    def _moved(self, source: Hashable, before: int, now: int) -> None:
        self._with[before].pop(source, None)
        if now:
            self._with[now][source] = None


class History(Generic[T]):
    """At most `size` records, in the order in which they came."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._records: dict[int, T] = {}
        self._kinds: dict[Hashable, _Kind] = {}
        self._last = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._records.values())

    def add(self, kind: Hashable, source: Hashable, record: T) -> T | None:
        """Add the newest record; gives the one that was dropped for it."""
        self._last += 1
        self._records[self._last] = record
        numbers = self._kinds.get(kind)
        if numbers is None:
            numbers = self._kinds[kind] = _Kind()
        numbers.add(source, self._last)
        return self._forget_one() if len(self._records) > self._size else None

    def _forget_one(self) -> T:
        kind, numbers = max(self._kinds.items(), key=_count)
        record = self._records.pop(numbers.forget_one())
        if not numbers.count:
            del self._kinds[kind]
        return record


def _count(item: tuple[Hashable, _Kind]) -> int:
    return item[1].count
