"""Limits of questions to the network's twin: how many wait, and how much work each token may cause.

Questions of one token are answered one after the other, and those of several tokens side by side,
in slices: a long question of one token is no reason for another token to wait.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from ofapp.api.http.bounds import Bounds, Party
from ofapp.api.http.events import API_QUESTIONS_FULL, API_QUESTIONS_FULL_CLEARED
from ofapp.api.problems import AGAIN, ProblemError
from ofapp.common import hub
from ofapp.common.buckets import Buckets
from ofapp.controller.events import EventLog
from ofapp.controller.what_if import BusyError, Turn

OF_TOKEN, OF_ADDRESS, QUESTIONS = 4, 6, 8
"""Most questions at a time that are answered or wait."""

PASSED_ON = 1, 2, 4
"""The same of questions that another member answers: it has 8 connections for all requests."""

WORK = 60.0
"""Seconds of processor time that the questions of one token may take at once."""

REGAINED = 0.25
"""Seconds of that time that a token has again after each second."""

PATIENCE = 50.0
"""Seconds after which a question is given up: its connection is closed after 60."""


class Questions:
    """The questions that are answered or wait.

    bounds: how many there may be; work: seconds of work that are left, by the caller's name.
    """

    def __init__(self) -> None:
        limits = OF_TOKEN, OF_ADDRESS, QUESTIONS
        kinds = API_QUESTIONS_FULL, API_QUESTIONS_FULL_CLEARED
        self.bounds = Bounds("what-if questions", *limits, *kinds)
        things = "what-if questions that another member answers"
        self._passed_on = Bounds(things, *PASSED_ON, *kinds, self.bounds.refused)
        self._locks: WeakValueDictionary[str, hub.Lock] = WeakValueDictionary()
        self.work = Buckets(WORK, REGAINED)

    @contextmanager
    def turn(self, events: EventLog, party: Party, has_left: Callable[[], bool]) -> Iterator[Turn]:
        """Wait until a question may be worked on, and count the work of the body.

        has_left: whether the client has closed its connection.
        Raises ProblemError: 429 if the token has used up its time, 503 if it has to wait too long.
        """
        self._check_work(events, party)
        self.bounds.check(events, party)
        turn = Turn(time.monotonic() + PATIENCE, has_left)
        lock = self._locks.setdefault(party.name, hub.Lock())
        with self.bounds.one(events, party):
            try:
                if not lock.acquire(timeout=PATIENCE):
                    raise BusyError(f"other questions of {party.name} take too long")
                try:
                    with turn:
                        yield turn
                finally:
                    lock.release()
                    self.work.spend(party.name, turn.spent, time.monotonic())
            except BusyError as error:
                raise ProblemError(503, str(error), headers=AGAIN) from None

    @contextmanager
    def passed_on(self, events: EventLog, party: Party) -> Iterator[None]:
        """Count a question that another member answers.  Raises ProblemError: 503."""
        self._passed_on.check(events, party)
        with self._passed_on.one(events, party):
            yield

    def _check_work(self, events: EventLog, party: Party) -> None:
        now = time.monotonic()
        what = f"what-if questions of {party.name} have taken {WORK:g} s of processor time"
        if self.work.left(party.name, now) > 0:
            self.bounds.allow(events, what, f"{party.name} may ask what-if questions again")
            return
        wait = math.ceil(self.work.wait(party.name, now))
        self.bounds.refuse(events, party, "work", what, f"for {wait} s")
        what = f"{what}: ask again in {wait} s"
        raise ProblemError(429, what, headers={"Retry-After": str(wait)})
