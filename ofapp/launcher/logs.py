"""Lines of the log: a filter for all of them, also of libraries, and their formats for programs.

No name can forge a line or reach the terminal as an escape sequence.  No peer can fill the disk:
the lines of each origin have a rate limit, which is higher for severity debug.

For programs a line is JSON, or fields of the journal.  An event's line has what it is about as
fields beside its sentence: kind, bridge, port and data.  The journal's native protocol is one
datagram of KEY=value lines, which systemd promises as stable; for it there is no kept library that
fits, see `launcher.watchdog`.  A journal that does not keep up loses lines, and gets their number,
where writing to it as a stream would hold up everything else.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable
from ofapp.controller.events import Record

JOURNAL = "/run/systemd/journal/socket"
_LONGEST = 48 * 1024
"""Characters of a field; a datagram takes some 200 KB."""

_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)
_TRACEBACKS = logging.Formatter()


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of the event in a log record; empty for other records."""
    event_record = getattr(record, "event", None)
    if not isinstance(event_record, Record):
        return {}
    bridge = None if event_record.bridge is None else f"{event_record.bridge:016x}"
    event = event_record.event
    known = {
        "event": event.kind,
        "number": event_record.number,
        "bridge": bridge,
        "bridge_name": getattr(record, "bridge_name", None),
        "port": event.port,
        "data": dict(event.data) or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _traceback(record: logging.LogRecord) -> str | None:
    if record.exc_text:
        return record.exc_text
    return _TRACEBACKS.formatException(record.exc_info) if record.exc_info else None


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        entry = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields(record),
        }
        if (traceback := _traceback(record)) is not None:
            entry["traceback"] = traceback
        return json.dumps(entry, default=str)


class JournalHandler(logging.Handler):
    """Lines with a priority and fields.  address: address of the journal's socket."""

    def __init__(self, address: str = JOURNAL) -> None:
        super().__init__()
        self._address = address
        self._lost = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def emit(self, record: logging.LogRecord) -> None:
        """Hand it over, or count it as lost."""
        try:
            self._socket.sendto(self._datagram(record), self._address)
            self._lost = 0
        except OSError:
            self._lost += 1
        except Exception:
            self.handleError(record)

    def _datagram(self, record: logging.LogRecord) -> bytes:
        message = record.getMessage()
        if (traceback := _traceback(record)) is not None:
            message += f"\n{traceback}"
        if self._lost:
            message += f" ({self._lost} lines before this one did not get into the journal)"
        values = {
            "MESSAGE": message,
            "PRIORITY": str(priority(record.levelno)),
            "SYSLOG_IDENTIFIER": "ofapp-manager",
            "LOGGER": record.name,
        }
        for name, value in fields(record).items():
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            values[f"OFAPP_{name.upper()}"] = text
        return b"".join(map(_field, values.keys(), values.values()))


def priority(level: int) -> int:
    """Return the priority of syslog(3): 2 is critical, 7 debug."""
    return next((priority for least, priority in _PRIORITIES if level >= least), 7)


def in_journal() -> bool:
    """Whether what is written to standard error goes to the journal (systemd.exec(5))."""
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        stderr = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(stderr.st_dev), str(stderr.st_ino)) and os.path.exists(JOURNAL)


def _field(name: str, value: str) -> bytes:
    data = value[:_LONGEST].encode("utf-8", "backslashreplace")
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"


BURST, RATE = 200, 10
"""Rate limit of the lines of one origin: burst, and lines a second."""
DEBUG_BURST, DEBUG_RATE = 5_000, 100
"""The same of severity debug."""
ORIGINS = 4096
"""Most origins whose suppressed lines are counted."""

_EVENTS = "ofapp"
"""Logger of events; each kind has its own rate limit (`EventLog`) unless it is debug."""


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
