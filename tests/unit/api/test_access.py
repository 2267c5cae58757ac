"""Which role may do what, over the routes: who has none gets nowhere."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from flask import Flask, Response

from ofapp.api.app import create_app
from ofapp.api.http.connection_limiter import CONNECTION, Connection
from ofapp.api.roles import role_of
from ofapp.controller.access import User, UserRole
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, STATIC, mac

IDS = {
    "dpid": DPID,
    "port": "eth2",
    "vlan": "7",
    "mac": STATIC,
    "group": "239.1.1.1",
    "name": "viewer",
    "lag": "bond0",
    "member": "m1",
    "address": "10.0.0.9",
    "fabric": "mesh",
    "id": "00000000",
    "number": "1",
}
"""The objects: with these no answer is a 404 for want of a bridge or a port."""

ADMINS = {
    ("DELETE", "/v1/bridges"),
    ("DELETE", "/v1/bridges/<dpid>"),
    ("POST", "/v1/config/reload"),
    ("POST", "/v1/config/plan"),
    ("POST", "/v1/config/push"),
    ("GET", "/v1/config/versions/<number>"),
    ("GET", "/v1/config/difference"),
    ("POST", "/v1/config/versions/<number>/rollback"),
    ("GET", "/v1/tokens"),
    ("GET", "/v1/recording"),
    ("POST", "/v1/tokens"),
    ("DELETE", "/v1/tokens/<name>"),
    ("POST", "/v1/cluster/members/<member>/drain"),
    ("POST", "/v1/cluster/members/<member>/undrain"),
}
READERS = {("POST", "/v1/session"), ("DELETE", "/v1/session"), ("POST", "/v1/what-if")}
OPEN = {
    *("/healthz", "/readyz", "/", "/page/<path:name>", "/guide/", "/guide/<path:name>"),
    *("/lab/", "/lab/<path:name>"),
}
ENDLESS = "/v1/events/stream"


@pytest.fixture
def app(network: Network) -> Any:
    return create_app(network)


@pytest.fixture
def secrets(network: Network) -> dict[UserRole, str]:
    """A token of each role, called as that."""
    tokens = network.access.tokens
    return {
        role: tokens.create(str(role), role, "root", 0.0)[0]
        for role in (UserRole.VIEWER, UserRole.OPERATOR, UserRole.ADMIN)
    }


def routes(app: Flask) -> list[tuple[str, str]]:
    """(method, rule) of all there are."""
    return [
        (method, rule.rule)
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def url(rule: str) -> str:
    for name, value in IDS.items():
        rule = rule.replace(f"<{name}>", value).replace(f"<path:{name}>", value)
    assert "<" not in rule
    return rule


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_every_route_declares_a_role(app: Flask) -> None:
    """A new route has @viewer, @operator or @admin above its view."""
    undeclared = [
        rule.rule
        for rule in app.url_map.iter_rules()
        if role_of(app.view_functions[rule.endpoint]) is None
    ]
    assert not undeclared


def test_a_route_that_declares_none_is_closed_to_everybody(app: Flask) -> None:
    app.add_url_rule("/forgotten", view_func=lambda: Response("secret"))
    answer = app.test_client().get("/forgotten")
    assert answer.status_code == 403
    assert "secret" not in answer.text


def test_a_role_may_do_what_it_says_and_no_more(app: Flask, secrets: dict[UserRole, str]) -> None:
    client = app.test_client(use_cookies=False)
    for (method, rule), role in itertools.product(routes(app), secrets):
        if rule == ENDLESS:
            continue
        needed = (
            UserRole.VIEWER if method == "GET" or (method, rule) in READERS else UserRole.OPERATOR
        )
        needed = UserRole.ADMIN if (method, rule) in ADMINS else needed
        needed = UserRole.ANYBODY if rule in OPEN else needed
        if needed <= role and (method, rule) == ("DELETE", "/v1/tokens/<name>"):
            continue  # it would end the walk of the viewer
        answer = client.open(url(rule), method=method, headers=bearer(secrets[role]))
        refused = answer.status_code in (401, 403)
        assert refused == (role < needed), (method, rule, role, answer.text)


def test_who_is_not_known_learns_nothing_not_even_what_there_is(
    app: Flask, secrets: dict[UserRole, str]
) -> None:
    client = app.test_client()
    closed = [(method, rule) for method, rule in routes(app) if rule not in OPEN]
    for method, rule in [*closed, ("GET", "/nothing/here"), ("PUT", "/v1/bridges")]:
        for headers in ({}, {"Authorization": "Basic YTpi"}, {"Cookie": "ofapp_session_80=x"}):
            answer = client.open(url(rule), method=method, headers=headers)
            assert answer.status_code in (401, 429), (method, rule, answer.text)
            if rule != "/docs":  # which a person reads
                assert answer.content_type == "application/problem+json"
    assert client.get("/v1/bridges").headers["WWW-Authenticate"].startswith("Bearer")


def test_two_tokens_in_one_request_are_none(app: Flask, secrets: dict[UserRole, str]) -> None:
    both = f"Bearer {secrets[UserRole.ADMIN]},Bearer {secrets[UserRole.VIEWER]}"
    assert app.test_client().get("/v1/fdb", headers={"Authorization": both}).status_code == 401


def test_while_it_is_open_nobody_makes_a_key_for_later(app: Flask, network: Network) -> None:
    client = app.test_client()
    body = {"name": "mine", "role": "admin"}
    assert client.post("/v1/tokens", json=body).status_code == 403
    assert client.get("/v1/tokens").status_code == 403
    assert not network.access.closed


def at_socket(uid: int) -> dict[str, Any]:
    return {CONNECTION: Connection(None, f"uid {uid}", User(uid))}


def test_root_makes_and_revokes_tokens_over_the_socket(app: Flask, network: Network) -> None:
    client = app.test_client()
    body = {"name": "ops", "role": "operator", "expires_in": 60}
    made = client.post("/v1/tokens", json=body, environ_overrides=at_socket(0))
    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    assert made.json["closes"]
    assert client.post("/v1/tokens", json=body, environ_overrides=at_socket(0)).status_code == 409
    path = f"/v1/bridges/{DPID}/fdb/0/{mac(99)}"
    headers = bearer(made.json["token"])
    assert client.put(path, json={"port": "eth2"}, headers=headers).status_code == 201
    assert client.put(path, json={"port": "eth3"}, headers=headers).status_code in (200, 201)
    (listed,) = client.get("/v1/tokens", environ_overrides=at_socket(0)).json["tokens"]
    assert (listed["name"], listed["creator"], listed["used_from"]) == ("ops", "root", "127.0.0.1")
    gone = client.delete("/v1/tokens/ops", environ_overrides=at_socket(0))
    assert gone.status_code == 204
    assert client.get("/v1/fdb", headers=headers).status_code == 401
    trail = [
        record.event.message for record in network.events.since(0) if "audit" in record.event.kind
    ]
    assert "token ops: none -> operator" in trail[0]
    assert trail[1].startswith("token ops (operator) from 127.0.0.1: PUT /v1/bridges/")
    assert trail[1].endswith(f"static entry {mac(99)} in VLAN 0: none -> eth2")
    assert trail[2].endswith("eth2 -> eth3")
    assert trail[3].endswith("token ops: operator -> none")
    client.post("/v1/tokens", json=body, environ_overrides=at_socket(0))
    path = "/v1/tokens/ops?open=true"
    assert client.delete(path, environ_overrides=at_socket(0)).status_code == 204
    assert client.get("/v1/fdb").status_code == 200
    assert made.json["token"] not in "".join(map(str, network.events.since(0)))


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a b", "role": "viewer"},
        {"name": "x", "role": "root"},
        {"name": "x"},
        {"name": "x", "role": "viewer", "expires_in": 0},
        {"name": "x", "role": "viewer", "expires_in": True},
        {"name": "../x", "role": "viewer"},
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(app: Flask, body: Any, network: Network) -> None:
    answer = app.test_client().post("/v1/tokens", json=body, environ_overrides=at_socket(0))
    assert answer.status_code == 422
    assert not network.access.closed


# --- sessions of a browser

OWN = {"Origin": "http://localhost"}


@pytest.fixture
def page(app: Flask, secrets: dict[UserRole, str]) -> Any:
    """A client that has logged in as an operator."""
    client = app.test_client()
    answer = client.post("/v1/session", headers=bearer(secrets[UserRole.OPERATOR]))
    assert answer.status_code == 201
    assert answer.json["session"]
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    return client


def test_a_session_reads_and_its_own_page_changes(page: Any) -> None:
    assert page.get("/v1/session").json["role"] == "operator"
    path = f"/v1/bridges/{DPID}/fdb/0/{mac(99)}"
    assert page.put(path, json={"port": "eth2"}, headers=OWN).status_code == 201
    assert page.delete("/v1/bridges/" + DPID, headers=OWN).status_code == 403


@pytest.mark.parametrize("headers", [{}, {"Origin": "null"}, {"Origin": "http://evil.example"}])
def test_no_other_page_changes_anything_with_it(page: Any, headers: dict[str, str]) -> None:
    """A browser says whose page it is whenever something is to change (fetch, 3.2)."""
    assert page.delete(f"/v1/bridges/{DPID}/fdb", headers=headers).status_code == 403
    assert page.get(f"/v1/bridges/{DPID}/fdb").json["entries"]


def test_it_ends_by_logging_out(page: Any) -> None:
    key = page.get_cookie("ofapp_session_80").value
    assert page.delete("/v1/session", headers=OWN).status_code == 204
    assert page.get("/v1/session").status_code == 401
    page.set_cookie("ofapp_session_80", key)
    assert page.get("/v1/session").status_code == 401


def test_nobody_chooses_the_key_of_a_session(app: Flask, secrets: dict[UserRole, str]) -> None:
    """Session fixation: what the browser had before counts neither before nor after the login."""
    client = app.test_client()
    client.set_cookie("ofapp_session_80", "chosen")
    client.post("/v1/session", headers=bearer(secrets[UserRole.VIEWER]))
    assert client.get_cookie("ofapp_session_80").value != "chosen"
    other = app.test_client()
    other.set_cookie("ofapp_session_80", "chosen")
    assert other.get("/v1/session").status_code == 401


def test_a_session_does_not_beget_another(page: Any) -> None:
    assert page.post("/v1/session", headers=OWN).status_code == 409


def test_a_session_makes_nothing_that_outlives_it(app: Flask, secrets: dict[UserRole, str]) -> None:
    """A browser's session that is stolen must not leave a token behind."""
    client, token = app.test_client(), bearer(secrets[UserRole.ADMIN])
    client.post("/v1/session", headers=token)
    assert client.get("/v1/session").json["role"] == "admin"
    new = {"name": "kept", "role": "admin"}
    refused = client.post("/v1/tokens", json=new, headers=OWN)
    assert (refused.status_code, "send the token again" in refused.json["detail"]) == (403, True)
    assert client.delete("/v1/tokens/viewer", headers=OWN).status_code == 403
    assert client.get("/v1/tokens").status_code == 200
    assert client.post("/v1/tokens", json=new, headers=OWN | token).status_code == 201
    assert client.delete("/v1/tokens/kept", headers=OWN | token).status_code == 204


