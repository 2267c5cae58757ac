"""/v1/events: what happened, and what happens (server-sent events, HTML 9.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flask import Response, request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from ofapp.api import models
from ofapp.api.answers import answer, utc
from ofapp.api.door import LASTING
from ofapp.api.problems import COMMON, ProblemError, documented
from ofapp.api.views import Json
from ofapp.bridge.event import Severity
from ofapp.controller.events import EVERYTHING, EventLog, Interest, Record

STREAMS = 64
"""Followers at a time; each holds a connection for as long as it likes."""

KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment tells that the stream is alive."""

GLANCE = 0.5
"""Seconds between looks at whether the server stops."""

TAG = Tag(name="events", description="What happened.")


class Streams:
    """The open streams of one server.  Set `stopping` and they end."""

    def __init__(self) -> None:
        self.stopping = False
        self.open = 0

    def follow(
        self, events: EventLog, number: int, interest: Interest = EVERYTHING
    ) -> Iterator[str]:
        """The text of a stream of the events after a number."""
        self.open += 1
        quiet = 0.0
        try:
            yield f": events of ofapp\nid: {events.life}-{number}\n\n"
            for record in events.follow(number, GLANCE, interest):
                if self.stopping:
                    return
                if record is not None:
                    quiet = 0.0
                    yield _frame(events.life, record)
                elif (quiet := quiet + GLANCE) >= KEEP_ALIVE:
                    quiet = 0.0
                    yield ": still here\n\n"
        finally:
            self.open -= 1


def blueprint(events: EventLog, streams: Streams) -> APIBlueprint:
    """The routes on an event log."""
    api = APIBlueprint(
        "events", __name__, url_prefix="/v1/events", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: models.EventList})
    def latest(query: models.Since) -> Response:
        """The last thousand events, oldest first.  Of severity debug none is remembered."""
        found = events.since(query.since, _interest(query))
        return answer({"events": [event_json(record) for record in found], "last": events.last})

    @api.get(
        "/stream",
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **documented(503),
        },
    )
    def stream(header: models.LastEventId, query: models.StreamStart) -> Response:
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
        return Response(
            streams.follow(events, number, _interest(query)),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    return api


def event_json(record: Record) -> Json:
    """Shape: `models.EventItem`."""
    event = record.event
    return {
        "number": record.number,
        "time": utc(record.time),
        "datapath_id": None if record.bridge is None else f"{record.bridge:016x}",
        "kind": event.kind,
        "severity": event.severity.value,
        "message": event.message,
        "port": event.port,
        "data": dict(event.data),
    }


def _frame(life: str, record: Record) -> str:
    data = json.dumps(event_json(record))  # one line: JSON escapes line ends
    return f"id: {life}-{record.number}\nevent: {record.event.kind}\ndata: {data}\n\n"


def _interest(query: models.EventFilter) -> Interest:
    return Interest(
        tuple(query.kind.split(",")) if query.kind else (),
        None if query.bridge is None else int(query.bridge, 16),
        Severity(query.severity),
    )
