"""Answers that have not changed, and long ones."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from ofapp.controller.network import Network
from tests.unit.api.network import DPID, learn, mac


@pytest.mark.parametrize(
    "path", ["/openapi.json", "/v1/config", "/v1/bridges", "/v1/bridges/br0", "/v1/events"]
)
@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_what_has_not_changed_is_not_sent_again(client: Any, path: str, coding: str) -> None:
    tag = client.get(path).headers["ETag"]
    again = client.get(path, headers={"If-None-Match": tag, "Accept-Encoding": coding})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    other = client.get(path, headers={"If-None-Match": 'W/"other"'})
    assert (other.status_code, other.headers["ETag"]) == (200, tag)


def test_what_has_changed_is_sent(client: Any) -> None:
    tag = client.get("/v1/config").headers["ETag"]
    changed = client.patch(f"/v1/bridges/{DPID}/ports/eth1", json={"isolated": True})
    assert (changed.status_code, "ETag" in changed.headers) == (200, False)
    answer = client.get("/v1/config", headers={"If-None-Match": tag})
    assert answer.status_code == 200
    assert "isolated" in answer.text


def test_a_page_is_of_its_moment(client: Any) -> None:
    headers = client.get("/v1/fdb").headers
    assert (headers.get("ETag"), headers["Cache-Control"]) == (None, "no-store")


def test_who_accepts_it_gets_long_answers_compressed(
    client: Any, network: Network, bridge: Any
) -> None:
    learn(network, bridge, *((1, 9, mac(number)) for number in range(5000)))
    path = f"/v1/bridges/{DPID}/fdb?limit=10000&vlan=9"
    packed = client.get(path, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert int(packed.headers["Content-Length"]) == len(packed.data)
    answer = json.loads(gzip.decompress(packed.data))
    plain = client.get(path)
    assert len(packed.data) * 5 < len(plain.data)
    assert len(answer["entries"]) == len(plain.json["entries"]) == 5001


@pytest.mark.parametrize("accepted", [None, "identity", "gzip;q=0", "br"])
def test_nobody_else_does(client: Any, accepted: str | None) -> None:
    headers = {} if accepted is None else {"Accept-Encoding": accepted}
    answer = client.get("/openapi.json", headers=headers)
    assert "Content-Encoding" not in answer.headers
    assert answer.json["openapi"]


def test_short_answers_are_not_compressed(client: Any) -> None:
    answer = client.get("/v1/version", headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.headers.get("Content-Encoding")) == (200, None)


@pytest.mark.parametrize("path", ["/", "/docs", "/metrics", "/healthz", "/nothing", "/v1/fdb?x=1"])
def test_no_answer_is_taken_for_something_else(client: Any, path: str) -> None:
    """Over TLS browsers are asked to use no other scheme any more."""
    for at, insisted in (("http://localhost", None), ("https://localhost", "max-age=31536000")):
        headers = client.get(path, base_url=at).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers.get("Strict-Transport-Security") == insisted
