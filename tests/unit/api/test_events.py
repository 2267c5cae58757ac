"""Events, listed and streamed."""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from ofapp.api.http import streams as streams_module
from ofapp.api.http.bounds import Party
from ofapp.api.http.streams import Beginning
from ofapp.api.resources import events as routes_events
from ofapp.bridge.event import Severity
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, FULL, mac
from tests.unit.made_event import made_event


def test_events_are_listed_oldest_first(client: Any, network: Network) -> None:
    network.events.emit(
        1, made_event("fdb.limit", "full", Severity.WARNING, port=2, data={"limit": 5}), "br0"
    )
    answer = routes_events.EventList.model_validate(client.get("/v1/events").json)
    numbers = [event.number for event in answer.events]
    assert numbers == list(range(1, len(numbers) + 1))
    assert answer.last == numbers[-1]
    last = answer.events[-1]
    assert (last.datapath_id, last.kind, last.severity) == (DPID, "fdb.limit", "warning")
    assert (last.message, last.port, last.data) == ("full", 2, {"limit": 5})
    assert last.time.endswith("Z")


def test_only_later_events(client: Any) -> None:
    known = client.get("/v1/events").json["last"]
    answer = client.get(f"/v1/events?since={known - 2}").json
    assert [event["number"] for event in answer["events"]] == [known - 1, known]


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("kind=test", ["test.one", "test.two", "test"]),
        ("kind=test.one", ["test.one"]),
        ("kind=tes", []),
        ("kind=test.", ["test.one", "test.two", "test"]),
        ("kind=test.one,test.two", ["test.one", "test.two"]),
        (f"kind=test&bridge={DPID}", ["test.one", "test.two"]),
        ("kind=test&bridge=br0", ["test.one", "test.two"]),
        ("kind=test&severity=warning", ["test.two", "test"]),
        ("kind=test&severity=error", ["test"]),
    ],
)
def test_events_are_selected(client: Any, network: Network, query: str, kinds: list[str]) -> None:
    network.events.emit(1, made_event("test.one", "a"))
    network.events.emit(1, made_event("test.two", "b", Severity.WARNING))
    network.events.emit(0xFF, made_event("test", "c", Severity.ERROR))
    answer = client.get(f"/v1/events?{query}").json["events"]
    assert [event["kind"] for event in answer] == kinds


@pytest.mark.parametrize("kinds", ["fdb.held", "stp.", "fdb.held.limit,audit"])
def test_kinds_are_selected_as_events_are(client: Any, kinds: str) -> None:
    def named(query: str) -> list[str]:
        return [one["kind"] for one in client.get(f"/v1/events/kinds{query}").json["kinds"]]

    wanted = tuple(f"{kind.rstrip('.')}." for kind in kinds.split(","))
    assert named(f"?kind={kinds}") == [own for own in named("") if f"{own}.".startswith(wanted)]
    assert client.get("/v1/events/kinds?kind=FDB").status_code == 422


@pytest.mark.parametrize(
    ("since", "messages"),
    [
        ("10m", ["b", "c"]),
        ("30s", ["c"]),
        ("2h", ["a", "b", "c"]),
        ("2030-01-01T11:30:00Z", ["b", "c"]),
        ("2030-01-01T11:55:00.000Z", ["b", "c"]),
        ("2030-01-01T11:55:00.001Z", ["c"]),
        ("2031-01-01T00:00:00Z", []),
    ],
)
def test_events_since_a_time(
    client: Any, network: Network, monkeypatch: pytest.MonkeyPatch, since: str, messages: list[str]
) -> None:
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp()
    for ago, message in ((3600, "a"), (300, "b"), (10, "c")):
        monkeypatch.setattr(time, "time", lambda ago=ago: noon - ago)
        network.events.emit(1, made_event("test.one", message))
    monkeypatch.setattr(time, "time", lambda: noon)
    answer = client.get(f"/v1/events?kind=test&since={since}").json
    assert [event["message"] for event in answer["events"]] == messages


def test_who_asks_for_what_is_forgotten_is_reported(clients: Clients, network: Network) -> None:
    network.events = EventLog(5)
    client = clients(network)
    for number in range(7):
        network.events.emit(number, made_event("test.one", "x"))
    network.events.emit(1, made_event("rare", "x"))
    life = network.events.life

    def begins(last: str, query: str = "") -> str:
        headers = {"Last-Event-ID": last}
        answer = client.get(f"/v1/events/stream{query}", headers=headers, buffered=False)
        frames = (frame.decode() for frame in answer.response)
        kind = next(frame for frame in frames if "event: " in frame)
        answer.close()
        return kind.partition("event: ")[2].splitlines()[0]

    assert begins(f"{life}-2") == "events.missed"
    assert begins(f"{life}-3") == "test.one"
    assert begins(f"{life}-0", "?kind=rare") == "rare"
    assert begins("1-3") == "events.missed"  # of an earlier controller
    assert begins("900") == "events.missed"
    assert client.get("/v1/events?since=2").json["missed"]
    assert not client.get("/v1/events?since=3").json["missed"]


