"""Long work on many things in portions, between which others have their turn.

To make the program of a switch of thousands of ports, and to compare it with what the switch holds,
takes half a second and more, in which every timer of every other switch would stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

PORTION = 64
"""Things at a time; what is as much work as several counts as so many."""


class Portions:
    """Counts what is gone through, by whichever of the iterators it gives.

    rest: lets others have their turn; what it gives does not matter.  size: things at a time.
    """

    def __init__(self, rest: Callable[[], object] = lambda: None, size: int = PORTION) -> None:
        self.rest = rest
        self._size = size
        self._done = 0

    def of(self, items: Iterable[T], work: Callable[[T], int] = lambda _item: 1) -> Iterator[T]:
        """The same items, with a rest whenever a portion of them was worked on."""
        for item in items:
            yield item
            self._done += work(item)
            if self._done >= self._size:
                self._done = 0
                self.rest()


AT_ONCE = Portions()
"""Without any rest."""
