"""/v1/events: the event log, and a stream of new events (server-sent events, HTML 9.2)."""

from __future__ import annotations

import calendar
import re
import time
from functools import partial
from typing import Annotated

from flask import Response, request
from pydantic import BaseModel, Field

from ofapp.api.auth import caller, connection, party
from ofapp.api.base import BridgeText, Input, SilentMembers
from ofapp.api.event_kinds import KINDS
from ofapp.api.http.connection_limiter import LASTING, Connection
from ofapp.api.http.streams import Beginning, EventItem, SeverityName, Streams, event_item
from ofapp.api.lookup import is_datapath_id, named_bridge
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, resource
from ofapp.api.recent import recent
from ofapp.api.responses import answer
from ofapp.api.roles import all_members, local, viewer
from ofapp.bridge.event import EventKind, Severity
from ofapp.controller.access import Access, Caller
from ofapp.controller.events import EventLog, Interest
from ofapp.controller.network import Network

TAG = Tag(name="events", description="Event log.")


_KIND = "[a-z-]+([.][a-z-]+)*[.]?"
Kinds = Annotated[str, Field(pattern=f"^{_KIND}(,{_KIND})*$")]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DATE = "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?"
Start = Annotated[
    str,
    Field(
        pattern=f"^((0|[1-9][0-9]{{0,14}})|[0-9]{{1,9}}[smhd]|{_DATE}T{_TIME}Z)$",
        description="only events after this number or this time in UTC, or of the last 30s, 10m,"
        " 2h, 7d",
        json_schema_extra={"example": "10m"},
    ),
]


class KindFilter(Input):
    """Filter of kinds."""

    kind: Kinds | None = Field(
        None,
        description="kinds or their prefixes up to a dot, separated by commas",
        json_schema_extra={"example": "stp,port"},
    )

    def interest(self, bridge: int | None = None, least: Severity = Severity.DEBUG) -> Interest:
        """The events that the filter lets through."""
        kinds = self.kind.split(",") if self.kind else ()
        return Interest(tuple(kind.rstrip(".") for kind in kinds), bridge, least)


class EventFilter(KindFilter):
    """Filter of events; all given fields must match."""

    bridge: BridgeText | None = None
    severity: SeverityName = Field("debug", description="minimum severity")


class Since(EventFilter):
    """Filter and start of a list."""

    since: Start = "0"


class StreamStart(EventFilter):
    """Filter and start of a stream; by default it starts now."""

    since: Start | None = None


class LastEventId(BaseModel):
    """Header of a client that resumes a stream."""

    id: Annotated[str, Field(pattern="^([0-9a-f]{1,16}-)?[0-9]{1,15}$")] | None = Field(
        None, alias="Last-Event-ID", description="`id` of the last event received"
    )

    def after(self, events: EventLog) -> int | None:
        """The number of that event; None if the controller has restarted since."""
        its, _, text = (self.id or "0").rpartition("-")
        number = int(text)
        return number if its in ("", events.life) and number <= events.last else None


class EventList(BaseModel):
    """The latest events, oldest first."""

    events: list[EventItem]
    last: int = Field(description="number of the newest event of the member that answers")
    missed: bool = Field(description="matching events after `since` are not stored any more")
    silent: SilentMembers = []


class EventKindItem(BaseModel):
    """A kind of events."""

    kind: str
    severities: list[SeverityName] = Field(description="the usual one first")
    meaning: str
    remedy: str = Field(description="what to do about it; empty if nothing has to be done")
    fields: list[str] = Field(description="keys of `data`; ... = and others")
    count: int = Field(description="number since the start of this member")


class EventKinds(BaseModel):
    """Kinds of events."""

    kinds: list[EventKindItem]


_STREAM = {
    "type": "string",
    "description": "Events, each of lines and an empty one: `id`, which is sent as `Last-Event-ID`"
    " to resume after it; `event`, its kind; and `data`, an EventItem as JSON in one line. The"
    " first has only an `id`. Lines that begin with a colon are keepalives.",
    "example": ": events of ofapp\nid: 1f-41\n\nid: 1f-42\nevent: port.down\n"
    'data: {"number":42,"time":"2026-01-01T00:00:00.000Z","datapath_id":"0000000000000001",'
    '"kind":"port.down","severity":"info","message":"port eth1 is down","port":1,"data":{},'
    '"member":null}\n\n',
}


