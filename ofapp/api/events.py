"""/v1/events: what happened, and what happens (server-sent events, HTML 9.2)."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

from flask import Response, request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer, utc
from ofapp.api.base import BridgeText, DatapathId, Input, SilentMembers
from ofapp.api.door import LASTING
from ofapp.api.gate import caller
from ofapp.api.lookup import find_bridge, is_datapath_id
from ofapp.api.problems import COMMON, ProblemError, documented
from ofapp.api.roles import viewer
from ofapp.bridge.event import Event, Severity
from ofapp.controller.events import EVERYTHING, EventLog, Interest, Record
from ofapp.controller.network import Network

STREAMS = 64
"""Followers at a time; each holds a connection for as long as it likes."""

KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment tells that the stream is alive."""

GLANCE = 0.5
"""Seconds between looks at whether the server stops."""

TAG = Tag(name="events", description="What happened.")


_KIND = "[a-z-]+([.][a-z-]+)*[.]?"
Kinds = Annotated[str, Field(pattern=f"^{_KIND}(,{_KIND})*$")]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DATE = "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?"
Start = Annotated[
    str,
    Field(
        pattern=f"^((0|[1-9][0-9]{{0,14}})|[0-9]{{1,9}}[smhd]|{_DATE}T{_TIME}Z)$",
        description="only events after this number, this time in UTC, or so long ago (30s, 10m,"
        " 2h, 7d)",
        json_schema_extra={"example": "10m"},
    ),
]
SeverityName = Literal["debug", "info", "warning", "error"]


class EventFilter(Input):
    """Which events; all that is given must fit."""

    kind: Kinds | None = Field(
        None,
        description="kinds or what they begin with, up to a dot; several with commas between",
        json_schema_extra={"example": "stp,port"},
    )
    bridge: BridgeText | None = None
    severity: SeverityName = Field("debug", description="at least so severe")


class Since(EventFilter):
    """From where on."""

    since: Start = "0"


class StreamStart(EventFilter):
    """From where on; without it, from now on."""

    since: Start | None = None


class LastEventId(BaseModel):
    """What a client sends that resumes a stream."""

    id: Annotated[str, Field(pattern="^([0-9a-f]{1,16}-)?[0-9]{1,15}$")] | None = Field(
        None, alias="Last-Event-ID", description="`id` of the last event it has seen"
    )

    def after(self, events: EventLog) -> int | None:
        """The number of that event; None when it was another life of the controller."""
        its, _, text = (self.id or "0").rpartition("-")
        number = int(text)
        return number if its in ("", events.life) and number <= events.last else None


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
    member: str | None = Field(description="who tells it, and counts; null without a cluster")


class EventList(BaseModel):
    """The latest events, oldest first."""

    events: list[EventItem]
    last: int = Field(description="number of the newest event there is, of the one that is asked")
    missed: bool = Field(description="events of such kinds after `since` are forgotten already")
    silent: SilentMembers = []


class Streams:
    """The open streams of one server.  Set `stopping` and they end.

    member: the name of this controller in its cluster, if it is in one.
    """

    def __init__(self, member: str | None = None) -> None:
        self.member = member
        self.stopping = False
        self.open = 0

    def follow(
        self,
        events: EventLog,
        number: int,
        interest: Interest = EVERYTHING,
        may_go_on: Callable[[], bool] = lambda: True,
        missed: str = "",
    ) -> Iterator[str]:
        """The text of a stream of the events after a number.

        missed: why there are none of some before, in words, which the stream begins with.
        """
        self.open += 1
        quiet = 0.0
        try:
            yield f": events of ofapp\nid: {events.life}-{number}\n\n"
            if missed:
                event = Event("events.missed", missed, Severity.WARNING)
                record = Record(number, time.time(), None, event)
                yield _frame(events.life, _event(record, self.member))
            for told in events.follow(number, GLANCE, interest):
                if self.stopping or not may_go_on():
                    return
                if told is not None:
                    quiet = 0.0
                    yield _frame(events.life, _event(told, self.member))
                elif (quiet := quiet + GLANCE) >= KEEP_ALIVE:
                    quiet = 0.0
                    yield ": still here\n\n"
        finally:
            self.open -= 1


