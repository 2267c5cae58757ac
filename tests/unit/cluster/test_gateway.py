"""The client of a real etcd: nodes that are down or deaf; TLS, users, a full disk; the hub."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import (
    FullError,
    RefusedError,
    UnreachableError,
    WatchResponse,
)
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from ofapp.controller.cluster.problems import CLOCKS
from tests.support.etcd_nodes import EtcdNode, EtcdNodes, missing
from tests.support.ports import free_port
from tests.support.waiting import wait_for


@pytest.fixture
def deaf_node() -> Iterator[socket.socket]:
    """A node that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", free_port())) as server:
        yield server


@pytest.fixture
def deaf(deaf_node: socket.socket) -> str:
    """Its endpoint."""
    return f"127.0.0.1:{deaf_node.getsockname()[1]}"


@contextlib.contextmanager
def client(*endpoints: str, **options: object) -> Iterator[Gateway]:
    gateway = Gateway(Access(endpoints, **options))  # type: ignore[arg-type]
    yield gateway
    gateway.close()


@contextlib.contextmanager
def others(pause: float) -> Iterator[list[float]]:
    """Another task beside it, with a turn every `pause` seconds; the time of each turn."""
    turns: list[float] = []

    def work() -> None:
        while True:
            turns.append(time.monotonic())
            hub.sleep(pause)

    thread = hub.spawn(work)
    try:
        yield turns
    finally:
        thread.kill()


def test_a_node_that_is_down_or_deaf_costs_its_share_once(
    real_etcd: EtcdNodes, deaf: str, deaf_node: socket.socket
) -> None:
    down = f"127.0.0.1:{free_port()}"
    with client(down, deaf, *real_etcd.endpoints, patience=5.0) as etcd:
        assert etcd.get("/absent") is None
        deaf_node.accept()
        deaf_node.setblocking(False)
        for _ in range(5):
            etcd.put("/a", b"1")
        with pytest.raises(BlockingIOError):  # the node that answered is asked first
            deaf_node.accept()
        assert [bool(node.error) for node in etcd.nodes()] == [True, True, False]


def test_a_host_whose_clock_is_wrong_sees_it_at_etcds(
    real_etcd: EtcdNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client(*real_etcd.endpoints) as etcd:
        assert all(abs(node.ahead) < CLOCKS for node in etcd.nodes())
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + 60.0)
        assert all(58.0 < -node.ahead < 62.0 for node in etcd.nodes())


def test_where_nobody_answers_it_says_so_in_time_and_holds_up_nobody(deaf: str) -> None:
    down = f"127.0.0.1:{free_port()}"
    with client(deaf, down, "name.invalid:2379", patience=0.6) as etcd, others(0.001) as turns:
        before = time.monotonic()
        with pytest.raises(UnreachableError, match="etcd does not answer"):
            etcd.get("/a")
        with pytest.raises(UnreachableError):
            etcd.renew(1, patience=0.2)
        assert time.monotonic() - before < 5
        assert len(turns) > 10


def test_what_may_have_been_done_is_not_done_again(deaf: str, real_etcd: EtcdNodes) -> None:
    with client(deaf, *real_etcd.endpoints, patience=3.0) as etcd:
        with pytest.raises(UnreachableError) as error:
            etcd.put("/once", b"1")
        assert error.value.maybe
        assert etcd.get("/once") is None  # which may be asked of another one
    with client(
        f"127.0.0.1:{free_port()}", *real_etcd.endpoints
    ) as etcd:  # no member was there to do it
        assert etcd.put("/once", b"1")
        etcd.delete("/once")


def test_who_is_no_etcd_is_reported_as_such() -> None:
    import http.server
    import threading

    server = http.server.HTTPServer(("127.0.0.1", free_port()), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with (
            client(f"127.0.0.1:{server.server_port}") as etcd,
            pytest.raises((RefusedError, UnreachableError)),
        ):
            etcd.get("/a")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.pem, node.pem and node-key.pem for 127.0.0.1, own.pem and own-key.pem."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")  # Python asks for it since 3.13
    authority = ("-subj", "/CN=test", *usage, "-keyout", "ca-key.pem", "-out", "ca.pem")
    openssl("req", "-x509", *key, *authority)
    for name, subject, more in (
        ("node", "CN=node", "subjectAltName=DNS:etcd.example,IP:127.0.0.1"),
        ("own", "O=ofapp", "subjectAltName=DNS:own"),
    ):
        openssl(
            *("req", "-x509", *key, "-subj", f"/{subject}", "-addext", more),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
            *("-CA", "ca.pem", "-CAkey", "ca-key.pem"),
            *("-keyout", f"{name}-key.pem", "-out", f"{name}.pem"),
        )
    return folder