def blueprint(network: Network, streams: Streams) -> APIBlueprint:
    """The routes on a network's event log; a stream ends when its caller loses access."""
    api = resource("events", TAG, "/v1/events")

    events = network.events

    @api.get("", responses={200: EventList, **documented(404, 409)})
    @viewer
    @local
    @all_members("events")
    @recent
    def latest(query: Since) -> Response:
        """The last thousand events, oldest first.  Events of severity debug are not stored.

        In a cluster the list has the events of all members, with times by each member's clock.
        Each member numbers its own events: a number in `since` is of the member that answers.
        With `Cache-Control: max-age=1` the answer may be one of the last second.
        """
        number, interest = _number(query.since, events), _interest(network, query)
        return answer(
            EventList(
                events=[
                    event_item(record, streams.member) for record in events.since(number, interest)
                ],
                last=events.last,
                missed=events.has_forgotten(number, interest),
            )
        )

    @api.get("/kinds", responses={200: EventKinds})
    @viewer
    @local
    def kinds(query: KindFilter) -> Response:
        """Kinds of events, with their meaning and what to do about them."""
        covers = query.interest().covers_kind
        wanted = [_kind(kind, events) for name, kind in KINDS.items() if covers(name)]
        return answer(EventKinds(kinds=wanted))

    @api.get(
        "/stream",
        responses={
            200: {
                "description": "Server-sent events (HTML 9.2), without end",
                "content": {"text/event-stream": {"schema": _STREAM}},
            },
            **documented(404, 409, 503),
        },
    )
    @viewer
    @local
    def stream(header: LastEventId, query: StreamStart) -> Response:
        """Events as they happen.  The stream resumes after `Last-Event-ID`, or `since`.

        After an id from before a restart of the controller it sends all events since the restart.
        If some events after that id are not stored any more it begins with one of kind
        `events.missed`, which is in no list.  BPDUs are events of severity debug; learned addresses
        too, and only a stream whose `kind` names them has those: fdb, fdb.learned.

        In a cluster these are only the events of the member that answers: events of a bridge are
        reported by the member that owns it.  Follow each member, or get the list.
        """
        interest = _interest(network, query)
        begin = _beginning(header, query.since, events, interest)
        follower = party()
        streams.bounds.check(events, follower)
        request.environ[LASTING] = True
        may_go_on = partial(_may_go_on, network.access, caller(), connection())
        return Response(
            streams.follow(events, follower, begin, interest, may_go_on),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    return api


def _may_go_on(access: Access, user: Caller, its: Connection | None) -> bool:
    return access.still(user) and not (its is not None and its.has_left())


def _beginning(
    header: LastEventId, since: str | None, events: EventLog, interest: Interest
) -> Beginning:
    if header.id is None:
        number = events.last if since is None else _number(since, events)
        return Beginning(number if number <= events.last else 0)
    after = header.after(events)
    if after is None:
        return Beginning(
            0,
            f"the controller has restarted since the event {header.id}: events between"
            " that event and the restart are lost",
        )
    forgotten = events.has_forgotten(after, interest)
    what = "events since then are not stored any more, as there were too many"
    return Beginning(after, what if forgotten else "")


def _number(since: str, events: EventLog) -> int:
    """The number of the last event before a `Start`."""
    if since.isdigit():
        return int(since)
    if since[-1] in _UNITS:
        return events.before(time.time() - int(since[:-1]) * _UNITS[since[-1]])
    year, month, day, hour, minute, second = map(int, re.findall("[0-9]+", since)[:6])
    # calendar takes a day beyond the end of its month for one of the next month.
    whole = calendar.timegm((year, month, day, hour, minute, second))
    fraction = re.search("[.][0-9]+", since)
    return events.before(whole + (float(fraction[0]) if fraction else 0))


def _interest(network: Network, query: EventFilter) -> Interest:
    bridge = None if query.bridge is None else _datapath_id(network, query.bridge)
    return query.interest(bridge, Severity(query.severity))


def _datapath_id(network: Network, text: str) -> int:
    """Datapath id of a bridge; a removed bridge has events, too."""
    if is_datapath_id(text):
        return int(text, 16)
    return named_bridge(network, text, "bridge").datapath_id


def _kind(kind: EventKind, events: EventLog) -> EventKindItem:
    return EventKindItem(
        kind=kind.name,
        severities=[severity.value for severity in kind.severities],
        meaning=kind.meaning,
        remedy=kind.remedy,
        fields=sorted(kind.fields.split(), key=lambda field: (field == "...", field)),
        count=events.counts.get(kind.name, 0),
    )
