"""Work on disks, or over a network: only the greenlet that requests it waits for it.

A disk may be slow (an fsync of 0.3 s is nothing unusual, a network's disk may never answer), and
meanwhile switches have to be served.  Failed jobs are tried again until they succeed.  Two events
report this: when the first job fails, and when no failed job is left.
"""

from __future__ import annotations

import errno
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.controller.state.events import STATE_SAVED, STATE_UNSAVED

LOG = logging.getLogger(__name__)

WORKERS = hub.NATIVE_THREADS
"""Workers at a time, so that one file on a slow disk does not delay all others."""

AT_ONCE, ENOUGH = 32, 0.02
"""Most jobs that a worker takes at a time, and seconds after which it starts no more of them: a
thousand switches that connect at once have three files each, and handing one to a thread takes
longer than writing it."""

PATIENCE = 5.0
"""Seconds after which a disk that does not answer counts as failed."""

RETRY = 5.0
"""Seconds until failed jobs are tried again."""

Emit = Callable[[int | None, Event], None]
Job = Callable[[], None]

_FULL = (errno.ENOSPC, errno.EDQUOT)


class NotSavedError(Exception):
    """A change is in force, but not on disk; saving is tried again until it succeeds.

    full: the disk has no room.
    """

    def __init__(self, error: OSError) -> None:
        why = _why(error)
        if isinstance(error, CancelledError):
            message = f"this is not saved, and does not hold: {why}"
        elif isinstance(error, UnreachedError):
            message = (
                f"this is not saved yet: {why}; ofapp goes on trying, and it is lost if another"
                " member takes over before"
            )
        else:
            message = (
                f"this is in force, but a restart would lose it: it could not be saved ({why});"
                " ofapp goes on trying"
            )
        super().__init__(message)
        self.full = error.errno in _FULL


class CancelledError(OSError):
    """Saving was given up and is not tried again: another controller is in charge now."""


class UnreachedError(OSError):
    """The store did not answer; other controllers may reach it and continue without this."""


@dataclass(eq=False)
class Ticket:
    """A requested job: `wait` for its end.

    replaces: earlier jobs with the same key, which end with it.
    """

    job: Job
    tried: Any = field(default_factory=hub.Event)
    error: OSError | None = None
    replaces: list[Ticket] = field(default_factory=list)

    def wait(self) -> None:
        """Wait until the job is done; NotSavedError when it fails or takes too long."""
        if not self.tried.wait(PATIENCE):
            raise NotSavedError(_SILENT)
        if self.error is not None:
            raise NotSavedError(self.error)


_SILENT = TimeoutError(errno.ETIMEDOUT, f"nothing was answered for {PATIENCE:g} s")


def done() -> Ticket:
    """A ticket that has ended: there is nothing to do."""
    ticket = Ticket(lambda: None)
    ticket.tried.set()
    return ticket


def wait_for_all(tickets: Iterable[Ticket]) -> None:
    """Wait until all jobs are done; NotSavedError for the first that fails or takes too long."""
    for ticket in tickets:
        ticket.wait()


