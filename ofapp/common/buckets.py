"""Token buckets by key: how often something may happen, and log lines be repeated."""

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Hashable

MOST = 4096
"""Keys known; the least recently used one is forgotten, and has a full bucket again."""


class Buckets:
    """A token bucket for each key.

    burst: how many may happen at once; rate: how many each second from then on.
    """

    def __init__(self, burst: float, rate: float) -> None:
        self.burst = burst
        self.rate = rate
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # tokens, when

    def take(self, key: Hashable, now: float) -> bool:
        """Take a token; gives whether there was one. now: monotonic seconds."""
        allowed = self.left(key, now) >= 1
        self.spend(key, allowed, now)
        return allowed

    def left(self, key: Hashable, now: float) -> float:
        """The number of tokens; below 0 where more were spent than there were."""
        tokens, at = self._left.get(key, (self.burst, now))
        return min(self.burst, tokens + (now - at) * self.rate)

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until there is a token."""
        return max(0.0, (1 - self.left(key, now)) / self.rate)

    def spend(self, key: Hashable, tokens: float, now: float) -> None:
        """Take tokens, whether there are so many or not."""
        self._left[key] = self.left(key, now) - tokens, now
        self._left.move_to_end(key)
        if len(self._left) > MOST:
            self._left.popitem(last=False)


BURST, EVERY = 3, 60.0
"""Similar lines that are written at once, and seconds for each from then on."""


class RateLimit(logging.Filter):
    """Suppresses lines of which only the values differ, and reports their count in the next one."""

    def __init__(self) -> None:
        super().__init__()
        self._buckets = Buckets(BURST, 1 / EVERY)
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        alike = str(record.msg)
        if not self._buckets.take(alike, time.monotonic()):
            self._left_out[alike] += 1
            return False
        if count := self._left_out.pop(alike, 0):
            record.msg = f"{alike} ({count} lines alike are left out before)"
        return True


def rate_limited(name: str) -> logging.Logger:
    """The logger of that name, with its own rate limit."""
    log = logging.getLogger(name)
    log.addFilter(RateLimit())
    return log
