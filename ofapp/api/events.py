"""/v1/events: what happened, and what happens (server-sent events, HTML 9.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

from flask import Response, request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer, utc
from ofapp.api.base import DatapathId, Input, Number
from ofapp.api.door import LASTING
from ofapp.api.gate import caller
from ofapp.api.problems import COMMON, ProblemError, documented
from ofapp.api.roles import viewer
from ofapp.bridge.event import Severity
from ofapp.controller.access import Access
from ofapp.controller.events import EVERYTHING, EventLog, Interest, Record

STREAMS = 64
"""Followers at a time; each holds a connection for as long as it likes."""

KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment tells that the stream is alive."""

GLANCE = 0.5
"""Seconds between looks at whether the server stops."""

TAG = Tag(name="events", description="What happened.")


Kinds = Annotated[str, Field(pattern="^[a-z-]+([.][a-z-]+)*(,[a-z-]+([.][a-z-]+)*)*$")]
SeverityName = Literal["debug", "info", "warning", "error"]


class EventFilter(Input):
    """Which events; all that is given must fit."""

    kind: Kinds | None = Field(
        None,
        description="kinds or what they begin with, up to a dot; several with commas between",
        json_schema_extra={"example": "stp,port"},
    )
    bridge: DatapathId | None = None
    severity: SeverityName = Field("debug", description="at least so severe")


class Since(EventFilter):
    """From where on."""

    since: Number = Field(0, description="only events with a higher number")


class StreamStart(EventFilter):
    """From where on; without it, from now on."""

    since: Number | None = Field(
        None, description="also the remembered events with a higher number"
    )


class LastEventId(BaseModel):
    """What a client sends that resumes a stream."""

    id: Annotated[str, Field(pattern="^([0-9a-f]{1,16}-)?[0-9]{1,15}$")] | None = Field(
        None, alias="Last-Event-ID", description="`id` of the last event it has seen"
    )

    def after(self, life: str) -> int:
        """The number of that event, 0 when it was another life of the controller."""
        its, _, number = (self.id or "0").rpartition("-")
        return int(number) if its in ("", life) else 0


class EventItem(BaseModel):
    """Something that happened."""

    number: int = Field(description="counts up; those of severity debug are not remembered")
    time: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    datapath_id: DatapathId | None
    kind: str
    severity: SeverityName
    message: str
    port: int | None
    data: dict[str, Any]


class EventList(BaseModel):
    """The latest events, oldest first."""

    events: list[EventItem]
    last: int = Field(description="number of the newest event there is")


class Streams:
    """The open streams of one server.  Set `stopping` and they end."""

    def __init__(self) -> None:
        self.stopping = False
        self.open = 0

    def follow(
        self,
        events: EventLog,
        number: int,
        interest: Interest = EVERYTHING,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Iterator[str]:
        """The text of a stream of the events after a number."""
        self.open += 1
        quiet = 0.0
        try:
            yield f": events of ofapp\nid: {events.life}-{number}\n\n"
            for record in events.follow(number, GLANCE, interest):
                if self.stopping or not may_go_on():
                    return
                if record is not None:
                    quiet = 0.0
                    yield _frame(events.life, record)
                elif (quiet := quiet + GLANCE) >= KEEP_ALIVE:
                    quiet = 0.0
                    yield ": still here\n\n"
        finally:
            self.open -= 1


def blueprint(events: EventLog, streams: Streams, access: Access) -> APIBlueprint:
    """The routes on an event log; a stream ends when who follows it may not any more."""
    api = APIBlueprint(
        "events", __name__, url_prefix="/v1/events", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: EventList})
    @viewer
    def latest(query: Since) -> Response:
        """The last thousand events, oldest first.  Of severity debug none is remembered."""
        found = events.since(query.since, _interest(query))
        return answer(EventList(events=[_event(record) for record in found], last=events.last))

    @api.get(
        "/stream",
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **documented(503),
        },
    )
    @viewer
    def stream(header: LastEventId, query: StreamStart) -> Response:
        """Events as they happen.  It resumes after `Last-Event-ID`, or `since`.

        With an id from before the controller was started anew it tells all that has happened since.
        BPDUs, sent and received, are events of severity debug.
        """
        if streams.open >= STREAMS:
            raise ProblemError(503, f"{STREAMS} streams are open, no more are served")
        number = header.after(events.life) if header.id is not None else query.since
        if number is None:
            number = events.last
        elif number > events.last:  # a number of an earlier life of the controller
            number = 0
        request.environ[LASTING] = True
        may_go_on = partial(access.still, caller())
        return Response(
            streams.follow(events, number, _interest(query), may_go_on),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    return api


def _event(record: Record) -> EventItem:
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
    )


def _frame(life: str, record: Record) -> str:
    data = _event(record).model_dump_json(ensure_ascii=True)  # one line: JSON escapes line ends
    return f"id: {life}-{record.number}\nevent: {record.event.kind}\ndata: {data}\n\n"


def _interest(query: EventFilter) -> Interest:
    return Interest(
        tuple(query.kind.split(",")) if query.kind else (),
        None if query.bridge is None else int(query.bridge, 16),
        Severity(query.severity),
    )
