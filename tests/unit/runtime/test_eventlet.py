"""What ofapp relies on in eventlet: a failure names what a new version has changed.

`ofapp/common/hub.py` lists the names; tests/unit/common/test_hub.py tests what it makes of them.
"""

from __future__ import annotations

import inspect
import logging
import select
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ofapp.common import hub
from tests.support.waiting import wait_for

# isort: split
import eventlet
import eventlet.hubs
from eventlet import greenio, patcher, tpool, wsgi

FOREVER = 20.0
"""Seconds after which a test that waits has failed."""


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    with hub.Timeout(FOREVER):
        yield


@pytest.fixture
def pair() -> Iterator[tuple[Any, Any]]:
    """Both ends of a connection."""
    listening = hub.listen(("127.0.0.1", 0))
    theirs = socket.create_connection(listening.getsockname())
    ours, _ = listening.accept()
    listening.close()
    yield ours, theirs
    ours.close()
    theirs.close()


# --- the standard library


@pytest.mark.parametrize("module", ["os", "select", "socket", "thread", "time"])
def test_the_standard_library_is_patched(module: str) -> None:
    """urllib3, os-ken and the log then let other greenlets run."""
    assert patcher.is_monkey_patched(module)


def test_code_that_knows_no_hub_lets_greenlets_run_where_it_waits(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    log: list[str] = []
    lock, event = threading.Lock(), threading.Event()
    lock.acquire()

    def others() -> None:
        log.append("time")
        time.sleep(0)
        theirs.send(b"x")
        hub.sleep(0)
        lock.release()
        hub.sleep(0)
        event.set()

    hub.spawn(others)
    time.sleep(0.001)
    assert log == ["time"]
    assert select.select([ours], [], [], FOREVER)[0] == [ours]
    assert ours.recv(1) == b"x"
    assert lock.acquire(timeout=FOREVER)
    assert event.wait(FOREVER)
    thread = threading.Thread(target=log.append, args=("a thread",))
    thread.start()
    thread.join()
    assert log[1:] == ["a thread"]


def test_sockets_are_green_and_have_their_native_one(pair: tuple[Any, Any]) -> None:
    """Sending at once, and closing what another greenlet reads, go past eventlet."""
    ours, theirs = pair
    assert isinstance(ours, greenio.GreenSocket)
    assert isinstance(ours.fd, patcher.original("socket").socket)
    assert ours.fd.gettimeout() == 0, "the native socket does not block"
    assert ours.fd.send(b"now") == 3
    assert theirs.recv(3) == b"now"
    ours.settimeout(0.01)
    with pytest.raises(TimeoutError):
        ours.recv(1)
    reading = hub.spawn(theirs.recv, 1)
    hub.sleep(0)
    hub.hang_up(theirs)
    assert reading.wait() == b"", "a reader notices that its connection was shut down"
    assert hub.has_left(ours)


def test_a_port_in_use_is_refused() -> None:
    """eventlet sets SO_REUSEPORT by default."""
    first = hub.listen(("127.0.0.1", 0))
    with pytest.raises(OSError, match="in use"):
        hub.listen(first.getsockname())
    assert not first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
    first.close()


# --- greenlets and what they wait for


def test_what_a_greenlet_raises_is_logged_and_goes_no_further(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise ValueError("a test")

    failing, fine = hub.spawn(fail), hub.spawn(lambda: "fine")
    assert failing.wait() is None
    assert fine.wait() == "fine"
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert hub.spawn_after(0.001, lambda: "later").wait() == "later"


def test_a_greenlet_that_is_killed_ends_at_once_and_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []

    def run() -> None:
        try:
            hub.sleep(FOREVER * 10)
        except hub.GreenletExit:
            log.append("killed")
            raise

    running, not_begun = hub.spawn(run), hub.spawn(log.append, "begun")
    hub.kill(not_begun)
    hub.sleep(0)
    hub.kill(running)
    assert log == ["killed"]
    hub.kill(running)  # once more does nothing
    assert caplog.records == []


def test_a_timeout_ends_what_it_is_around_and_nothing_else() -> None:
    log: list[str] = []
    with hub.Timeout(0.001, False):
        hub.sleep(FOREVER * 10)
        log.append("never")
    with pytest.raises(hub.Timeout), hub.Timeout(0.001):
        hub.sleep(FOREVER * 10)
    with hub.Timeout(0.001, False):
        log.append("in time")
    hub.sleep(0.01)
    assert log == ["in time"]
    assert not issubclass(hub.Timeout, Exception), "`except Exception` does not catch it"


def test_a_queue_is_in_order_and_true_when_empty() -> None:
    queue = hub.Queue()
    assert queue, "os-ken's echo loop ends when its queue is false"
    assert queue.empty()
    with pytest.raises(hub.QueueEmpty):
        queue.get(timeout=0.001)
    getting = hub.spawn(queue.get)
    hub.sleep(0)
    queue.put(1)
    queue.put(2)
    assert (getting.wait(), queue.get()) == (1, 2)


def test_a_lock_is_for_one_greenlet() -> None:
    lock, log = hub.Lock(), []

    def hold(name: str) -> None:
        with lock:
            log.append(name)
            hub.sleep(0.001)
            log.append(name)

    for greenlet in [hub.spawn(hold, "a"), hub.spawn(hold, "b")]:
        greenlet.wait()
    assert log == ["a", "a", "b", "b"]


def test_calls_in_the_hub_are_in_order_and_can_be_cancelled() -> None:
    """`call_soon` and `Event` use the hub's timers, and greenlets switch to each other by it."""
    log: list[str] = []
    loop = eventlet.hubs.get_hub()
    waiting = hub.current()
    loop.schedule_call_global(0, log.append, "first")
    loop.schedule_call_global(0, log.append, "cancelled").cancel()
    loop.schedule_call_global(0.001, waiting.switch)
    loop.schedule_call_global(0, log.append, "second")
    hub.park()
    assert log == ["first", "second"]


def test_what_fails_in_the_hub_does_not_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    eventlet.hubs.get_hub().schedule_call_global(0, lambda: 1 / 0)
    hub.sleep(0.001)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_hub_polls_by_epoll() -> None:
    """A select of a thousand switches would take its time, and has a limit of 1,024."""
    assert type(eventlet.hubs.get_hub()).__module__ == "eventlet.hubs.epolls"


# --- native threads


def test_what_blocks_runs_in_a_thread_while_greenlets_go_on() -> None:
    native = patcher.original("threading")
    released = native.Event()
    log: list[str] = []
    blocking = hub.spawn(hub.in_thread, released.wait, FOREVER)
    hub.sleep(0)
    log.append("others run")
    released.set()
    assert blocking.wait() is True
    with pytest.raises(ZeroDivisionError):
        hub.in_thread(lambda: 1 / 0)
    assert len(tpool._threads) == hub.NATIVE_THREADS
    assert hub.in_thread(native.current_thread) is not native.main_thread()


# --- TLS


@pytest.fixture(scope="module")
def contexts(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """That of a server, and a client's."""
    folder: Path = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([*command.split(), "-subj", "/CN=x", *files], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return server, client


def test_a_handshake_is_done_in_steps_between_which_greenlets_run(
    pair: tuple[Any, Any], contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    ours, theirs = pair
    steps: list[int] = []

    class Turn:
        def __enter__(self) -> None:
            steps.append(1)

        def __exit__(self, *_error: object) -> None:
            pass

    def serve() -> bytes:
        wrapped = hub.secured(ours, contexts[0])
        assert isinstance(wrapped, ssl.SSLSocket)
        assert not hub.send_now(wrapped, b"x"), "what TLS takes is not known"
        hub.shake_hands(wrapped, Turn)
        data: bytes = wrapped.recv(5)
        hub.hang_up(wrapped)
        return data

    serving = hub.spawn(serve)
    with contexts[1].wrap_socket(theirs) as client:
        client.sendall(b"hello")
        assert serving.wait() == b"hello"
        assert client.recv(1) == b""
    assert len(steps) > 1


# --- the HTTP server


def test_the_server_takes_the_arguments_of_ours() -> None:
    wanted = {"max_size", "protocol", "minimum_chunk_size", "keepalive", "socket_timeout"}
    wanted |= {"log", "log_output", "debug"}
    assert wanted <= inspect.signature(hub.wsgi_server).parameters.keys()
    assert list(inspect.signature(hub.HttpInput).parameters)[:3] == [
        "rfile",
        "content_length",
        "sock",
    ]


def answer_hello(_environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


class Quiet:
    def write(self, _line: str) -> None:
        pass


def test_a_connection_is_idle_between_requests_and_then_ends_with_the_server() -> None:
    """`Protocol` sets the state, as it replaces the method that does."""
    seen: list[tuple[str, str]] = []

    class Protocol(hub.HttpProtocol):  # type: ignore[misc]
        def handle_one_request(self) -> None:
            seen.append((self.conn_state[2], self.client_address))
            super().handle_one_request()
            seen.append((self.conn_state[2], self.client_address))

    listening = hub.listen(("127.0.0.1", 0))
    serving = hub.spawn(hub.wsgi_server, listening, answer_hello, log=Quiet(), protocol=Protocol)
    with socket.create_connection(listening.getsockname()) as client:
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            said = b""
            while not said.endswith(b"hello"):
                said += client.recv(4096)
        wait_for(lambda: len(seen) == 5, "the wait for the third request", sleep=hub.sleep)
        assert {state for state, _ in seen[1::2]} <= {wsgi.STATE_IDLE, wsgi.STATE_REQUEST}
        assert seen[4] == (wsgi.STATE_IDLE, client.getsockname())
        hub.kill(serving)
        assert client.recv(1) == b""
    assert (hub.HTTP_REQUEST, wsgi.STATE_IDLE, wsgi.STATE_CLOSE) == ("request", "idle", "close")
    listening.close()


def test_the_environment_of_a_request_has_what_the_server_reads() -> None:
    """`Protocol` makes the environment itself, with these two entries of eventlet's."""
    source = inspect.getsource(wsgi)
    for name in ("eventlet.input", "eventlet.posthooks"):
        assert f"self.environ['{name}']" in source, f"handle_one_response reads {name} no more"
    for name in ("handle", "handle_one_response", "finish"):
        assert callable(getattr(hub.HttpProtocol, name)), name
