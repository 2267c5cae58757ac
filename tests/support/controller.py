"""The controller under test: ``ofapp-manager ofapp.app`` as its own process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from ofapp.common.api_address import API_SOCKET
from tests.support import logs
from tests.support.forks import Fork, fork
from tests.support.ovs import Bridge
from tests.support.ports import free_port
from tests.support.waiting import wait_for

AnyBridge = TypeVar("AnyBridge", bound=Bridge)
ROOT = Path(__file__).parents[2]
LISTENING = "listening for switches"
PROGRAM = Path(sys.executable).with_name("ofapp-manager")
RECORDINGS = os.environ.get("OFAPP_RECORD")
"""A folder: each controller records its bridges, and its recording is saved there at its end."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer: its status and its JSON (None for an empty body)."""

    status: int
    body: Any


class Controller:
    """One run of the application after another on the same ports and the same state.

    speed: of its clock, if it is a fork: see `fast_clock`.
    """

    preloaded = False
    """Fork a process that has imported everything: for tests, not for measurements."""

    def __init__(
        self, config: str = "", *, options: tuple[str, ...] = (), speed: float = 1
    ) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="ofapp-ctl-"))
        self.ofp_port = free_port()
        self.api_port = free_port()
        self.config_file = self.dir / "ofapp.yaml"
        self.configure(config)
        self.program = PROGRAM
        """Another version's, from the next start on."""
        self._options = options
        self._speed = speed
        self._listened = 0
        self._process: Fork | subprocess.Popen[bytes] | None = None

    def configure(self, config: str) -> None:
        """Write the file, as editors do: another one takes its place."""
        settings = yaml.safe_load(config) or {}
        # Spanning tree keeps a new port closed for seconds: only its own tests turn it on.
        settings.setdefault("defaults", {}).setdefault("stp", {"enabled": False})
        new = self.config_file.with_suffix(".new")
        new.write_text(yaml.safe_dump(settings))
        new.replace(self.config_file)

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it and wait until both its ports are open."""
        self._listened = self.log().count(LISTENING)
        arguments = [
            *("ofapp.app", "--ofp-listen-host", "127.0.0.1"),
            *("--ofp-tcp-listen-port", str(self.ofp_port)),
            *("--wsapi-port", str(self.api_port), "--state-dir", str(self.dir / "state")),
            *("--config-file", str(self.config_file)),
            *self._options,
            *(["--record"] if RECORDINGS else []),
        ]
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        with open(self.log_path, "ab") as log:
            if self.preloaded and self.program == PROGRAM:
                self._process = fork(arguments, ROOT, environment, log.fileno(), speed=self._speed)
            else:
                own = [str(self.program)]
                if not self.program.exists():
                    own = [sys.executable, "-P", "-m", "ofapp.launcher.manager"]  # by PYTHONPATH
                self._process = subprocess.Popen(
                    [*own, *arguments],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        logs.watch(self)
        wait_for(self._listening, "the controller to listen", seconds=120)

    def kill9(self) -> None:
        """The hardest end there is."""
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        """Ask it to stop; its exit status."""
        return self._end(signal.SIGTERM)

    def restart(self) -> None:
        """kill -9 and start again."""
        self.kill9()
        self.start()

    def hang_up(self) -> None:
        """Ask it to read its file again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def pause(self) -> None:
        """Stop it in its tracks: connections stay, nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it run on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, hung or not, and remove its directory."""
        if self.alive:
            self.resume()
            with contextlib.suppress(AssertionError):
                self.terminate()
        logs.unwatch(self)
        shutil.rmtree(self.dir, ignore_errors=True)

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the controller, which runs."""
        assert self._process is not None
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """Where its output goes, over all its runs."""
        return self.dir / "log"

    def log(self) -> str:
        """All it has said."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def logs(self) -> Iterator[tuple[str, str]]:
        """See `tests.support.logs`."""
        yield f"the controller's log, in {self.dir}", self.log_tail(80)

    def log_tail(self, lines: int = 40) -> str:
        """The end of its log."""
        return "\n".join(self.log().splitlines()[-lines:])

    @property
    def target(self) -> str:
        """What a bridge's controller is set to."""
        return f"tcp:127.0.0.1:{self.ofp_port}"

    # --- switches -----------------------------------------------------------------------------

    def connect(self, bridge: AnyBridge) -> AnyBridge:
        """Point *bridge* here and wait until it has been set up; gives the bridge."""
        known = self.api("GET", f"/v1/bridges/{bridge.dpid16}")
        bridge.set_controller(self.target)
        self.wait_ready(bridge, known.body["peer"] if known.status == 200 else None)
        return bridge

    def wait_ready(self, bridge: Bridge, former: str | None = None) -> None:
        """Wait until *bridge* is connected and holds what it should.

        former: address of a bridge with the same datapath id, which may just have been destroyed:
        on a busy machine the controller still says that it is connected and in sync.
        """

        def has(*what: str) -> bool:
            reply = self.api("GET", f"/v1/bridges/{bridge.dpid16}")
            if reply.status != 200 or not all(reply.body[key] for key in what):
                return False
            return reply.body["peer"] != former or reply.body["name"] == bridge.name

        def closed_edges() -> list[str]:
            """Edge ports that wait for the answer to their first BPDU, for 50 ms."""
            tree = self.get(f"/v1/bridges/{bridge.dpid16}/stp")
            edges = [p for p in tree["ports"] if p["role"] == "designated" and p["edge"]["admin"]]
            waiting = (p for p in edges if tree["enabled"] and not p["guards"])
            return [port["name"] for port in waiting if port["state"] == "discarding"]

        reached = f"{bridge.name} to be connected"
        wait_for(lambda: has("connected"), reached, tick=bridge.switch.step, seconds=30)
        # From here on the controller renews flows by its own clock.
        pace, ready = bridge.switch.in_pace(), f"{bridge.name} to be in sync"
        wait_for(lambda: has("connected", "in_line"), ready, tick=pace, seconds=30)
        wait_for(lambda: not closed_edges(), f"edges of {bridge.name}", tick=pace)

    def ofapp(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Type a command for this controller."""
        return subprocess.run(
            [sys.executable, "-m", "ofapp", *map(str, words)],
            env=os.environ | {"OFAPP_API": f"http://127.0.0.1:{self.api_port}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    # --- the API ------------------------------------------------------------------------------

    def api(
        self, method: str, path: str, body: object = None, timeout: float = 10, **query: object
    ) -> Reply:
        """One request; *query* becomes the query string."""
        url = f"http://127.0.0.1:{self.api_port}{path}"
        if query:
            url += "?" + urllib.parse.urlencode(query)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return Reply(answer.status, _json(answer.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, _json(error.read()))

    def get(self, path: str, **query: object) -> Any:
        """The body of a GET that must succeed."""
        reply = self.api("GET", path, None, 10, **query)
        assert reply.status == 200, f"GET {path}: {reply}"
        return reply.body

    def bridge(self, bridge: Bridge) -> Any:
        """What the API tells of *bridge*."""
        return self.get(f"/v1/bridges/{bridge.dpid16}")

    def flush(self, bridge: Bridge, **query: object) -> int:
        """Forget learned entries of *bridge* that *query* selects; how many."""
        path = f"/v1/bridges/{bridge.dpid16}/fdb"
        reply = self.api("DELETE", path, None, 10, **query)
        assert reply.status == 200, reply
        return int(reply.body["flushed"])

    def put_static(self, bridge: Bridge, mac: str, port: int, vlan: int = 0) -> Reply:
        """Ask for a static entry on the port of that number."""
        path = f"/v1/bridges/{bridge.dpid16}/fdb/{vlan}/{mac}"
        return self.api("PUT", path, {"port": bridge.port_name(port)})

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The events of that kind that are remembered, oldest first."""
        return [event for event in self.get("/v1/events")["events"] if event["kind"] == kind]

    def fdb(self, bridge: Bridge, **query: object) -> list[dict[str, Any]]:
        """All entries of *bridge*'s forwarding database that *query* selects."""
        entries: list[dict[str, Any]] = []
        while True:
            page = self.get(f"/v1/bridges/{bridge.dpid16}/fdb", **query)
            entries += page["entries"]
            if not page["next"]:
                return entries
            query["cursor"] = page["next"]

    def where(self, bridge: Bridge, mac: str, vlan: int = 0) -> int | None:
        """The OpenFlow port that *mac* is behind, or None if it is not known."""
        found = [e for e in self.fdb(bridge, mac=mac, vlan=vlan) if e["type"] != "local"]
        assert len(found) <= 1, found
        return found[0]["port"]["number"] if found else None

    # --- inside -------------------------------------------------------------------------------

    def _listening(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(
                f"the controller ended with {self._process.returncode}:\n{self.log_tail()}"
            )
        if self.log().count(LISTENING) == self._listened:
            return False  # it tries its ports out before
        for port in (self.ofp_port, self.api_port):
            with socket.socket() as sock, contextlib.suppress(OSError):
                sock.settimeout(1)
                sock.connect(("127.0.0.1", port))
                continue
            return False
        return True

    def _end(self, sig: int) -> int:
        assert self._process is not None
        if RECORDINGS and sig == signal.SIGTERM:
            file = Path(RECORDINGS, f"{self.dir.name}.jsonl.gz")
            place = f"unix:{self.dir}/state/{Path(API_SOCKET).name}"
            command = [PROGRAM.with_name("ofapp"), "record", file, "--api", place]
            subprocess.run(command, cwd=ROOT, check=True)
        if self._process.poll() is None:
            self._process.send_signal(sig)
        try:
            return self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
            raise AssertionError(f"did not end on signal {sig}:\n{self.log_tail()}") from None


def _json(data: bytes) -> Any:
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")
