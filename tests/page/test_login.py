"""A user without a session sees a login; a token makes a session, which no script can read."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.page.browser import Browser, browser, until
from tests.support.controller import Controller


class OverSocket(http.client.HTTPConnection):
    """HTTP on a UNIX socket, where root is known."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def token(controller: Controller, name: str, role: str) -> str:
    """A new one."""
    with closing(OverSocket(controller.dir / "state" / "api.sock")) as connection:
        body = json.dumps({"name": name, "role": role})
        connection.request("POST", "/v1/tokens", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 201
        return str(json.load(answer)["token"])


@pytest.fixture(scope="module")
def closed() -> Iterator[Controller]:
    """A manager whose API asks everybody who they are."""
    controller = Controller(options=("--api-auth", "required"))
    controller._options += ("--api-socket", str(controller.dir / "state" / "api.sock"))
    with closing(controller):
        controller.start()
        yield controller


@pytest.fixture
def visitor(closed: Controller) -> Iterator[Browser]:
    """A user with an empty browser."""
    with browser(f"http://127.0.0.1:{closed.api_port}/") as visitor:
        yield visitor


def log_in(visitor: Browser, secret: str) -> None:
    visitor.type("#token", secret)
    visitor.click("button", "Log in")


def test_from_the_login_to_the_page_and_out_again(closed: Controller, visitor: Browser) -> None:
    secret = token(closed, "ops", "operator")
    visitor.open()
    visitor.reads("requires a login", "ofapp token create")
    assert "Map" not in visitor.text
    log_in(visitor, "nonsense")
    visitor.reads("there is no such token")
    log_in(visitor, secret)
    visitor.reads("token ops, operator", "No switch has connected yet", "live")
    assert visitor.js("return document.cookie") == ""
    kept = visitor.js("return JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert secret not in kept
    (cookie,) = visitor.driver.get_cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    visitor.driver.refresh()
    visitor.reads("token ops, operator")
    visitor.click("button", "Log out")
    visitor.reads("requires a login")
    assert visitor.driver.get_cookies() == []
    visitor.complaints()


def test_a_session_that_ends_leads_to_the_login(closed: Controller, visitor: Browser) -> None:
    secret = token(closed, "soon", "viewer")
    visitor.open("#/config")
    visitor.reads("Log in")
    log_in(visitor, secret)
    visitor.reads("token soon, viewer", "Configuration")
    assert "Reload…" not in visitor.text  # that is for admins
    with closing(OverSocket(closed.dir / "state" / "api.sock")) as connection:
        connection.request("DELETE", "/v1/tokens/soon")
        assert connection.getresponse().status == 204
    visitor.open("#/events")
    visitor.reads("requires a login")
    until(lambda: "soon" not in visitor.text, "the name to go")
