"""Token buckets by key: how often something may happen, and log lines be repeated."""

from __future__ import annotations

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
        self._burst = burst
        self._rate = rate
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # tokens, when

    def take(self, key: Hashable, now: float) -> bool:
        """Take a token; gives whether there was one. now: monotonic seconds."""
        tokens, at = self._left.pop(key, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        allowed = tokens >= 1
        self._left[key] = tokens - allowed, now
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        return allowed


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
