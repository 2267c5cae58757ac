"""Streams of events: their limits and their format (server-sent events, HTML 9.2).

A stream uses a connection without a time limit.  So there are limits by token, by address, and for
all: no token takes all streams of its address, and no address uses all its connections
(`connection_limiter.PEER_CONNECTIONS`) for streams.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from ofapp.api.answers import utc
from ofapp.api.base import DatapathId
from ofapp.api.http.events import API_STREAMS_FULL, API_STREAMS_FULL_CLEARED
from ofapp.api.problems import AGAIN, ProblemError
from ofapp.controller.events import EVENTS_MISSED, EVERYTHING, EventLog, Interest, Record

OF_TOKEN = 16
OF_ADDRESS = 32
STREAMS = 64
"""Most streams at a time."""

KEEP_ALIVE = 15.0
"""Seconds without an event after which a comment is sent as keepalive."""

GLANCE = 0.5
"""Seconds between checks whether the server stops, or the client has left."""


SeverityName = Literal["debug", "info", "warning", "error"]


class EventItem(BaseModel):
    """An event."""

    number: int = Field(description="sequence number; events of severity debug are not stored")
    time: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    datapath_id: DatapathId | None
    kind: str
    severity: SeverityName
    message: str
    port: int | None
    data: dict[str, Any]
    member: str | None = Field(description="member that reports it; null without a cluster")


@dataclass(frozen=True, slots=True)
class Follower:
    """Owner of a stream.  name: of the token or user; peer: the address that it counts for."""

    name: str
    peer: str


@dataclass(frozen=True, slots=True)
class Beginning:
    """Number of the event before a stream's first; missed: why events are missing, in words."""

    number: int
    missed: str = ""


class Streams:
    """The open streams of one server.  Set `stopping` and they end.

    member: the name of this controller in its cluster, if it is in one; refused: by limit.
    """

    def __init__(self, member: str | None = None) -> None:
        self.member = member
        self.stopping = False
        self.refused: Counter[str] = Counter()
        self._open: list[Follower] = []
        self._reported: set[str] = set()  # limits that are reached, in words

    @property
    def open(self) -> int:
        """Number of open streams."""
        return len(self._open)

    def check(self, events: EventLog, follower: Follower) -> None:
        """Check that one more stream is allowed; ProblemError."""
        for bound, what in self._reached(follower):
            self.refused[bound] += 1
            if what not in self._reported:
                self._reported.add(what)
                message = f"{what}: more are refused until one ends"
                data = {"bound": bound, "follower": follower.name, "peer": follower.peer}
                events.emit(None, API_STREAMS_FULL.event(message, data=data))
            raise ProblemError(503, what, headers=AGAIN)

    def follow(
        self,
        events: EventLog,
        follower: Follower,
        begin: Beginning,
        interest: Interest = EVERYTHING,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Iterator[str]:
        """The text of a stream."""
        self._open.append(follower)
        quiet = 0.0
        try:
            yield f": events of ofapp\nid: {events.life}-{begin.number}\n\n"
            if begin.missed:
                event = EVENTS_MISSED.event(begin.missed)
                record = Record(begin.number, time.time(), None, event)
                yield _frame(events.life, event_item(record, self.member))
            for happened in events.follow(begin.number, GLANCE, interest):
                if self.stopping or not may_go_on():
                    return
                if happened is not None:
                    quiet = 0.0
                    yield _frame(events.life, event_item(happened, self.member))
                elif (quiet := quiet + GLANCE) >= KEEP_ALIVE:
                    quiet = 0.0
                    yield ": still here\n\n"
        finally:
            reached = [what for _, what in self._reached(follower)]
            self._open.remove(follower)
            for what in self._reported.intersection(reached):
                self._reported.remove(what)
                message = f"no longer: {what}"
                events.emit(None, API_STREAMS_FULL_CLEARED.event(message))

    def _reached(self, follower: Follower) -> Iterator[tuple[str, str]]:
        """The limits that are reached, each with a description."""
        if sum(one.name == follower.name for one in self._open) >= OF_TOKEN:
            yield (
                "token",
                f"{follower.name} has {OF_TOKEN} streams of events, the most of one token",
            )
        if sum(one.peer == follower.peer for one in self._open) >= OF_ADDRESS:
            what = f"{follower.peer} has {OF_ADDRESS} streams of events, the most of one address"
            yield "address", what
        if self.open >= STREAMS:
            yield "all", f"there are {STREAMS} streams of events, the maximum"


def event_item(record: Record, member: str | None) -> EventItem:
    """Convert an event for the API."""
    event = record.event
    return EventItem(
        number=record.number,
        time=utc(record.time),
        datapath_id=None if record.bridge is None else f"{record.bridge:016x}",
        kind=event.kind,
        severity=event.severity.value,
        message=event.message,
        port=event.port,
        data=dict(event.data),
        member=member,
    )


def _frame(life: str, event: EventItem) -> str:
    data = event.model_dump_json(ensure_ascii=True)  # one line: JSON escapes line ends
    return f"id: {life}-{event.number}\nevent: {event.kind}\ndata: {data}\n\n"
