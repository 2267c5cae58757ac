"""Streams of events: their limits and their format (server-sent events, HTML 9.2).

A stream uses a connection without a time limit.  So there are limits by token, by address, and for
all: no token takes all streams of its address, and no address uses all its connections
(`connection_limiter.PEER_CONNECTIONS`) for streams.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId
from ofapp.api.http.bounds import Bounds, Party
from ofapp.api.http.events import API_STREAMS_FULL, API_STREAMS_FULL_CLEARED
from ofapp.api.responses import utc
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
class Beginning:
    """Number of the event before a stream's first; missed: why events are missing, in words."""

    number: int
    missed: str = ""


class Streams:
    """The open streams of one server.  Set `stopping` and they end.

    member: the name of this controller in its cluster, if it is in one; bounds: their limits.
    """

    def __init__(self, member: str | None = None) -> None:
        self.member = member
        self.stopping = False
        limits = OF_TOKEN, OF_ADDRESS, STREAMS
        self.bounds = Bounds(
            "streams of events", *limits, API_STREAMS_FULL, API_STREAMS_FULL_CLEARED
        )

    def follow(
        self,
        events: EventLog,
        party: Party,
        begin: Beginning,
        interest: Interest = EVERYTHING,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Iterator[str]:
        """The text of a stream."""
        quiet = 0.0
        with self.bounds.one(events, party):
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
