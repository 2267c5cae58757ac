"""Long work on many items in portions, between which other greenlets run.

Computing the flows of a switch of thousands of ports, and comparing them with those it has, takes
half a second and more. Meanwhile the timers of all other switches would be late.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

PORTION = 64
"""Items at a time; one that is as much work as several counts as so many."""


class Portions:
    """Counts items over all the iterators that `of` gives, and pauses after each portion.

    rest: lets other greenlets run; its result is ignored.  size: items in a portion.
    """

    def __init__(self, rest: Callable[[], object] = lambda: None, size: int = PORTION) -> None:
        self.rest = rest
        self._size = size
        self._done = 0

    def of(self, items: Iterable[T], work: Callable[[T], int] = lambda _item: 1) -> Iterator[T]:
        """Give the same items, and call `rest` after each portion. work: what an item counts as."""
        for item in items:
            yield item
            self._done += work(item)
            if self._done >= self._size:
                self._done = 0
                self.rest()


AT_ONCE = Portions()
"""All in one portion: no `rest`."""
