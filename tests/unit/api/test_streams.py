"""Streams of events are bounded by token first, then by address, then for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from ofapp.api.http import streams as module
from ofapp.api.http.bounds import Party
from ofapp.api.http.streams import OF_ADDRESS, OF_TOKEN, Beginning, Streams
from ofapp.api.problems import ProblemError
from ofapp.controller.events import EventLog
from tests.support.waiting import wait_for
from tests.unit.api import live


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Iterator[Streams]:
    monkeypatch.setattr(module, "GLANCE", 0.001)
    made = Streams()
    yield made
    made.stopping = True


def kinds(events: EventLog) -> list[str]:
    return [record.event.kind for record in events.since(0)]


def test_bounds(streams: Streams) -> None:
    events = EventLog()

    def open_(name: str, peer: str, count: int) -> list[Iterator[str]]:
        made = []
        for _ in range(count):
            own = Party(name, peer)
            streams.bounds.check(events, own)
            made.append(streams.follow(events, own, Beginning(0)))
            next(made[-1])
        return made

    def refused(name: str, peer: str) -> str:
        with pytest.raises(ProblemError) as error:
            streams.bounds.check(events, Party(name, peer))
        assert (error.value.status, "Retry-After" in error.value.headers) == (503, True)
        return error.value.detail

    first = open_("token a", "192.0.2.1", OF_TOKEN)
    assert "token a has 16 streams" in refused("token a", "192.0.2.1")
    assert "token a has 16 streams" in refused("token a", "192.0.2.2")
    second = open_("token b", "192.0.2.1", OF_ADDRESS - OF_TOKEN)
    assert "192.0.2.1 has 32 streams" in refused("token c", "192.0.2.1")
    others = open_("token d", "192.0.2.2", OF_TOKEN) + open_("token e", "192.0.2.3", OF_TOKEN)
    assert "there are 64 streams" in refused("token f", "192.0.2.4")
    assert streams.bounds.refused == {"token": 2, "address": 1, "all": 1}
    assert kinds(events) == ["api.streams.full"] * 3
    first.pop().close()
    assert kinds(events)[3:] == ["api.streams.full.cleared"] * 3
    open_("token a", "192.0.2.1", 1)[0].close()
    for one in (*first, *second, *others):
        one.close()
    assert not streams.bounds.open
    assert kinds(events)[3:] == ["api.streams.full.cleared"] * 3


def test_one_token_leaves_streams_and_connections_to_the_others() -> None:
    with live.closed() as (url, tokens), ExitStack() as stack:

        def follow(role: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            client = stack.enter_context(httpx.Client(headers=headers, trust_env=False, timeout=20))
            return stack.enter_context(client.stream("GET", f"{url}/v1/events/stream"))

        def get(role: str, path: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            return httpx.get(f"{url}{path}", headers=headers, trust_env=False, timeout=20)

        answers = [follow("viewer") for _ in range(64)]
        codes = [answer.status_code for answer in answers]
        assert codes == [200] * OF_TOKEN + [503] * (64 - OF_TOKEN)
        assert follow("operator").status_code == 200
        assert get("viewer", "/v1/bridges").status_code == 200
        metrics = get("viewer", "/metrics").text
        assert 'ofapp_api_streams_refused_total{bound="token"} 48.0' in metrics
        assert f"ofapp_api_streams {OF_TOKEN + 1}.0" in metrics
        answers[0].close()  # the server notices without having anything to send
        wait_for(lambda: follow("viewer").status_code == 200, "room for another", seconds=20)
        (full,) = get("viewer", "/v1/events?kind=api.streams.full").json()["events"][:1]
        assert "the most of one token" in full["message"]