def test_each_port_and_scheme_has_a_cookie_of_its_own(
    app: Flask, secrets: dict[UserRole, str]
) -> None:
    """Browsers send a host's cookies to all its ports: two controllers would end each other's
    sessions."""
    client = app.test_client()
    for at, name in (
        ("http://localhost:8080", "ofapp_session_8080"),
        ("http://localhost:8081", "ofapp_session_8081"),
        ("http://[::1]", "ofapp_session_80"),
        ("https://localhost", "__Host-ofapp_session_443"),
        ("https://localhost:8443", "__Host-ofapp_session_8443"),
    ):
        begun = client.post("/v1/session", headers=bearer(secrets[UserRole.VIEWER]), base_url=at)
        cookie = begun.headers["Set-Cookie"]
        assert cookie.startswith(f"{name}=")
        assert ("Secure" in cookie) == at.startswith("https")
        assert ("Path=/" in cookie, "Domain" in cookie) == (True, False)
        assert client.get("/v1/session", base_url=at).json["session"]
    begun = client.delete("/v1/session", headers={"Origin": at}, base_url=at)
    assert begun.headers["Set-Cookie"].startswith(f"{name}=;")
    assert client.get("/v1/session", base_url=at).status_code == 401
    assert client.get("/v1/session", base_url="http://localhost:8080").json["session"]
