"""Shows the protocols that this process is alive, and tells when it was not for a while."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ofapp.bridge.event import Event, Severity
from ofapp.bridge.pausable import UNLIVED
from ofapp.common import hub
from ofapp.controller.events import EventLog
from ofapp.openflow.switch.session import Session

BEAT = 0.25
"""Seconds between signs of life (see `ofapp.bridge.pausable`)."""


class Heartbeat:
    """For the bridges of all sessions."""

    def __init__(self, sessions: Mapping[int, Session], events: EventLog) -> None:
        self._sessions = sessions
        self._events = events

    def run(self) -> None:
        """For ever."""
        last = time.monotonic()
        while True:
            now = time.monotonic()
            for session in self._sessions.values():
                session.bridge.beat(now)
            if now - last - BEAT > UNLIVED:
                seconds = round(now - last, 1)
                message = f"the controller stood still for {seconds} s, which no protocol has lived"
                told = {"seconds": seconds}
                event = Event("controller.stalled", message, Severity.WARNING, data=told)
                self._events.tell(None, event)
            last = now
            hub.sleep(BEAT)
