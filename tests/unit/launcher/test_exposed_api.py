"""A manager whose API is reached over TLS and over its UNIX socket, by friends and by others."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from ofapp.common.api_address import API_URL
from ofapp.host_setup import controller_api
from tests.support import waiting
from tests.support.ports import free_port
from tests.unit.launcher.launched import DEADLINE, Manager

JSON = {"Content-Type": "application/json"}


class Exposed:
    """A manager with a certificate; root asks it over its socket."""

    def __init__(self, start: Callable[..., Manager], folder: Path, *options: object) -> None:
        self.folder, self.port = folder, free_port()
        self.key, self.cert = folder / "key.pem", folder / "cert.pem"
        make_certificate(self.key, self.cert)
        self.socket = folder / "state/api.sock"
        self.manager = start(
            "ofapp.app",
            *("--ofp-tcp-listen-port", free_port(), "--wsapi-port", self.port),
            *("--api-privkey", self.key, "--api-cert", self.cert, "--state-dir", folder / "state"),
            *options,
        )
        self.manager.wait_for("listening for switches")
        self.url = f"https://localhost:{self.port}"
        self.root = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self.socket)), base_url="http://localhost"
        )

    def token(self, role: str = "viewer") -> dict[str, str]:
        """Headers with a new token."""
        name = f"{role}-{time.monotonic_ns()}"
        made = self.root.post("/v1/tokens", json={"name": name, "role": role})
        assert made.status_code == 201, made.text
        return {"Authorization": f"Bearer {made.json()['token']}"}

    def client(self, **options: Any) -> httpx.Client:
        """A client on another machine that trusts the certificate."""
        trust = ssl.create_default_context(cafile=str(self.cert))
        return httpx.Client(verify=trust, base_url=self.url, trust_env=False, **options)

    def raw(self) -> ssl.SSLSocket:
        """A connection over TLS, to say anything on."""
        context = ssl._create_unverified_context()
        plain = socket.create_connection(("127.0.0.1", self.port), DEADLINE)
        return context.wrap_socket(plain)

    def say(self, request: bytes) -> bytes:
        """All that is answered to that until the connection ends."""
        with self.raw() as made:
            made.sendall(request)
            said = b""
            with contextlib.suppress(OSError):
                while data := made.recv(65536):
                    said += data
            return said

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Those of that kind."""
        found: list[dict[str, Any]] = self.root.get(f"/v1/events?kind={kind}").json()["events"]
        return found

    def ofapp(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The command."""
        return subprocess.run(
            [sys.executable, "-m", "ofapp", *words],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | environment,
        )


def make_certificate(key: Path, cert: Path) -> None:
    """Of localhost, signed by itself; it takes the place of what is there."""
    new = key.with_suffix(".new"), cert.with_suffix(".new")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [*command.split(), *names, "-keyout", new[0], "-out", new[1]],
        check=True,
        capture_output=True,
    )
    new[0].replace(key)
    new[1].replace(cert)


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exposed]:
    """One for all tests that leave it as it was."""
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("exposed")
    made: list[Manager] = []

    def start(*options: object) -> Manager:
        made.append(Manager(folder, *options))
        return made[-1]

    try:
        yield Exposed(start, folder)
    finally:
        for one in made:
            one.process.kill()
            one.process.wait()


wait_for = partial(waiting.wait_for, seconds=DEADLINE)

# --- friends


def test_the_command_gets_in_with_a_token_from_a_file_or_the_environment(
    exposed: Exposed, tmp_path: Path
) -> None:
    local = ("--api", f"unix:{exposed.socket}")
    made = exposed.ofapp(
        "token", "create", "script", "--role", "operator", "--expires", "1h", *local
    )
    assert re.fullmatch(r"ofapp_[A-Za-z0-9_-]{43}\n", made.stdout)
    assert "not shown again" in made.stderr
    assert "from now on the API asks everybody but root" in made.stderr
    file = tmp_path / "token"
    other = ("token", "create", "other", "--role", "operator", "--output", str(file), *local)
    assert exposed.ofapp(*other).stdout == ""
    assert file.stat().st_mode & 0o777 == 0o600
    assert "it exists already" in exposed.ofapp(*other).stderr
    there = ("--api", exposed.url, "--api-ca", str(exposed.cert))
    assert exposed.ofapp("bridge", "show", *there, "--api-token-file", str(file)).returncode == 0
    assert exposed.ofapp("bridge", "show", *there, OFAPP_TOKEN=made.stdout).returncode == 0
    refused = exposed.ofapp("bridge", "show", *there)
    assert refused.returncode == 1
    assert "asks for a token" in refused.stderr
    distrusted = exposed.ofapp("bridge", "show", "--api", exposed.url, OFAPP_TOKEN=made.stdout)
    assert "its certificate is not trusted: " in distrusted.stderr
    assert "--api-ca" in distrusted.stderr
    listed = exposed.ofapp("token", "list", *local).stdout
    assert re.search(r"^script +operator +\d{4}-.* 127\.0\.0\.1 +root$", listed, re.MULTILINE)
    assert exposed.ofapp("token", "revoke", "script", *local).stdout == "revoked script\n"
    assert (
        "no such token" in exposed.ofapp("bridge", "show", *there, OFAPP_TOKEN=made.stdout).stderr
    )


def test_deploy_needs_no_token_on_the_controllers_machine(
    exposed: Exposed, monkeypatch: pytest.MonkeyPatch
) -> None:
    exposed.token()
    monkeypatch.setattr(controller_api, "API_SOCKET", str(exposed.socket))
    for api in (API_URL, f"unix:{exposed.socket}"):
        status, body = controller_api.call(api, "/v1/session", DEADLINE)
        assert (status, json.loads(body)["name"]) == (200, "root")
        assert controller_api.call(api, "/v1/nothing", DEADLINE)[0] == 404
    assert controller_api.call(api, "/v1/config/reload?dry_run=true", DEADLINE, "POST")[0] == 200
    with pytest.raises(OSError, match="ENOENT"):
        controller_api.call("unix:/nowhere", "/", DEADLINE)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: needs root")
def test_over_the_socket_the_kernel_tells_who_it_is(exposed: Exposed) -> None:
    exposed.token()
    script = (
        "import http.client, socket, sys\n"
        "made = http.client.HTTPConnection('localhost')\n"
        "made.sock = socket.socket(socket.AF_UNIX)\n"
        "made.sock.connect(sys.argv[1])\n"
        "made.request('GET', '/v1/bridges')\n"
        "answer = made.getresponse()\n"
        "print(answer.status, answer.read().decode())\n"
    )
    public = Path("/tmp") / f"ofapp-test-{os.getpid()}.sock"
    public.unlink(missing_ok=True)
    os.link(exposed.socket, public)  # in a directory that all users can read
    try:
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3",
             "-c", script, public],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        public.unlink()
    assert done.stdout.startswith("401"), done.stdout + done.stderr
    assert "uid 65534 is neither root nor an operator" in done.stdout


def test_a_clean_stop_with_idle_clients_logs_no_fault(
    manager: Callable[..., Manager], tmp_path: Path
) -> None:
    exposed = Exposed(manager, tmp_path)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(exposed.raw())
        stack.enter_context(socket.create_connection(("127.0.0.1", exposed.port)))
        assert exposed.client().get("/healthz").status_code == 200  # those before are accepted
        exposed.manager.process.terminate()
        assert exposed.manager.end() == 0
    assert "Traceback" not in exposed.manager.text()


def test_a_renewed_certificate_is_taken_and_nobody_is_dropped(exposed: Exposed) -> None:
    headers = exposed.token()
    kept = httpx.Limits(keepalive_expiry=None)
    with exposed.client(headers=headers, limits=kept) as before:
        assert before.get("/v1/bridges").status_code == 200
        exposed.cert.write_text("half of one")
        wait_for(lambda: exposed.events("api.tls.refused"), "the damaged file to be reported")
        make_certificate(exposed.key, exposed.cert)
        new = exposed.cert.read_text()

        def renewed() -> bool:
            seen = ssl.get_server_certificate(("127.0.0.1", exposed.port))
            return "".join(seen.split()) == "".join(new.split())

        wait_for(renewed, "the new certificate")
        assert before.get("/v1/bridges").status_code == 200
    with exposed.client(headers=headers) as after:
        assert after.get("/v1/bridges").status_code == 200


def test_what_is_changed_is_on_disk_with_who_has_asked(exposed: Exposed) -> None:
    headers = exposed.token("admin")
    with exposed.client(headers=headers) as admin:
        admin.post("/v1/tokens", json={"name": "audited", "role": "viewer"})
        admin.delete("/v1/tokens/audited")
    trail = exposed.folder / "state/audit.log"
    wait_for(lambda: "audited: viewer -> none" in trail.read_text(), "the trail")
    lines = [json.loads(line) for line in trail.read_text().splitlines()]
    (made,) = [line for line in lines if "token audited: none" in str(line)]
    assert made["from"] == "127.0.0.1"
    assert made["role"] == "admin"
    assert made["who"].startswith("token admin-")
    assert trail.stat().st_mode & 0o777 == 0o600
    secret = headers["Authorization"].split()[1]
    assert secret not in trail.read_text() + exposed.manager.text()


def test_who_is_revoked_hears_nothing_more(exposed: Exposed) -> None:
    made = exposed.root.post("/v1/tokens", json={"name": "follower", "role": "viewer"}).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    with (
        exposed.client(headers=headers, timeout=DEADLINE) as client,
        client.stream("GET", "/v1/events/stream") as answer,
    ):
        assert answer.status_code == 200
        exposed.root.delete("/v1/tokens/follower")
        for _ in answer.iter_raw():
            pass  # until it ends, or the client's patience


# --- others


def ask(exposed: Exposed, path: str, *lines: str) -> bytes:
    host = f"Host: localhost:{exposed.port}"
    return exposed.say(
        "\r\n".join((f"GET {path} HTTP/1.1", host, "Connection: close", *lines, "", "")).encode()
    )


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/v1/../../../etc/passwd",
        "/v1/bridges/..%2f..%2f..%2fetc%2fpasswd/ports",
        "/static/../app.py",
        "//etc/passwd",
        "/%00",
        "file:///etc/passwd",
    ],
)
def test_no_path_leads_out(exposed: Exposed, path: str) -> None:
    bearer = exposed.token("admin")["Authorization"]
    for lines in ([f"Authorization: {bearer}"], []):
        said = ask(exposed, path, *lines)
        assert re.match(rb"HTTP/1.1 (40[0134]|422|429) ", said), said[:200]
        assert b"root:" not in said


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 44\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 60\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 0,60\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
        b"A b: c\r\n\r\n",
        b"A: b\r\n folded: c\r\n\r\n",
        b"A: b\nC: d\r\n\r\n",
        b"Host: other\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0_0\r\n\r\n",
    ],
)
def test_a_request_is_not_smuggled_in_another(exposed: Exposed, framing: bytes) -> None:
    """What one server takes for a body another takes for the next request: so an odd one is the
    last of its connection."""
    bearer = exposed.token()["Authorization"].encode()
    hidden = b"GET /v1/tokens HTTP/1.1\r\nHost: localhost\r\nX: "
    said = exposed.say(
        b"GET /v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + bearer + b"\r\n"
        + framing + hidden + b"\r\n\r\n"
    )  # fmt: skip
    assert re.match(rb"HTTP/1.[01] 400 ", said), said[:200]
    assert said.count(b"HTTP/1.") == 1


def test_tls_has_no_cbc_and_no_answer_is_without_its_headers(exposed: Exposed) -> None:
    context = ssl._create_unverified_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE+AES:!AESGCM:!AESCCM:@SECLEVEL=0")
    assert all("CBC" in one["description"] or "SHA" in one["name"] for one in context.get_ciphers())
    with (
        socket.create_connection(("127.0.0.1", exposed.port), DEADLINE) as plain,
        pytest.raises(ssl.SSLError),
    ):
        context.wrap_socket(plain)
    for said in (
        ask(exposed, "/"),
        ask(exposed, "/v1/fdb"),
        exposed.say(b"GET / HTTP/1.1\r\n\r\n"),
    ):
        assert b"X-Content-Type-Options: nosniff" in said
        assert b"Strict-Transport-Security: max-age=" in said


def test_a_huge_body_is_not_read(exposed: Exposed) -> None:
    headers = exposed.token("admin")
    for length in (10**6, 10**18, 10**400):
        said = exposed.say(
            f"POST /v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: {headers['Authorization']}\r\nConnection: close\r\n"
            f"Content-Length: {length}\r\n\r\n{'x' * 100}".encode()
        )
        assert re.match(rb"HTTP/1.[01] 4(00|13) ", said), said[:200]
    with exposed.client(headers=headers) as client:
        assert client.get("/v1/tokens").status_code == 200


def test_silent_slow_and_odd_clients_hold_up_nobody(exposed: Exposed) -> None:
    headers = exposed.token()
    with contextlib.ExitStack() as stack:
        for number in range(40):
            plain = stack.enter_context(
                socket.create_connection(("127.0.0.1", exposed.port), DEADLINE)
            )
            if number % 4 == 1:
                plain.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a handshake
            elif number % 4 == 2:
                plain.sendall(b"GET /v1/bridges HTTP/1.1\r\nHost: localhost\r\n\r\n")
            elif number % 4 == 3:
                plain.sendall(os.urandom(2000))
        for _ in range(10):
            slow = stack.enter_context(exposed.raw())
            slow.sendall(b"GET /v1/bri")
        with exposed.client(headers=headers, timeout=5) as client:
            assert client.get("/v1/bridges").status_code == 200
    assert "Traceback" not in exposed.manager.text()
    metrics = exposed.root.get("/metrics").text
    assert 'ofapp_api_connections_ended_total{why="insecure"}' in metrics


def test_a_crowd_at_the_socket_and_one_at_the_port_do_not_meet(exposed: Exposed) -> None:
    headers = exposed.token()
    with contextlib.ExitStack() as stack:
        for _ in range(80):
            stack.enter_context(exposed.raw())
            local = stack.enter_context(socket.socket(socket.AF_UNIX))
            local.connect(str(exposed.socket))
        with exposed.client(headers=headers, timeout=DEADLINE) as client:
            assert client.get("/v1/bridges").status_code == 200
        assert exposed.root.get("/v1/bridges").status_code == 200
    assert {"uid 0", "127.0.0.1"} <= {
        event["message"].partition(" has ")[0] for event in exposed.events("api.crowded")
    }


def test_a_name_of_others_is_not_ours_but_that_takes_a_token(exposed: Exposed) -> None:
    """DNS rebinding: the page of another has neither a token nor a cookie of this name."""
    exposed.token()
    with exposed.client(headers={"Host": "evil.example"}) as client:
        assert client.get("/v1/bridges").status_code == 401


def test_a_session_is_for_its_own_page_alone(exposed: Exposed) -> None:
    headers = exposed.token("operator")
    with exposed.client() as browser:
        begun = browser.post("/v1/session", headers=headers)
        assert begun.status_code == 201
        for mark in ("Secure", "HttpOnly", "SameSite=Strict"):
            assert mark in begun.headers["Set-Cookie"]
        assert browser.get("/v1/session").json()["session"]
        path = "/v1/bridges/0000000000000001/fdb"
        for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "http://localhost"}):
            assert browser.delete(path, headers=origin).status_code == 403
        assert browser.delete(path, headers={"Origin": exposed.url}).status_code == 404


def test_wrong_tokens_are_counted_reported_and_slowed_down(exposed: Exposed) -> None:
    """Last, as it is this machine that has to wait; earlier clients do not."""
    friend = exposed.token()
    with exposed.client() as client:
        assert client.get("/v1/bridges", headers=friend).status_code == 200
        wrong = {"Authorization": "Bearer ofapp_wrong"}
        answers = [client.get("/v1/bridges", headers=wrong).status_code for _ in range(40)]
        assert answers[0] == 401
        assert answers[-1] == 429
        assert client.get("/v1/bridges", headers=friend).status_code == 200
    assert exposed.events("api.login.limited")
    rejected = re.search(
        r'ofapp_api_rejected_logins_total\{why="no such token"\} (\d+)',
        exposed.root.get("/metrics").text,
    )
    assert rejected is not None
    assert exposed.root.get("/v1/bridges").status_code == 200


# --- starts


def test_it_serves_no_other_machine_in_clear(refused: Callable[..., str], tmp_path: Path) -> None:
    ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
    said = refused(2, "--wsapi-host", "0.0.0.0", *ports, "--state-dir", tmp_path)
    assert "--api-cert" in said
    assert "--insecure" in said


@pytest.mark.parametrize("how", ["insecure", "tls"])
def test_what_is_exposed_is_reported_once(
    manager: Callable[..., Manager], tmp_path: Path, certificate: tuple[Path, Path], how: str
) -> None:
    key, cert = certificate
    api = free_port()
    options = {"insecure": ["--insecure"], "tls": ["--api-privkey", key, "--api-cert", cert]}[how]
    running = manager(
        *("ofapp.app", "--ofp-listen-host", "0.0.0.0", "--ofp-tcp-listen-port", free_port()),
        *("--wsapi-host", "0.0.0.0", "--wsapi-port", api, "--state-dir", tmp_path, *options),
    )
    running.wait_for("listening for switches")
    assert running.text().count("WARNING ofapp: switches connect to 0.0.0.0 without TLS") == 1
    if how == "insecure":
        assert "is open to any client" in running.text()
        assert httpx.get(f"http://127.0.0.1:{api}/v1/bridges").status_code == 200
    else:
        assert "the REST API at 0.0.0.0 refuses all clients: make a token" in running.text()
        answer = httpx.get(f"https://127.0.0.1:{api}/v1/bridges", verify=False)
        assert answer.status_code == 401


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--api-cert", "/nowhere"], "needs both --api-privkey and --api-cert"),
        (["--api-cert", "/nowhere", "--api-privkey", "/nowhere"], "cannot read --api-privkey"),
        (["--api-operators", "no-such-group"], "no such group"),
        (["--api-socket", "/dev/null"], "a file that is no socket"),
        (["--api-socket", f"/tmp/{'x' * 120}"], "more than 107 octets"),
    ],
)
def test_what_cannot_work_is_refused(
    refused: Callable[..., str], tmp_path: Path, options: list[str], words: str
) -> None:
    status = 2 if "needs" in words else 1
    ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
    assert words in refused(status, *ports, "--state-dir", tmp_path, *options)


def test_clients_need_a_certificate_where_it_is_said(
    manager: Callable[..., Manager], tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    key, cert = certificate
    api = free_port()
    running = manager(
        *("ofapp.app", "--ofp-tcp-listen-port", free_port(), "--wsapi-port", api),
        *("--api-privkey", key, "--api-cert", cert, "--api-client-ca", cert),
        *("--state-dir", tmp_path),
    )
    running.wait_for("listening for switches")
    own = ssl._create_unverified_context()
    with pytest.raises(httpx.TransportError):
        httpx.get(f"https://127.0.0.1:{api}/v1/bridges", verify=own)
    own.load_cert_chain(cert, key)
    assert httpx.get(f"https://127.0.0.1:{api}/v1/bridges", verify=own).status_code == 200


def test_the_socket_of_one_that_was_killed_is_taken_over(
    manager: Callable[..., Manager], tmp_path: Path
) -> None:
    for _ in range(2):
        ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
        running = manager("ofapp.app", *ports, "--state-dir", tmp_path)
        running.wait_for("listening for switches")
        made = http.client.HTTPConnection("localhost")
        made.sock = socket.socket(socket.AF_UNIX)
        made.sock.connect(str(tmp_path / "api.sock"))
        made.request("GET", "/v1/session")
        assert json.loads(made.getresponse().read())["name"] == "root"
        made.close()
        running.process.kill()
        running.process.wait()
    assert (tmp_path / "api.sock").exists()
