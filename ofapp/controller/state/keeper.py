"""Work on disks, outside the event loop: nobody but who asks for it waits for it.

A disk takes what time it likes (an fsync of 0.3 s is nothing unusual, a network's disk may take for
ever), and meanwhile switches want to be served.  What fails is tried again until it works, which is
told twice: when the first thing cannot be saved, and when nothing is left that could not.
"""

from __future__ import annotations

import errno
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub

LOG = logging.getLogger(__name__)

WORKERS = hub.NATIVE_THREADS
"""At work at a time, so that one file on a slow disk does not wait for all others."""

PATIENCE = 5.0
"""Seconds after which a disk that does not answer is as good as one that fails."""

RETRY = 5.0
"""Seconds until what failed is tried again."""

Tell = Callable[[int | None, Event], None]
Job = Callable[[], None]

_FULL = (errno.ENOSPC, errno.EDQUOT)


class NotSavedError(Exception):
    """What was asked for is in force, but not on disk; it is tried again until it is.

    full: for want of room there.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"this is in force, but a restart would lose it: it could not be saved ({_why(error)});"
            " ofapp goes on trying"
        )
        self.full = error.errno in _FULL


@dataclass(eq=False)
class Ticket:
    """A job that was asked for: `wait` for its end."""

    job: Job
    tried: Any = field(default_factory=hub.Event)
    error: OSError | None = None

    def wait(self) -> None:
        """Until it is done; NotSavedError when that fails, or takes too long."""
        if not self.tried.wait(PATIENCE):
            raise NotSavedError(_SILENT)
        if self.error is not None:
            raise NotSavedError(self.error)


_SILENT = TimeoutError(errno.ETIMEDOUT, f"the disk has not answered for {PATIENCE:g} s")


def done() -> Ticket:
    """There is nothing to do."""
    ticket = Ticket(lambda: None)
    ticket.tried.set()
    return ticket


class Keeper:
    """Jobs by key.  Of jobs with one key only the last counts, and no two run at a time."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._due: OrderedDict[str, Ticket] = OrderedDict()
        self._failed: dict[str, Ticket] = {}
        self._busy: set[str] = set()
        self._workers = 0
        self._retries = False
        self._troubled: set[str] = set()  # keys of what failed or hangs

    def put(self, key: str, job: Job, first: bool = False) -> Ticket:
        """Have a job done; `first`: before those that are not."""
        # Who waits for an earlier one waits for this one, too.
        ticket = self._due.setdefault(key, Ticket(job))
        ticket.job = job
        self._failed.pop(key, None)
        if first:
            self._due.move_to_end(key, last=False)
        self._send_workers()
        return ticket

    def pending(self, key: str) -> bool:
        """Whether such a job is not done yet."""
        return key in self._due or key in self._failed or key in self._busy

    def finish(self, patience: float) -> None:
        """Wait until all is done that can be."""
        with hub.Timeout(patience, False):
            for ticket in [*self._due.values()]:
                ticket.tried.wait()
            while self._busy:
                hub.sleep(0.01)

    # Inside

    def _send_workers(self) -> None:
        for _ in range(min(WORKERS - self._workers, len(self._due))):
            self._workers += 1
            hub.spawn(self._work)

    def _work(self) -> None:
        try:
            while (key := self._next()) is not None:
                ticket = self._due.pop(key)
                self._busy.add(key)
                try:
                    self._end(key, ticket, self._try(key, ticket.job))
                finally:
                    self._busy.discard(key)
        finally:
            self._workers -= 1

    def _next(self) -> str | None:
        return next((key for key in self._due if key not in self._busy), None)

    def _try(self, key: str, job: Job) -> OSError | None:
        ended = hub.Event()
        outcome: list[OSError] = []

        def run() -> None:
            try:
                hub.in_thread(job)
            except OSError as error:
                outcome.append(error)
            except Exception as error:
                LOG.exception("a defect of ofapp: this could not be saved")
                outcome.append(OSError(errno.EIO, f"a defect of ofapp, {error!r}"))
            finally:
                ended.set()

        hub.spawn(run)
        if not ended.wait(PATIENCE):
            self._trouble(key, _SILENT)
            ended.wait()
        return outcome[0] if outcome else None

    def _end(self, key: str, ticket: Ticket, error: OSError | None) -> None:
        ticket.error = error
        if error is not None:
            self._trouble(key, error)
            if key not in self._due:
                self._failed[key] = Ticket(ticket.job)
            if not self._retries:
                self._retries = True
                hub.spawn(self._retry)
        ticket.tried.set()
        if error is None and self._troubled == {key}:
            self._tell(None, Event("state.saved", "what could not be saved is saved now"))
        if error is None:
            self._troubled.discard(key)

    def _retry(self) -> None:
        try:
            while self._failed:
                hub.sleep(RETRY)
                again, self._failed = self._failed, {}
                for key, ticket in again.items():
                    self._due.setdefault(key, ticket)
                self._send_workers()
        finally:
            self._retries = False

    def _trouble(self, key: str, error: OSError) -> None:
        begins = not self._troubled
        self._troubled.add(key)
        if not begins:
            return
        message = (
            f"what is set at run time cannot be saved, and a restart would lose it: {_why(error)}; "
            "trying again"
        )
        event = Event("state.unsaved", message, Severity.ERROR, data={"error": _why(error)})
        self._tell(None, event)


def _why(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what
