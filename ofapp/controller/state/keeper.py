"""Work on disks, or over a network: nobody but who asks for it waits for it.

A disk takes what time it likes (an fsync of 0.3 s is nothing unusual, a network's disk may take for
ever), and meanwhile switches want to be served.  What fails is tried again until it works, which is
told twice: when the first thing cannot be saved, and when nothing is left that could not.
"""

from __future__ import annotations

import errno
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub

LOG = logging.getLogger(__name__)

WORKERS = hub.NATIVE_THREADS
"""At work at a time, so that one file on a slow disk does not wait for all others."""

AT_ONCE, ENOUGH = 32, 0.02
"""Jobs that a worker takes at a time when there are many, and seconds after which it is to take no
more of them: a thousand switches that come at once have three files each, and to have a thread
write one takes longer than to write it."""

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
        goes_on = "" if isinstance(error, ForsakenError) else "; ofapp goes on trying"
        super().__init__(
            f"this is in force, but a restart would lose it: it could not be saved ({_why(error)})"
            f"{goes_on}"
        )
        self.full = error.errno in _FULL


class ForsakenError(OSError):
    """This is not to be saved any more, and not tried again: it is somebody else's now."""


@dataclass(eq=False)
class Ticket:
    """A job that was asked for: `wait` for its end.

    replaces: earlier ones of the same kind, which end with it.
    """

    job: Job
    tried: Any = field(default_factory=hub.Event)
    error: OSError | None = None
    replaces: list[Ticket] = field(default_factory=list)

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
    """Jobs by key.  Of jobs with one key only the last counts, and no two run at a time.

    in_threads: they wait for what holds up all others (a disk); else they let others go on.
    unsaved: why something could not be done, as long as it is not; None while all goes well.
    """

    def __init__(self, tell: Tell, in_threads: bool = True) -> None:
        self._tell = tell
        self._in_threads = in_threads
        self._due: OrderedDict[str, Ticket] = OrderedDict()
        self._failed: dict[str, Ticket] = {}
        self._busy: set[str] = set()
        self._workers = 0
        self._retries = False
        self._troubled: set[str] = set()  # keys of what failed or hangs
        self.unsaved: str | None = None

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
        """There was no time for it: it is due again, unless a later one is."""
        later = self._due.setdefault(key, ticket)
        if later is not ticket:
            later.replaces.append(ticket)
        self._due.move_to_end(key, last=False)

    def _next(self) -> list[str]:
        """The jobs for one worker: more than one where there are many."""
        free = (key for key in self._due if key not in self._busy)
        return list(islice(free, min(1 + len(self._due) // WORKERS, AT_ONCE)))

    def _try(self, tickets: dict[str, Ticket]) -> dict[str, OSError | None]:
        """Gives what became of those that there was time for."""
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
        forsaken = isinstance(error, ForsakenError)
        if error is not None and not forsaken:
            self._trouble(key, error)
            if key not in self._due:
                self._failed[key] = Ticket(ticket.job)
            if not self._retries:
                self._retries = True
                hub.spawn(self._retry)
        for waited in (ticket, *ticket.replaces):
            waited.error = error
            waited.tried.set()
        if (error is None or forsaken) and key in self._troubled:
            self._troubled.remove(key)
            if not self._troubled:
                self.unsaved = None
                self._tell(None, Event("state.saved", "what could not be saved is saved now"))

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
        self.unsaved = why = _why(error)
        message = (
            f"what is set at run time cannot be saved, and a restart would lose it: {why}; "
            "trying again"
        )
        event = Event("state.unsaved", message, Severity.ERROR, data={"error": why})
        self._tell(None, event)


def _do(tickets: dict[str, Ticket], outcome: dict[str, OSError | None]) -> None:
    """Do the jobs, as far as `ENOUGH` goes: whoever waits for the first waits so."""
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