@pytest.fixture(scope="module")
def guarded_etcd(certificates: Path) -> Iterator[EtcdNode]:
    """etcd that speaks TLS to who has a certificate, and asks for a user; its quota is small."""
    if why := missing():
        pytest.skip(why)
    folder = certificates / "data"
    folder.mkdir()
    node = EtcdNode("guarded", folder, "https")
    node.context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    node.context.load_cert_chain(certificates / "own.pem", certificates / "own-key.pem")
    node.arguments = [
        *("--initial-cluster", f"guarded={node.peer_url}"),
        *("--cert-file", str(certificates / "node.pem")),
        *("--key-file", str(certificates / "node-key.pem")),
        *("--trusted-ca-file", str(certificates / "ca.pem"), "--client-cert-auth"),
        *("--quota-backend-bytes", str(2 << 20)),
    ]
    node.start()
    wait_for(node.answers, "etcd with TLS", seconds=30)
    node.post("auth/user/add", {"name": "root", "password": "r"})
    node.post("auth/role/add", {"name": "root"})
    node.post("auth/user/grant", {"user": "root", "role": "root"})
    node.post("auth/enable")
    yield node
    node.kill()


@pytest.fixture
def tls(certificates: Path) -> dict[str, Path]:
    return {
        "ca": certificates / "ca.pem",
        "certificate": certificates / "own.pem",
        "key": certificates / "own-key.pem",
    }


ROOT = {"user": "root", "password": "r"}


def test_tls_and_a_user(guarded_etcd: EtcdNode, tls: dict[str, Path]) -> None:
    with client(guarded_etcd.endpoint, **tls, **ROOT) as etcd:
        etcd.put("/a", b"1")
        batches: list[WatchResponse] = []
        etcd.watch("/a", batches.append)
        wait_for(lambda: batches, "the present keys", sleep=hub.sleep)
        lease = etcd.grant(5)
        assert etcd.renew(lease.number) == lease.seconds
        etcd._token = "made.up"  # as one that is too old
        found = etcd.get("/a")
        assert found is not None
        assert found.value == b"1"


def test_a_token_of_what_a_restored_node_has_not_reached_is_made_anew(
    guarded_etcd: EtcdNode, tls: dict[str, Path]
) -> None:
    """The node waits for that index, and says nothing meanwhile."""
    with client(guarded_etcd.endpoint, **tls, **ROOT) as etcd:
        etcd.put("/a", b"1")
        etcd._token = f"{etcd._token.partition('.')[0]}.{1 << 40}"
        with pytest.raises(UnreachableError):
            etcd.get("/a")
        assert etcd.get("/a") is not None


@pytest.mark.parametrize(
    ("without", "instead", "why"),
    [
        ((), {"password": "wrong"}, "authentication failed"),
        (("user",), {}, "user name is empty|permission denied"),
        (("certificate", "key"), {}, "."),
        (("ca", "certificate", "key"), {}, "."),
    ],
)
def test_who_is_not_known_to_etcd_gets_nothing(
    guarded_etcd: EtcdNode,
    tls: dict[str, Path],
    without: tuple[str, ...],
    instead: dict[str, str],
    why: str,
) -> None:
    options = {**tls, **ROOT, **instead, "patience": 1.0}
    options = {name: value for name, value in options.items() if name not in without}
    with (
        client(guarded_etcd.endpoint, **options) as etcd,
        pytest.raises((UnreachableError, RefusedError), match=why),
    ):
        etcd.get("/a")


def test_an_etcd_that_is_not_the_one_that_was_meant_gets_nothing(
    guarded_etcd: EtcdNode, tls: dict[str, Path], real_etcd: EtcdNodes
) -> None:
    stranger = {**tls, "ca": tls["certificate"]}
    for endpoint, options, why in (
        (guarded_etcd.endpoint, stranger, "certificate verify failed"),
        (f"localhost:{guarded_etcd.port}", tls, "localhost"),
        (real_etcd.endpoints[0], tls, "TLS|reset by peer"),  # it speaks none
    ):
        with (
            client(endpoint, **options, **ROOT, patience=5.0) as etcd,
            pytest.raises(UnreachableError, match=why),
        ):
            etcd.get("/a")


def test_a_full_disk(guarded_etcd: EtcdNode, tls: dict[str, Path]) -> None:
    with client(guarded_etcd.endpoint, **tls, **ROOT) as etcd:
        lease = etcd.grant(30)

        def fill() -> None:
            """etcd looks at its size as of the last commit, which may be 100 ms ago."""
            for number in range(400):
                etcd.put(f"/fill/{number}", bytes(100_000))

        with pytest.raises(FullError, match="etcd is full"):
            fill()
        assert etcd.nodes()[0].alarms == ("NOSPACE",)
        assert etcd.renew(lease.number) == lease.seconds
        assert etcd.range("/fill/").records
        etcd.delete("/fill/0")


def test_while_much_is_put_others_have_their_turns(real_etcd: EtcdNodes) -> None:
    """How long they wait was measured: see `controller.cluster.gateway`."""
    with client(*real_etcd.endpoints) as etcd, others(0) as turns:
        left = iter(range(200))

        def work() -> None:
            for number in left:
                etcd.put(f"/many/{number % 50}", bytes(600))

        workers = [hub.spawn(work) for _ in range(8)]
        for worker in workers:
            worker.wait()
        assert len(turns) >= 200
