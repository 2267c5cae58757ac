"""Real etcd, of one node or several, on separate ports and with its files in memory."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.support.ports import free_port
from tests.support.waiting import wait_for

HEARTBEAT, ELECTION = 100, 1000
"""Milliseconds, etcd's own defaults: with less, a busy machine loses leaders.  The least lease is
1.5 elections, in whole seconds."""


def missing() -> str | None:
    """Why there is no etcd here."""
    return None if shutil.which("etcd") else "etcd is not installed (Debian's etcd-server)"


class EtcdNode:
    """One process; `arguments` are etcd's, of this node alone."""

    def __init__(
        self, name: str, folder: Path, scheme: str = "http", host: str = "127.0.0.1"
    ) -> None:
        self.name = name
        self.host = host
        self.folder = folder
        self.scheme = scheme
        self.port, self.peer_port = free_port(), free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.arguments: list[str] = []
        self.context: ssl.SSLContext | None = None

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def peer_url(self) -> str:
        return f"http://{self.host}:{self.peer_port}"

    def start(self) -> None:
        url = f"{self.scheme}://{self.endpoint}"
        command = [
            "etcd",
            *("--name", self.name, "--data-dir", str(self.folder / self.name)),
            *("--listen-client-urls", url, "--advertise-client-urls", url),
            *("--listen-peer-urls", self.peer_url),
            *("--initial-advertise-peer-urls", self.peer_url),
            *("--heartbeat-interval", str(HEARTBEAT), "--election-timeout", str(ELECTION)),
            *self.arguments,
        ]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def signal(self, number: signal.Signals) -> None:
        """SIGSTOP and SIGCONT, say."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """As a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def post(self, path: str, body: object = None) -> dict[str, object]:
        """Ask this very node."""
        request = urllib.request.Request(
            f"{self.scheme}://{self.endpoint}/v3/{path}", json.dumps(body or {}).encode()
        )
        with urllib.request.urlopen(request, timeout=5, context=self.context) as answer:
            found: dict[str, object] = json.load(answer)
            return found

    def is_leader(self) -> bool:
        try:
            status = self.post("maintenance/status")
        except OSError:
            return False
        header = status["header"]
        assert isinstance(header, dict)
        return status.get("leader", "0") == header["member_id"]

    def answers(self) -> bool:
        """Whether it has a majority behind it."""
        try:
            self.post("kv/range", {"key": "YQ=="})
        except OSError:
            return False
        return True


def _run(program: str, *arguments: str) -> None:
    environment = os.environ | {"ETCDCTL_API": "3"}
    subprocess.run([program, *arguments], env=environment, check=True, capture_output=True)


class EtcdNodes:
    """`count` nodes that are one etcd.  host: an address of theirs, where it is not 127.0.0.1."""

    def __init__(
        self, count: int = 1, arguments: tuple[str, ...] = (), host: str = "127.0.0.1"
    ) -> None:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="ofapp-etcd-", dir=memory))
        self.nodes = [EtcdNode(f"n{at}", self.folder, host=host) for at in range(1, count + 1)]
        cluster = ",".join(f"{node.name}={node.peer_url}" for node in self.nodes)
        for node in self.nodes:
            node.arguments = ["--initial-cluster", cluster, *arguments]
            node.start()
        for node in self.nodes:
            wait_for(node.answers, f"etcd's node {node.name}", seconds=30)

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(node.endpoint for node in self.nodes)

    def leader(self) -> EtcdNode:
        def found() -> EtcdNode | None:
            return next((node for node in self.nodes if node.process and node.is_leader()), None)

        leader = wait_for(found, "a leader of etcd", seconds=30)
        assert leader is not None
        return leader

    def wipe(self) -> None:
        """Kill all, and start them with nothing: a new etcd, by the same names and addresses."""
        self._begin_anew(lambda _node: None)

    def snapshot(self) -> Path:
        """What `etcdctl snapshot save` writes, in a file."""
        path = self.folder / "snapshot"
        path.unlink(missing_ok=True)
        _run("etcdctl", "--endpoints", self.nodes[0].endpoint, "snapshot", "save", str(path))
        return path

    def restore(self, snapshot: Path) -> None:
        """Kill all, and start them from that, as etcd's documentation says."""

        def restore(node: EtcdNode) -> None:
            cluster = node.arguments[node.arguments.index("--initial-cluster") + 1]
            _run(
                "etcdutl" if shutil.which("etcdutl") else "etcdctl",  # etcd 3.6 has it there alone
                *("snapshot", "restore", str(snapshot), "--name", node.name),
                *("--data-dir", str(node.folder / node.name), "--initial-cluster", cluster),
                *("--initial-advertise-peer-urls", node.peer_url),
            )

        self._begin_anew(restore)

    def _begin_anew(self, prepare: Callable[[EtcdNode], None]) -> None:
        for node in self.nodes:
            node.kill()
        for node in self.nodes:
            shutil.rmtree(self.folder / node.name)
            prepare(node)
        for node in self.nodes:
            node.start()
        self.leader()

    def close(self) -> None:
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
