"""Waiting for a condition with a deadline: no test sleeps for a fixed time.

`during` and `paced` are for tests in which time itself counts.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T],
    what: str,
    *,
    seconds: float = 10.0,
    tick: Callable[[], object] | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> T:
    """Call *condition* until what it returns is true, and return that.

    *tick* runs between tries (a virtual clock to advance), *sleep* pauses there: `hub.sleep` where
    greenlets of this process are to go on meanwhile.  An :class:`AssertionError` naming
    *what* and the last value ends the wait after *seconds* of real time.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}; last: {value!r}")
        if tick is not None:
            tick()
        sleep(0.01)


def during(seconds: float, pause: float = 0.1) -> Iterator[float]:
    """Yield the time since the start every *pause* seconds, for so many seconds.

    For what must not happen meanwhile, or is measured meanwhile.
    """
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        yield passed
        time.sleep(pause)


def paced(rate: float) -> Iterator[int]:
    """Yield the numbers from 0 on, *rate* of them a second."""
    begun = time.monotonic()
    for number in itertools.count():
        if (ahead := begun + number / rate - time.monotonic()) > 0:
            time.sleep(ahead)
        yield number
