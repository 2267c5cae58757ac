"""The server under clients that are slow, many or silent."""

from __future__ import annotations

import http.client
import json
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from ofapp.api.http.server import ApiAddress, ApiServer
from ofapp.common import hub
from tests.unit.api.network import DPID, empty_network


def get(url: str, path: str = "/v1/bridges") -> float:
    """Seconds until the answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    started = time.monotonic()
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 200
    json.loads(answer.read())
    connection.close()
    return time.monotonic() - started


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /v1/bridges HTTP/1.1\r\n",
        f"PUT /v1/bridges/{DPID}/fdb/0/52:54:00:00:00:99 HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode(),
    ],
    ids=["silent", "half a header", "half a body"],
)
def test_slow_clients_hold_up_nobody(url: str, sent: bytes) -> None:
    parts = urlsplit(url)
    with ExitStack() as stack:
        for _ in range(50):
            slow = stack.enter_context(socket.create_connection((parts.hostname, parts.port)))
            slow.sendall(sent)
        assert get(url) < 2


def test_a_client_that_does_not_read_holds_up_nobody(url: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port)) as lazy:
        lazy.sendall(b"GET /v1/bridges HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        assert get(url) < 2


def test_one_connection_takes_many_requests(url: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    for _ in range(3):
        connection.request("GET", "/v1/bridges")
        assert len(json.loads(connection.getresponse().read())["bridges"]) == 2
    own = connection.sock.getsockname()
    connection.request("GET", "/v1/bridges")
    connection.getresponse().read()
    assert connection.sock.getsockname() == own
    connection.close()


def test_the_servers_own_options_and_uris_are_answered(url: str) -> None:
    """RFC 9110, 9.3.7, and RFC 9112, 3.2.2."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    for method, target, status in (
        ("OPTIONS", "*", 204),
        ("GET", f"{url}/v1/bridges", 200),
        ("OPTIONS", "*", 204),
    ):
        connection.request(method, target)
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (status, status == 200)
    assert "PATCH" in (answer.getheader("Allow") or "")
    connection.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_it_listens_where_it_is_reported_and_no_longer_when_stopped(host: str) -> None:
    server = ApiServer(empty_network(), ApiAddress(host, 0))
    server.start()
    try:
        hub.sleep(0)
        socket.create_connection((host, server.port), timeout=5).close()
        with pytest.raises(OSError, match=r"in use"):
            ApiServer(empty_network(), ApiAddress(host, server.port)).start()
    finally:
        server.stop()
    hub.sleep(0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, server.port), timeout=5)
