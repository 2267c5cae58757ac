"""Notifications: each problem that begins or ends is sent to the URL in the configuration file.

One request is under way at a time, and no other work waits for it: the name of the receiver is
looked up in another thread, and a request has `PATIENCE`.  A notification is tried again, at longer
and longer intervals, until the receiver takes it or it is older than `LIFETIME`.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ofapp.bridge.event import WARNING, Severity
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.common import hub
from ofapp.config.notify import Notify, SendError

WAITING = 1000
"""Most notifications that wait; the oldest one makes room."""
LIFETIME = 3600.0
"""Seconds after which a notification is dropped that no receiver has taken."""
PATIENCE = 10.0
"""Seconds that a request may take."""
PAUSES = 1.0, 60.0
"""Seconds until a failed request is repeated: the first time, and at most."""

FAILING = ProblemKind(
    "notify.failing",
    WARNING,
    "Notifications of problems do not reach the receiver (`notify` in the configuration file).",
    "See the reason, the receiver, and its URL and CA in the file.",
    "The receiver takes a notification, and none was dropped within the last hour.",
    "ofapp problems show",
)


class Notification(NamedTuple):
    """values: those of `config.notify.FIELDS`; at: monotonic time of the change."""

    values: Mapping[str, str]
    at: float


class Notifier:
    """Sends notifications, the oldest first.

    settings: those in force, None without any; directory: gives that of the configuration file.
    counts: notifications by `sent` and `dropped`, and `failed` requests.
    """

    def __init__(
        self, settings: Callable[[], Notify | None], directory: Callable[[], Path | None]
    ) -> None:
        self.counts: Counter[str] = Counter(sent=0, failed=0, dropped=0)
        self._settings = settings
        self._directory = directory
        self.waiting: deque[Notification] = deque()
        self._more = hub.Event()
        self._failing = ""
        self._lost = -LIFETIME

    def put(self, kind: ProblemKind, values: Mapping[str, str]) -> None:
        """Have a change sent, if its problem is severe enough; returns at once."""
        settings = self._settings()
        if settings is None or kind.severity.rank < Severity(settings.severity).rank:
            return
        if len(self.waiting) >= WAITING:
            self._drop()
        self.waiting.append(Notification(values, time.monotonic()))
        self._more.set()

    def problems(self) -> Iterator[Problem]:
        """Whether notifications are failing, or were dropped within the last hour."""
        if self._settings() is None:
            return
        lost = self.counts["dropped"] if time.monotonic() < self._lost + LIFETIME else 0
        if self._failing or lost:
            why = f": {self._failing}" if self._failing else ""
            text = f"{len(self.waiting)} notifications wait, {lost} were dropped{why}"
            yield FAILING.at(text, data={"waiting": len(self.waiting), "dropped": lost})

    def run(self) -> None:
        """Send what waits; does not return."""
        pause = PAUSES[0]
        while True:
            self._more.wait()
            while self.waiting and self.waiting[0].at < time.monotonic() - LIFETIME:
                self._drop()
            settings = self._settings()
            if settings is None:
                self.waiting.clear()
            if settings is None or not self.waiting:
                self._failing = ""
                self._more.clear()
                continue
            first = self.waiting[0]
            try:
                self._send(settings, first)
            except SendError as error:
                self.counts["failed"] += 1
                self._failing = str(error)
                hub.sleep(pause)
                pause = min(2 * pause, PAUSES[1])
                continue
            pause, self._failing = PAUSES[0], ""
            self.counts["sent"] += 1
            if self.waiting and self.waiting[0] is first:  # else it made room meanwhile
                self.waiting.popleft()

    # Inside

    def _drop(self) -> None:
        self.waiting.popleft()
        self.counts["dropped"] += 1
        self._lost = time.monotonic()

    def _send(self, settings: Notify, notification: Notification) -> None:
        from ofapp.controller.problems import webhook

        try:
            with hub.Timeout(PATIENCE):
                webhook.post(settings, self._directory() or Path(), notification.values)
        except hub.Timeout:
            raise SendError(f"no answer within {PATIENCE:g} s") from None
