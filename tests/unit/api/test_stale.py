"""A member of a cluster that etcd does not answer says so, and takes no credentials."""

from __future__ import annotations

import time
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from ofapp.api.app import create_app
from ofapp.common import hub
from ofapp.controller.access import Credentials, UserRole
from ofapp.controller.network import Network
from ofapp.osken.server import SwitchServer
from tests.unit.api.network import DPID
from tests.unit.api.test_access import ENDLESS, bearer, routes, url

WHY = "etcd does not answer"
LOCAL = {
    "/",
    "/docs",
    "/docs/<name>",
    "/guide/",
    "/guide/<path:name>",
    "/healthz",
    "/lab/",
    "/lab/<path:name>",
    "/metrics",
    "/openapi.json",
    "/page/<path:name>",
    "/v1/cluster",
    "/v1/events",
    "/v1/events/kinds",
    "/v1/problems/kinds",
    "/v1/recording",
    "/v1/session",
    "/v1/vendors",
    "/v1/version",
}


@pytest.fixture
def app(network: Network, monkeypatch: pytest.MonkeyPatch) -> Flask:
    monkeypatch.setattr(network.access, "stale", lambda: WHY)
    monkeypatch.setattr(SwitchServer, "listening", hub.Event())
    SwitchServer.listening.set()
    return create_app(network)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def test_what_may_be_old_is_not_answered(app: Flask, client: FlaskClient) -> None:
    answered = set()
    for method, rule in routes(app):
        if rule == ENDLESS:
            continue
        reply = client.open(url(rule), method=method)
        if reply.status_code == 503:
            assert reply.headers["Retry-After"] == "1", rule
            assert WHY in reply.json["detail"], rule
        else:
            assert method == "GET", rule
            answered.add(rule)
    assert answered == LOCAL


def test_it_is_not_ready(client: FlaskClient) -> None:
    assert client.get("/readyz").status_code == 503


def test_nothing_changes(network: Network, client: FlaskClient) -> None:
    before = network.running.of(int(DPID, 16))
    reply = client.patch(f"/v1/bridges/{DPID}/ports/eth1", json={"isolated": True})
    assert reply.status_code == 503
    assert "in force" not in reply.json["detail"]
    assert network.running.of(int(DPID, 16)) == before


def test_no_credentials_count(network: Network, app: Flask, client: FlaskClient) -> None:
    secret: Any = network.access.tokens.create("ops", UserRole.ADMIN, "root", 0.0)[0]
    for path in ("/v1/cluster", "/v1/events", "/metrics", "/v1/bridges"):
        reply = client.get(path, headers=bearer(secret))
        assert (reply.status_code, reply.headers["Retry-After"]) == (503, "1")
        assert "unknown now whether a token was revoked" in reply.json["detail"]
        assert client.get(path, headers=bearer("ofapp_wrong")).status_code == 503
    assert client.get("/healthz", headers=bearer(secret)).status_code == 200
    assert client.get("/healthz").status_code == 200


def test_a_stream_of_a_token_ends(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    access = network.access
    secret = access.tokens.create("ops", UserRole.ADMIN, "root", 0.0)[0]
    stale = ""
    monkeypatch.setattr(access, "stale", lambda: stale)
    caller = access.identify(Credentials("here", "here", bearer=secret))
    assert access.still(caller)
    stale = WHY
    assert not access.still(caller)
    assert not access.failures.limited("here", time.monotonic())