class SaveQueue:
    """Jobs by key.  Of jobs with one key only the last is done, and no two run at a time.

    in_threads: the jobs block the process (on a disk); otherwise they yield to other greenlets.
    unsaved: why a job failed, until it succeeds; None while all goes well.
    """

    def __init__(self, emit: Emit, in_threads: bool = True) -> None:
        self._emit = emit
        self._in_threads = in_threads
        self._due: OrderedDict[str, Ticket] = OrderedDict()
        self._failed: dict[str, Ticket] = {}
        self._busy: set[str] = set()
        self._workers = 0
        self._retries = False
        self._again = hub.Event()
        self._troubled: set[str] = set()  # keys of jobs that failed or hang
        self._recovered = False
        """Whether a job that had failed has succeeded since."""
        self.unsaved: str | None = None

    def put(self, key: str, job: Job, first: bool = False) -> Ticket:
        """Request a job; `first`: before the waiting ones."""
        # A ticket of an earlier job with this key waits for this one, too.
        ticket = self._due.setdefault(key, Ticket(job))
        ticket.job = job
        self._failed.pop(key, None)
        if first:
            self._due.move_to_end(key, last=False)
        self._send_workers()
        return ticket

    def pending(self, key: str) -> bool:
        """Whether a job with this key is not done yet."""
        return key in self._due or key in self._failed or key in self._busy

    def retry(self) -> None:
        """Try failed jobs again now: they may succeed."""
        self._again.set()

    def cancel(self, keys: Iterable[str], why: str) -> list[str]:
        """Cancel jobs that are not done; gives the keys of those that had failed or hang.

        A running one ends by itself, with CancelledError where it can detect this.
        """
        lost = []
        for key in keys:
            if key in self._troubled:
                lost.append(key)
            ticket = self._due.pop(key, None) or self._failed.pop(key, None)
            if ticket is not None:
                self._end(key, ticket, CancelledError(errno.EPERM, why))
        return lost

    def finish(self, patience: float) -> None:
        """Wait until all jobs were tried, at most `patience` seconds."""
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
            while taken := self._next():
                tickets = {key: self._due.pop(key) for key in taken}
                self._busy |= tickets.keys()
                try:
                    outcome = self._try(tickets)
                finally:
                    self._busy -= tickets.keys()
                for key in tickets.keys() - outcome.keys():
                    self._put_back(key, tickets[key])
                for key, error in outcome.items():
                    self._end(key, tickets[key], error)
        finally:
            self._workers -= 1

    def _put_back(self, key: str, ticket: Ticket) -> None:
        """Make a job due again that no time was left for, unless a later one is due."""
        later = self._due.setdefault(key, ticket)
        if later is not ticket:
            later.replaces.append(ticket)
        self._due.move_to_end(key, last=False)

    def _next(self) -> list[str]:
        """Keys of the jobs for one worker: more than one when many are due."""
        free = (key for key in self._due if key not in self._busy)
        return list(islice(free, min(1 + len(self._due) // WORKERS, AT_ONCE)))

    def _try(self, tickets: dict[str, Ticket]) -> dict[str, OSError | None]:
        """Run jobs; gives the outcome of those that there was time for."""
        ended = hub.Event()
        outcome: dict[str, OSError | None] = {}

        def run() -> None:
            try:
                if self._in_threads:
                    hub.in_thread(_do, tickets, outcome)
                else:
                    _do(tickets, outcome)
            finally:
                ended.set()

        hub.spawn(run)
        if not ended.wait(PATIENCE):
            for key in [key for key in tickets if key not in outcome][:1]:
                self._trouble(key, _SILENT)
            ended.wait()
        return outcome

    def _end(self, key: str, ticket: Ticket, error: OSError | None) -> None:
        cancelled = isinstance(error, CancelledError)
        if error is not None and not cancelled:
            self._trouble(key, error)
            if key not in self._due:
                self._failed[key] = Ticket(ticket.job)
            if not self._retries:
                self._retries = True
                hub.spawn(self._retry)
        for waited in (ticket, *ticket.replaces):
            waited.error = error
            waited.tried.set()
        if (error is None or cancelled) and key in self._troubled:
            self._recover(key, saved=error is None)

    def _recover(self, key: str, saved: bool) -> None:
        self._troubled.remove(key)
        self._recovered |= saved
        if self._troubled:
            return
        self.unsaved = None
        if self._recovered:  # otherwise all failed jobs were cancelled
            self._emit(None, STATE_SAVED.event("everything is saved again"))
        self._recovered = False

    def _retry(self) -> None:
        try:
            while self._failed:
                self._again.clear()
                self._again.wait(RETRY)
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
        self.unsaved = why = _why(error)
        message = (
            f"what is set at run time cannot be saved, and a restart would lose it: {why}; "
            "trying again"
        )
        event = STATE_UNSAVED.event(message, data={"error": why})
        self._emit(None, event)


def _do(tickets: dict[str, Ticket], outcome: dict[str, OSError | None]) -> None:
    """Do jobs for `ENOUGH` seconds, which the ticket of the first one waits, too."""
    end = time.monotonic() + ENOUGH
    for key, ticket in tickets.items():
        try:
            ticket.job()
            outcome[key] = None
        except OSError as error:
            outcome[key] = error
        except Exception as error:
            LOG.exception("a defect of ofapp: this could not be saved")
            outcome[key] = OSError(errno.EIO, f"a defect of ofapp, {error!r}")
        if time.monotonic() > end:
            return


def _why(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what
