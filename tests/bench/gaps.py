"""What a change of the network costs a stream of numbered frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.lab import Host, Stream
from tests.support.waiting import wait_for

RATE = 1_000
"""Frames a second, so that a lost frame is a millisecond."""
BEFORE = 0.3
"""Seconds for which the stream must be whole before the change."""
UNDER_WAY = 50
"""Frames that may be on their way."""
TOLERATED = 0.02
"""Part of the frames that a stream that is whole may lose."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Frames lost, lost in a row, and received more than once."""

    lost: int
    longest: int
    twice: int


def gap(
    one: Host, other: Host, change: Callable[[], object], settle: float, *, flooded: bool = False
) -> Gap:
    """Make a change while a stream runs, and wait until the stream is whole for `settle` seconds.

    AssertionError if the stream does not come back within a minute; RuntimeError if the receiving
    host was too busy to take all frames, so that nothing is measured.
    """
    with Stream(one, other, RATE, flooded=flooded) as stream:
        _wait_whole(stream, BEFORE)
        begin = stream.sent - UNDER_WAY
        change()
        _wait_whole(stream, settle)
        end = stream.sent - UNDER_WAY
        missing = [number for number in stream.missing() if begin <= number < end]
        if dropped := stream.dropped():
            raise RuntimeError(f"the receiving host had no room for {dropped} frames")
        return Gap(len(missing), _longest(missing), stream.doubled())


def _wait_whole(stream: Stream, seconds: float) -> None:
    """Return when the frames of so many seconds from now on, or later, have arrived."""
    start, want = stream.sent, int(seconds * RATE)

    def whole() -> bool:
        end = stream.sent - UNDER_WAY
        first = max(start, end - want)
        lost = sum(first <= number < end for number in stream.missing())
        return end - first >= want and lost <= TOLERATED * want

    wait_for(whole, "the stream to be whole", seconds=60)


def _longest(numbers: list[int]) -> int:
    """The length of the longest run of consecutive numbers."""
    runs = Counter(number - at for at, number in enumerate(numbers))
    return max(runs.values(), default=0)
