"""Many clients, late ones, and no descriptors left: the API goes on."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from eventlet import patcher

from ofapp.api.http import connection_limiter as module
from ofapp.api.http.connection_limiter import (
    CONNECTIONS,
    PEER_CONNECTIONS,
    Connection,
    ConnectionLimiter,
    Stage,
)
from ofapp.api.http.server import ApiAddress, ApiServer
from ofapp.api.problems import Problem
from ofapp.common import hub
from ofapp.controller.events import EventLog
from tests.support.waiting import wait_for
from tests.unit.api.network import DPID, some_network


class Server:
    """One in this process: its clients must not block, as they would not be served."""

    def __init__(self) -> None:
        self.network = some_network()
        self.api = ApiServer(self.network, ApiAddress("127.0.0.1", 0))
        self.api.start()
        self.stack = ExitStack()

    def connect(self, host: str = "127.0.0.1", sent: bytes = b"GET /v1/bri") -> Any:
        made = hub.socket.create_connection(("127.0.0.1", self.api.port), 20, (host, 0))
        self.stack.callback(made.close)
        made.sendall(sent)
        return made

    def get(self, path: str = "/v1/bridges", host: str = "127.0.0.1") -> Any:
        return json.loads(self.text(path, host))

    def text(self, path: str, host: str = "127.0.0.1") -> str:
        made = self.connect(host, f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        said = b""
        while data := made.recv(65536):
            said += data
        head, _, body = said.partition(b"\r\n\r\n")
        assert b"200 OK" in head, said
        return body.decode()

    def kinds(self) -> list[str]:
        return [record.event.kind for record in self.network.events.since(0)]

    def wait_for(self, true: Callable[[], Any], what: str) -> None:
        wait_for(true, what, seconds=30, sleep=hub.sleep)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    with made.stack:
        yield made
        made.api.stop()
    hub.sleep(0)


def ended(client: Any) -> bool:
    """Whether the server has ended a connection, after any answer."""
    client.settimeout(0.01)
    try:
        while client.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_half_open_clients_of_many_peers_shut_nobody_out(server: Server) -> None:
    clients = [server.connect(f"127.0.1.{number % 8 + 1}") for number in range(CONNECTIONS + 20)]
    assert len(server.get()["bridges"]) == 2
    assert "api.crowded" in server.kinds()
    server.wait_for(lambda: all(map(ended, clients[:20])), "the first of them to be ended")
    assert 'ofapp_api_connections_ended_total{why="displaced"}' in server.text("/metrics")
    assert not any(map(ended, clients[-40:]))


def test_nor_do_those_of_one_peer(server: Server) -> None:
    other = server.connect("127.0.2.1")
    clients = [server.connect() for _ in range(2 * PEER_CONNECTIONS)]
    assert len(server.get()["bridges"]) == 2
    assert len(server.get(host="127.0.3.1")["bridges"]) == 2
    server.wait_for(lambda: all(map(ended, clients[:PEER_CONNECTIONS])), "the first to be ended")
    assert not ended(other)
    for client in clients:
        client.close()
    server.wait_for(lambda: "api.crowded.cleared" in server.kinds(), "room to be told")


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET /v1/bridges HTTP/1.1\r\nHost: lo", b"408 Request Timeout"),
        (
            f"PUT /v1/bridges/{DPID}/fdb/0/52:54:00:00:00:99 HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode(),
            b"408 Request Timeout",
        ),
    ],
    ids=["nothing", "a header", "a body"],
)
def test_a_request_has_a_deadline_as_a_whole(
    server: Server, monkeypatch: pytest.MonkeyPatch, sent: bytes, answer: bytes
) -> None:
    monkeypatch.setattr(module, "_LOOK", 0.02)
    for stage in Stage:
        monkeypatch.setattr(stage, "_value_", 0.3)
    client = server.connect(sent=sent)
    began = time.monotonic()
    client.settimeout(0.05)
    said = None
    while said is None:
        try:
            client.send(b" ")
            said = client.recv(1000)
        except TimeoutError:
            assert time.monotonic() - began < 20
        except ConnectionError:
            said = b""
    assert answer in said or said == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /v1/fdb?mac=%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"x" * 9000), 414),
        (b"GET /v1/fdb?mac=%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"x" * 40_000), 414),
        (b"GET /v1/fdb HTTP/1.1\r\nX: %s\r\n\r\n" % (b"x" * 9000), 431),
        (b"GET /v1/fdb HTTP/1.1\r\n%s\r\n" % (b"X: %s\r\n" % (b"x" * 7000) * 12), 431),
        (b"GET /v1/fdb HTTP/1.1 and more\r\n\r\n", 400),
        (b"GET /v1/fdb HTTP/7.1\r\n\r\n", 505),
        (b"GET /v1/fdb HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
        (b"PUT /v1/fdb HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n{", 413),
        (b"GET /v1/fdb HTTP/1.1\nHost: localhost\r\n\r\n", 400),
    ],
    ids=["line", "long line", "header", "headers", "words", "version", "length", "body", "LF"],
)
def test_what_is_no_request_is_answered_as_other_errors_are(
    server: Server, sent: bytes, status: int
) -> None:
    client = server.connect(sent=sent)
    client.settimeout(20)
    said = b""
    while data := client.recv(65536):
        said += data
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Type: application/problem+json" in head
    problem = Problem.model_validate_json(body)
    assert (problem.status, bool(problem.detail)) == (status, True)
    assert len(server.get()["bridges"]) == 2


def test_a_body_that_comes_in_pieces_is_read(server: Server) -> None:
    body = b'{"port": "eth2"}'
    client = server.connect(
        sent=f"PUT /v1/bridges/{DPID}/fdb/0/52:54:00:00:00:99 HTTP/1.1\r\nHost: localhost\r\n"
        f"Expect: 100-continue\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
    )
    assert b"100 Continue" in client.recv(1000)
    for at in range(len(body)):
        client.sendall(body[at : at + 1])
        hub.sleep(0)
    assert b"201 CREATED" in client.recv(10_000)


def say(server: Server, sent: bytes) -> bytes:
    """All that is answered until the server ends the connection."""
    client = server.connect(sent=sent)
    client.settimeout(20)
    said = b""
    while data := client.recv(65536):
        said += data
    return said


def test_requests_that_come_together_let_others_go_on_in_between(server: Server) -> None:
    turns = 0

    def tick() -> None:
        nonlocal turns
        while True:
            hub.sleep(0)
            turns += 1

    get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = get.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    ticking = hub.spawn(tick)
    client = server.connect(sent=b"")
    client.sendall(get * 150 + last)
    turns = 0
    said = client.recv(1 << 20)
    while data := client.recv(1 << 20):
        said += data
    hub.kill(ticking)
    assert said.count(b"200 OK") == 151
    assert turns >= 150


HEAD = f"PUT /v1/bridges/{DPID}/fdb/0/52:54:00:00:00:99 HTTP/1.1\r\nHost: localhost\r\n".encode()
JSON = b"Content-Type: application/json\r\n"
CHUNKED = JSON + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_chunked_body_is_read(server: Server) -> None:
    said = say(server, HEAD + CHUNKED + b'7\r\n{"port"\r\n9;x=y\r\n: "eth2"}\r\n0\r\nA: b\r\n\r\n')
    assert b"201 CREATED" in said
    assert server.get(f"/v1/bridges/{DPID}/fdb?mac=52:54:00:00:00:99")["entries"]


def test_requests_one_after_the_other_are_answered_one_after_the_other(server: Server) -> None:
    body = b'{"port": "eth2"}'
    put = HEAD + JSON + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = say(server, put + get + get.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert [said.count(b"201 CREATED"), said.count(b"200 OK")] == [1, 2]
    said = say(server, get + b"GET / HTTP/1.1\r\n\r\n" + put)
    assert [said.count(b"200 OK"), said.count(b"HTTP/1.1 400"), said.count(b"HTTP/")] == [1, 1, 2]


def test_a_stream_may_take_as_long_as_it_likes() -> None:
    guest = Connection(None, "192.0.2.1", since=0.0)
    assert guest.late(31.0)
    guest.enter(Stage.ANSWER, {})
    assert guest.late(time.monotonic() + 61)
    guest.enter(Stage.ANSWER, {module.LASTING: True})
    assert not guest.late(time.monotonic() + 1e6)


def test_one_ipv6_network_is_one_peer() -> None:
    assert module.peer_of("2001:db8::1") == module.peer_of("2001:db8::ffff:1")
    assert module.peer_of("2001:db8::1") != module.peer_of("2001:db8:0:1::1")
    assert module.peer_of("::1") == "::1"
    assert module.peer_of("192.0.2.1") != module.peer_of("192.0.2.2")


def test_when_descriptors_are_out_it_waits_for_some_and_tells(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "RETRY_SECONDS", 0.05)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert len(server.get()["bridges"]) == 2
    client = hub.socket.socket()
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    with client:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
        fillers = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    fillers.append(os.open("/dev/null", os.O_RDONLY))
            client.connect(("127.0.0.1", server.api.port))
            server.wait_for(lambda: "api.starved" in server.kinds(), "the trouble to be told")
        finally:
            for filler in fillers:
                os.close(filler)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(server.get()["bridges"]) == 2
    assert "api.starved.cleared" in server.kinds()
    assert server.kinds().count("api.starved") == 1


def test_hundreds_at_once_are_let_in_and_out(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    clients = []
    for number in range(400):  # all of them before the server runs again
        client = native_socket()
        client.bind((f"127.0.1.{number % 200 + 1}", 0))
        client.connect(("127.0.0.1", server.api.port))
        clients.append(client)
    try:
        assert len(server.get()["bridges"]) == 2
    finally:
        for client in clients:
            client.close()
    server.wait_for(lambda: "api.crowded.cleared" in server.kinds(), "room to be told")
    assert "Traceback" not in capsys.readouterr().err


def native_socket() -> Any:
    """One that lets no greenlet run."""
    return patcher.original("socket").socket()


def test_a_listener_that_is_closed_ends() -> None:
    def accept() -> Any:
        raise OSError(errno.EBADF, "closed")

    listening: Any = SimpleNamespace(accept=accept)
    with pytest.raises(OSError, match="closed"):
        ConnectionLimiter(listening, EventLog().emit, Counter()).accept()


def test_who_was_served_leaves_next_to_nothing_to_the_garbage_collector(server: Server) -> None:
    """Its look at everything stops everybody: clients by the thousand must not bring it about."""

    def visit() -> None:
        server.get()
        broken = server.connect(sent=b"GET /v1/bridges HT\r\n\r\n")
        while broken.recv(65536):  # until it is hung up on
            pass

    visit()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            visit()
        server.stack.close()
        assert gc.collect() < 20 * 40  # of what werkzeug and the client leave; 230 before
    finally:
        gc.enable()
