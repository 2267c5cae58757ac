"""What every line of the log goes through, those of libraries too.

No name forges a line or reaches the terminal as an escape sequence, and no peer fills the disk: of
lines of one origin so many may come at once, and so many a second from then on; more of those that
are wanted only while one looks for a mistake.
"""

from __future__ import annotations

import logging
import time
from collections import Counter

from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable

BURST, RATE = 200, 10
"""Lines of one origin: at once, and a second from then on."""
DEBUG_BURST, DEBUG_RATE = 5_000, 100
"""The same of severity debug."""
ORIGINS = 4096
"""Of which it is known how many of their lines were left out."""

_EVENTS = "ofapp"
"""Whose lines are events, each kind with its own rate limit (`EventLog`) unless it is debug."""

_TRACEBACKS = logging.Formatter()


def _origin(record: logging.LogRecord) -> tuple[str, str]:
    """Its logger and what it is about: how it is worded, or the kind of an event."""
    if record.name == _EVENTS and isinstance(record.args, tuple) and record.args:
        return record.name, str(record.args[-1])
    return record.name, str(record.msg)


class Tidy(logging.Filter):
    """For a handler.  left_out: lines that were too many, by logger and what they are about."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out: Counter[tuple[str, str]] = Counter()
        self._untold: Counter[tuple[str, str]] = Counter()
        self._buckets = Buckets(BURST, RATE)
        self._debug = Buckets(DEBUG_BURST, DEBUG_RATE)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; it is on one line, but for a traceback."""
        origin = _origin(record)
        if self._too_many(record, origin):
            if len(self.left_out) >= ORIGINS:  # (a library formats its lines before it logs them)
                self.left_out.clear()
                self._untold.clear()
            self.left_out[origin] += 1
            self._untold[origin] += 1
            return False
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # wrong arguments, which the handler tells
            return True
        if untold := self._untold.pop(origin, 0):
            message += f" ({untold} more lines like this were left out)"
        record.msg, record.args = printable(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = _TRACEBACKS.formatException(record.exc_info)
        if record.exc_text:
            lines = record.exc_text.split("\n")
            record.exc_text = "\n".join(f"  {printable(line.removeprefix('  '))}" for line in lines)
        return True

    def _too_many(self, record: logging.LogRecord, origin: tuple[str, str]) -> bool:
        if record.levelno <= logging.DEBUG:
            return not self._debug.take(origin, time.monotonic())
        return record.name != _EVENTS and not self._buckets.take(origin, time.monotonic())
