"""The audit trail: an append-only log of bounded size.

Lines are written outside the event loop, as a disk may be slow.  Lines that cannot be written wait
in a bounded queue and are tried again; an event reports the failure.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.state.events import AUDIT_SAVED, AUDIT_UNSAVED

SIZE, FILES = 4 << 20, 6
"""Octets of a file, and number of files with the present one: `audit.log.1` is the last full
one."""

WAITING = 10_000
"""Most lines that wait for a disk; further ones are lost, counted and reported."""


class Trail:
    """path None: nothing is written."""

    def __init__(self, path: Path | None, emit: Callable[[int | None, Event], None]) -> None:
        self.lost = 0
        self._path = path
        self._emit = emit
        self._lines: deque[bytes] = deque()
        self._writing = False
        self.unsaved: str | None = None

    def add(self, line: str) -> None:
        """Write a line, soon; it has no line ends."""
        if self._path is None:
            return
        if len(self._lines) >= WAITING:
            self.lost += 1
            return
        self._lines.append(line.encode("utf-8", "backslashreplace") + b"\n")
        if not self._writing:
            self._writing = True
            hub.spawn(self._write, self._path)

    def finish(self, patience: float) -> None:
        """Wait at most so many seconds for lines that are not written yet."""
        with hub.Timeout(patience, False):
            while self._lines and self.unsaved is None:
                hub.sleep(0.01)

    def _write(self, path: Path) -> None:
        try:
            while self._lines:
                count = len(self._lines)
                data = b"".join(self._lines)
                error = hub.in_thread(_append, path, data)
                if error is None:
                    for _ in range(count):
                        self._lines.popleft()
                self._report(error)
        finally:
            self._writing = False

    def _report(self, error: OSError | None) -> None:
        if error is None and self.unsaved is not None:
            self.unsaved = None
            message = f"the audit trail is written again; {self.lost} lines are lost"
            self._emit(None, AUDIT_SAVED.event(message, data={"lost": self.lost}))
        elif error is not None:
            why = error.strerror or str(error)
            if self.unsaved is None:
                self.unsaved = f"the audit trail: {why}"
                message = f"the audit trail cannot be written: {why}; trying again"
                event = AUDIT_UNSAVED.event(message, data={"error": why})
                self._emit(None, event)
            hub.sleep(hub.RETRY_SECONDS)


def _append(path: Path, data: bytes) -> OSError | None:
    """Append data, in a thread; gives the error, when data may be written all the same."""
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            written = 0
            try:
                while written < len(data):
                    written += os.write(descriptor, data[written:])
            except OSError:
                os.ftruncate(descriptor, before)  # no half lines
                raise
        finally:
            os.close(descriptor)
        if before + len(data) >= SIZE:
            for number in range(FILES - 1, 0, -1):
                older = path if number == 1 else path.with_name(f"{path.name}.{number - 1}")
                if older.exists():
                    older.replace(path.with_name(f"{path.name}.{number}"))
    except OSError as error:
        return error
    return None
