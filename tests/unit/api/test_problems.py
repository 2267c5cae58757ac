"""Every error in a request is reported as a problem (RFC 9457)."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from ofapp.api import problems
from ofapp.api.app import create_app
from ofapp.bridge.event import ERROR, WARNING
from ofapp.bridge.problem import ProblemKind
from ofapp.controller.network import Network
from ofapp.controller.problems.acknowledged import Acknowledgement
from ofapp.controller.problems.problems import Listing, Standing
from tests.unit.api.network import DPID, mac

STATIC = f"/v1/bridges/{DPID}/fdb/0/{mac(99)}"
JSON = "application/json"


@pytest.mark.parametrize(
    ("method", "path", "request_", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/v1//bridges", {}, 404),
        ("GET", "/v1/bridges?x=1", {}, 422),
        ("POST", "/v1/bridges", {}, 405),
        ("PUT", STATIC, {"data": "{", "content_type": JSON}, 400),
        ("PUT", STATIC, {"data": b"\xff", "content_type": JSON}, 400),
        ("PUT", STATIC, {"data": "", "content_type": JSON}, 400),
        ("PUT", STATIC, {"data": "[" * 60_000, "content_type": JSON}, 400),
        ("PUT", STATIC, {"data": '{"port": "eth1"}'}, 415),
        (
            "PUT",
            STATIC,
            {"data": "port=eth1", "content_type": "application/x-www-form-urlencoded"},
            415,
        ),
        ("PUT", STATIC, {"json": ["eth1"]}, 422),
        ("PUT", STATIC, {"json": '{"port": "eth1"}'}, 422),
        ("PUT", STATIC, {"data": " " * 70_000 + "{}", "content_type": JSON}, 413),
    ],
)
def test_every_error_is_a_problem(
    client: Any, method: str, path: str, request_: dict[str, Any], status: int
) -> None:
    answer = client.open(path, method=method, **request_)
    assert answer.status_code == status, answer.text
    assert answer.content_type == "application/problem+json"
    problem = problems.Problem.model_validate(answer.json)
    assert problem.status == status
    assert problem.title
    assert problem.detail


@pytest.mark.parametrize("path", [("PUT", STATIC), ("POST", "/v1/tokens")])
@pytest.mark.parametrize(
    ("data", "status", "detail"),
    [
        (b"", 400, "the request has no body"),
        (b'{"port":\n "eth1",\n 1}', 400, "line 3, column 2: expecting property name"),
        (b'{"port": "eth1"} x', 400, "line 1, column 18: extra data"),
        (b'{"port": "\xe9"}', 400, "not UTF-8, at octet 11"),
        ('{"port": "eth1"}'.encode("utf-16"), 400, "not UTF-8, at octet 1"),
        (b'{"port": "eth1", "port": "eth2"}', 400, 'an object has the key "port" twice'),
        (b'{"port": {"a": 1, "a": 1}}', 400, 'an object has the key "a" twice'),
        (b'{"port": %s' % (b"[" * 30_000), 400, "more than 32 levels: line 1, column 41"),
        (b'{"port": %s1%s}' % (b"[" * 30_000, b"]" * 30_000), 400, "more than 32 levels"),
        (b'{"port": NaN}', 400, "NaN is not a number of JSON"),
        (b'{"port": %s}' % (b"1" * 5000), 400, "a number that is too long"),
        (b"null", 422, "the body must be a JSON object"),
    ],
)
def test_a_body_that_is_not_json_is_reported_where(
    client: Any, path: tuple[str, str], data: bytes, status: int, detail: str
) -> None:
    answer = client.open(path[1], method=path[0], data=data, content_type=JSON)
    assert (answer.status_code, detail in answer.json["detail"]) == (status, True), answer.text


def test_brackets_in_text_are_no_levels(client: Any) -> None:
    text = "[" * 60 + '"' + "{" * 60
    answer = client.patch(f"/v1/bridges/{DPID}/ports/eth1", json={"description": text})
    assert answer.status_code == 200


def test_an_encoded_body_is_refused_and_reported_why(client: Any) -> None:
    data = gzip.compress(b'{"port": "eth1"}')
    headers = {"Content-Encoding": "gzip"}
    answer = client.put(STATIC, data=data, content_type=JSON, headers=headers)
    assert (answer.status_code, answer.headers["Accept-Encoding"]) == (415, "identity")
    assert "without Content-Encoding" in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "field", "detail"),
    [
        ({"isolatd": True}, "isolatd", "there is no such key: did you mean isolated?"),
        ({"isolated": 7}, "isolated", "must be true or false, not 7"),
        ({"storm": {"broadcast": "x"}}, "storm.broadcast", "must be a whole number from 1 to"),
        ({"storm": {"broadcas": 1}}, "storm.broadcas", "did you mean broadcast?"),
        ({"storm": 5}, "storm", "must be an object, not 5"),
        ({"vlan": {"trunk": 1, "x": 2}}, "vlan.x", "there is no such key; there are access, trunk"),
        ({"vlan": 4095}, "vlan.access", "4095 is neither a VID, 1 to 4094, nor the name of a VLAN"),
        ({"over_limit": "burn"}, "over_limit", "must be flood or drop"),
        (
            {"description": "\ud800"},
            "description",
            "must be text without halves of surrogate pairs",
        ),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(
    client: Any, body: dict[str, Any], field: str, detail: str
) -> None:
    answer = client.patch(f"/v1/bridges/{DPID}/ports/eth1", json=body)
    assert answer.status_code == 422
    (fault,) = answer.json["errors"]
    assert detail in fault["detail"]
    assert fault["field"] == field


@pytest.mark.parametrize(
    ("path", "field", "detail"),
    [
        ("/v1/bridges?x=1", "x", "there is no such key"),
        ("/v1/bridges?=1", '""', "there is no such key"),
        ("/v1/events?kind=A", "kind", "must match ^"),
        ("/v1/fdb?vlan=5000", "vlan", "must be a whole number from 0 to 4094, not"),
        ("/v1/fdb?limit=x", "limit", "'x' is not a decimal number"),
        ("/v1/events?severity=loud", "severity", "must be debug, info, warning or error"),
    ],
)
def test_so_too_of_a_path_or_query(client: Any, path: str, field: str, detail: str) -> None:
    (fault,) = client.get(path).json["errors"]
    assert detail in fault["detail"]
    assert fault["field"] == field


def test_a_wrong_method_tells_the_right_ones(client: Any) -> None:
    assert "PUT" in client.post(STATIC).headers["Allow"]


def test_a_defect_is_a_problem_too_and_logged(
    client: Any, network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    network.bridges[1].ports = None  # type: ignore[assignment]
    answer = client.get("/v1/bridges")
    assert (answer.status_code, answer.content_type) == (500, "application/problem+json")
    assert "Traceback" in caplog.text


# Pages of others


@pytest.mark.parametrize("origin", ["http://example.com", "null", "http://localhost:3000"])
def test_a_foreign_page_changes_nothing(client: Any, origin: str) -> None:
    answer = client.put(STATIC, json={"port": "eth1"}, headers={"Origin": origin})
    assert (answer.status_code, answer.content_type) == (403, "application/problem+json")
    assert client.get(f"/v1/bridges/{DPID}/fdb?mac={mac(99)}").json["entries"] == []


def test_its_own_page_may_change_things(client: Any) -> None:
    answer = client.put(STATIC, json={"port": "eth1"}, headers={"Origin": "http://localhost"})
    assert answer.status_code == 201


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize(
    "host", ["rebound.example.com", "rebound.example.com:8080", "127.0.0.1.nip.io"]
)
def test_on_loopback_a_name_of_others_is_refused(client: Any, host: str, method: str) -> None:
    answer = client.open(f"/v1/bridges/{DPID}/fdb", method=method, headers={"Host": host})
    assert (answer.status_code, answer.content_type) == (421, "application/problem+json")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "[::1]", "127.0.0.1"]
)
def test_on_loopback_addresses_and_localhost_are_served(client: Any, host: str) -> None:
    assert client.get("/v1/bridges", headers={"Host": host}).status_code == 200


def test_elsewhere_any_name_is_served(network: Network) -> None:
    client = create_app(network, local_only=False).test_client()
    assert client.get("/v1/bridges", headers={"Host": "ctl.example.com"}).status_code == 200


def test_the_list_shows_what_stands_at_each_request(client: Any, network: Network) -> None:
    def shown(query: str = "") -> list[str]:
        listed = client.get(f"/v1/problems{query}").json
        assert listed["left_out"] == network.problems.listing.left_out
        return [each["message"] for each in listed["problems"]]

    bad = ProblemKind("test.bad", ERROR, "Bad.", "See.", "It ends.")
    odd = ProblemKind("test.odd", WARNING, "Odd.", "See.", "It ends.")
    first = Standing("0000000a", bad, None, "controller", "", "bad", "", 0.0, {}, None)
    seen = Acknowledgement("ann", 1.0, "", None)
    second = Standing("0000000b", odd, None, "controller", "", "odd", "", 0.0, {}, seen)
    assert shown() == []
    network.problems.listing = Listing((first, second), 3)
    assert shown() == shown() == ["bad", "odd"]
    assert shown("?severity=error") == shown("?acknowledged=false") == ["bad"]
    network.problems.listing = Listing((second,), 0)
    assert (shown(), shown("?severity=error")) == (["odd"], [])