def test_a_trace_pushes_nothing_out(client: Any, network: Network) -> None:
    before = client.get("/v1/events").json
    for _ in range(2000):
        network.events.emit(1, made_event("test.trace", "x", Severity.DEBUG))
    after = client.get("/v1/events").json
    assert after["events"] == before["events"]
    assert after["last"] == before["last"] + 2000
    assert "test.trace" not in network.events.counts


def test_a_trace_is_logged_when_asked_for(
    network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    event = made_event("test.trace", "x", Severity.DEBUG)
    network.events.emit(1, event, "br0")
    assert not network.events.wanted(1, event.of, Severity.DEBUG)
    with caplog.at_level(logging.DEBUG, "ofapp"):
        assert network.events.wanted(1, event.of, Severity.DEBUG)
        network.events.emit(1, event, "br0")
    assert caplog.messages == ["bridge br0: x [test.trace]"]


def test_an_event_of_no_bridge(client: Any, network: Network) -> None:
    network.events.emit(None, made_event("test.only", "none"))
    assert client.get("/v1/events").json["events"][-1]["datapath_id"] is None


@pytest.mark.parametrize(
    "query",
    ["since=-1", "since=x", "until=3", "kind=", "kind=a,", "bridge=", "severity=x", "since=10w"],
)
def test_a_bad_query_is_refused(client: Any, query: str) -> None:
    assert client.get(f"/v1/events?{query}").status_code == 422
    assert client.get(f"/v1/events/stream?{query}").status_code == 422


def test_a_quiet_stream_says_that_it_is_alive(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "GLANCE", 0.01)
    monkeypatch.setattr(streams_module, "KEEP_ALIVE", 0.05)
    streams = streams_module.Streams()
    stream = streams.follow(network.events, Party("root", "::1"), Beginning(1_000))
    assert [next(stream)[0] for _ in range(3)] == [":", ":", ":"]
    assert len(streams.bounds.open) == 1
    streams.stopping = True
    assert list(stream) == []
    assert not streams.bounds.open
    assert network.events._listeners == set()


# Live


@contextmanager
def stream(url: str, query: str = "", last: str | None = None) -> Iterator[Iterator[Any]]:
    """The events of a stream, as they come."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    headers = {} if last is None else {"Last-Event-ID": last}
    connection.request("GET", f"/v1/events/stream{query}", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.readline().startswith(b":")  # it has begun: nothing told from now on is missed

    def events() -> Iterator[Any]:
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    try:
        yield events()
    finally:
        connection.close()


def fill_and_flush(url: str) -> None:
    """Two events: the limit is reached, and over."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    for number in (1, 2):
        body = json.dumps({"mac": mac(number), "port": 1})
        connection.request("PUT", f"/simpleswitch/mactable/{FULL}", body)
        assert connection.getresponse().read()
    connection.request("DELETE", f"/v1/bridges/{FULL}/fdb")
    assert json.loads(connection.getresponse().read()) == {"flushed": 1}


def test_a_stream_tells_what_happens(url: str) -> None:
    with stream(url, "?kind=fdb.limit") as events:
        fill_and_flush(url)
        assert [next(events)["kind"] for _ in range(2)] == ["fdb.limit", "fdb.limit.cleared"]


def test_a_stream_tells_what_is_asked_for(url: str) -> None:
    with stream(url, f"?kind=fdb.limit.cleared&bridge={FULL}&severity=info") as events:
        fill_and_flush(url)
        assert next(events)["kind"] == "fdb.limit.cleared"


def test_a_stream_resumes(url: str) -> None:
    with stream(url, "?kind=fdb.limit") as events:
        fill_and_flush(url)
        first, second = next(events), next(events)
    for query, last in (
        ("?kind=fdb", str(first["number"])),
        (f"?kind=fdb&since={first['number']}", None),
    ):
        with stream(url, query, last) as events:
            assert next(events) == second


def test_a_number_of_an_earlier_controller_tells_everything(url: str) -> None:
    with stream(url, last="1000000") as events:
        assert next(events)["kind"] == "events.missed"
        assert next(events)["number"] == 1


def test_an_id_of_an_earlier_controller_tells_everything_although_there_are_more_events(
    url: str,
) -> None:
    with stream(url, last="abc-3") as events:
        assert next(events)["kind"] == "events.missed"
        assert next(events)["number"] == 1


def test_every_id_resumes_a_stream_that_of_its_beginning_too(url: str) -> None:
    def ids(last: str | None) -> Iterator[str]:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
        headers = {} if last is None else {"Last-Event-ID": last}
        connection.request("GET", "/v1/events/stream", headers=headers)
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"id: "):
                yield line[4:].decode().strip()

    begun = ids(None)
    start = next(begun)
    fill_and_flush(url)
    first, second = next(begun), next(begun)
    resumed = ids(start)
    assert [next(resumed) for _ in range(3)] == [start, first, second]
    resumed = ids(first)
    assert [next(resumed) for _ in range(2)] == [first, second]


def test_a_client_that_leaves_is_forgotten(url: str) -> None:
    """More clients than streams are allowed, one after the other."""
    deadline = time.monotonic() + 20
    for _ in range(streams_module.STREAMS + 10):
        with stream(url, "?since=0") as events:
            next(events)
        fill_and_flush(url)  # what is written to a closed connection tells that it is closed
    assert time.monotonic() < deadline
