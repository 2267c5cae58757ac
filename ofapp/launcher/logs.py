"""Filter for all lines of the log, also those of libraries.

No name can forge a line or reach the terminal as an escape sequence.  No peer can fill the disk:
the lines of each origin have a rate limit, which is higher for severity debug.
"""

from __future__ import annotations

import logging
import time
from collections import Counter

from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable

BURST, RATE = 200, 10
"""Rate limit of the lines of one origin: burst, and lines a second."""
DEBUG_BURST, DEBUG_RATE = 5_000, 100
"""The same of severity debug."""
ORIGINS = 4096
"""Most origins whose suppressed lines are counted."""

_EVENTS = "ofapp"
"""Logger of events; each kind has its own rate limit (`EventLog`) unless it is debug."""

_TRACEBACKS = logging.Formatter()


def _origin(record: logging.LogRecord) -> tuple[str, str]:
    """The logger, and the unformatted message or the kind of the event."""
    if record.name == _EVENTS and isinstance(record.args, tuple) and record.args:
        return record.name, str(record.args[-1])
    return record.name, str(record.msg)


class Tidy(logging.Filter):
    """Filter of a handler.  left_out: number of suppressed lines, by origin."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out: Counter[tuple[str, str]] = Counter()
        self._unreported: Counter[tuple[str, str]] = Counter()
        self._buckets = Buckets(BURST, RATE)
        self._debug = Buckets(DEBUG_BURST, DEBUG_RATE)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the record; it becomes one line, except for a traceback."""
        origin = _origin(record)
        if self._too_many(record, origin):
            if len(self.left_out) >= ORIGINS:  # (a library formats its lines before it logs them)
                self.left_out.clear()
                self._unreported.clear()
            self.left_out[origin] += 1
            self._unreported[origin] += 1
            return False
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # wrong arguments, which the handler reports
            return True
        if unreported := self._unreported.pop(origin, 0):
            message += f" ({unreported} more lines like this were left out)"
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
