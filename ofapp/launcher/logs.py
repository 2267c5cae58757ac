"""What every line of the log goes through, whoever writes it, libraries too.

No name forges a line or reaches the terminal as an escape sequence, and no peer fills the disk: of
lines of one origin so many may come at once, and so many a second from then on.
"""

from __future__ import annotations

import logging
import time
from collections import Counter

from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable

BURST, RATE = 200, 10
"""Lines of one origin: at once, and a second from then on."""

_EVENTS = "ofapp"
"""Whose lines are events, each of a kind with a rate of its own (`EventLog`)."""

_TRACEBACKS = logging.Formatter()


class Tidy(logging.Filter):
    """For a handler.  left_out: lines that were too many, by logger and what they are about."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out: Counter[tuple[str, str]] = Counter()
        self._untold: Counter[tuple[str, str]] = Counter()
        self._buckets = Buckets(BURST, RATE)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; it is on one line, but for a traceback."""
        origin = record.name, str(record.msg)
        limited = record.levelno > logging.DEBUG and record.name != _EVENTS
        if limited and not self._buckets.take(origin, time.monotonic()):
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