def blueprint(network: Network, streams: Streams) -> APIBlueprint:
    """The routes on a network's event log; a stream ends when who follows it may not any more."""
    api = APIBlueprint(
        "events", __name__, url_prefix="/v1/events", abp_tags=[TAG], abp_responses=COMMON
    )

    events = network.events

    @api.get("", responses={200: EventList, **documented(404, 409)})
    @viewer
    def latest(query: Since) -> Response:
        """The last thousand events, oldest first.  Of severity debug none is remembered.

        In a cluster they are those of all members, each by its own clock, and `number` counts
        those of its member: a number in `since` is one of the member that is asked.
        """
        number, interest = _number(query.since, events), _interest(network, query)
        return answer(
            EventList(
                events=[
                    _event(record, streams.member) for record in events.since(number, interest)
                ],
                last=events.last,
                missed=events.has_forgotten(number, interest),
            )
        )

    @api.get(
        "/stream",
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **documented(404, 409, 503),
        },
    )
    @viewer
    def stream(header: LastEventId, query: StreamStart) -> Response:
        """Events as they happen.  It resumes after `Last-Event-ID`, or `since`.

        With an id from before the controller was started anew it tells all that has happened since.
        Where some events after that id are not to be had any more it begins with one of kind
        `events.missed`, which is in no list.  BPDUs are events of severity debug.

        In a cluster these are the events of the member that is asked, and of no other: what befalls
        a bridge is told by the member that looks after it.  Follow each, or ask for the list.
        """
        if streams.open >= STREAMS:
            raise ProblemError(503, f"{STREAMS} streams are open, no more are served")
        interest = _interest(network, query)
        number, missed = _beginning(header, query.since, events, interest)
        request.environ[LASTING] = True
        may_go_on = partial(network.access.still, caller())
        return Response(
            streams.follow(events, number, interest, may_go_on, missed),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    return api


def _beginning(
    header: LastEventId, since: str | None, events: EventLog, interest: Interest
) -> tuple[int, str]:
    """After which number a stream begins, and what is to be said of events before."""
    if header.id is None:
        number = events.last if since is None else _number(since, events)
        return (number, "") if number <= events.last else (0, "")
    after = header.after(events)
    if after is None:
        return 0, (
            f"the controller was started anew since the event {header.id}: what happened between"
            " that event and its end is not known any more"
        )
    forgotten = events.has_forgotten(after, interest)
    what = "events were told since that are not kept any more, as there were too many"
    return after, what if forgotten else ""


def _number(since: str, events: EventLog) -> int:
    """The number of the last event that is not meant by a `Start`."""
    if since.isdigit():
        return int(since)
    if since[-1] in _UNITS:
        return events.before(time.time() - int(since[:-1]) * _UNITS[since[-1]])
    year, month, day, hour, minute, second = map(int, re.findall("[0-9]+", since)[:6])
    # A day that its month has not is one of the next month: to calendar, and so to everybody.
    whole = calendar.timegm((year, month, day, hour, minute, second))
    fraction = re.search("[.][0-9]+", since)
    return events.before(whole + (float(fraction[0]) if fraction else 0))


def _event(record: Record, member: str | None) -> EventItem:
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


def _interest(network: Network, query: EventFilter) -> Interest:
    return Interest(
        tuple(kind.rstrip(".") for kind in query.kind.split(",")) if query.kind else (),
        None if query.bridge is None else _datapath_id(network, query.bridge),
        Severity(query.severity),
    )


def _datapath_id(network: Network, text: str) -> int:
    """Of a bridge; one that is forgotten has events, too."""
    if is_datapath_id(text):
        return int(text, 16)
    return find_bridge(network, text, "bridge").datapath_id
