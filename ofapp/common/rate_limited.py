"""Rate limit for repeated log lines: a few at once, and then one a minute."""

from __future__ import annotations

import logging
import time
from collections import Counter

from ofapp.common.buckets import Buckets

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
