"""The controllers that are compared: how each is started, alone and pinned, and stopped.

A controller gets core 1 and the emulator core 0, each repetition a fresh process.  CPU time is the
sum over its threads as the kernel's scheduler counts it, in nanoseconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ofapp.bench.cpu import run_time
from ofapp.bench.processes import end, free_port, listens, wait_until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ETCD = os.environ.get("OFAPP_BENCH_ETCD", "")
"""HOST:PORT of one that a member of a cluster may use."""
CORES = sorted(os.sched_getaffinity(0))
"""The emulator has the first one, the controller the last one."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A controller: the command for (OpenFlow port, REST port), and what it needs to run."""

    name: str
    command: Callable[[int, int], list[str]]
    hosts: int
    """Hosts a repetition teaches it: about a second of work for this one."""
    missing: str = ""
    """Why it cannot run here; empty when it can."""


@dataclass(frozen=True, slots=True)
class Running:
    """A controller that runs."""

    process: subprocess.Popen[bytes]
    port: int
    rest_port: int
    log: Path

    def cpu_seconds(self) -> float:
        """CPU time of all its threads so far."""
        return run_time(self.process.pid)

    def resident(self) -> int:
        """Resident bytes (Rss of smaps_rollup)."""
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        line = next(line for line in text.splitlines() if line.startswith("Rss:"))
        return int(line.split()[1]) * 1024


def ofapp(port: int, rest_port: int) -> list[str]:
    manager = Path(sys.executable).parent / "ofapp-manager"
    listen = ["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", str(port)]
    rest = ["--wsapi-port", str(rest_port), "--state-dir", "state"]  # relative: a scratch directory
    return [str(manager), "ofapp.app", *listen, *rest, "--config-file", str(HERE / "ofapp.yaml")]


def _member(port: int, rest_port: int) -> list[str]:
    return [*ofapp(port, rest_port), f"--cluster=etcd={ETCD}", "--member=bench"]


def _plain(hub: str) -> Callable[[int, int], list[str]]:
    script = str(HERE / "peers" / "learning_switch.py")
    return lambda port, _rest_port: [sys.executable, script, str(port), hub]


def _testcontroller(port: int, _rest_port: int) -> list[str]:
    run_dir = tempfile.gettempdir()
    control = f"--unixctl={run_dir}/ofapp-bench-testcontroller-{port}.ctl"
    options = ["-O", "OpenFlow13", "-vANY:ANY:err", control]
    return ["ovs-testcontroller", *options, f"ptcp:{port}:127.0.0.1"]


def _null(port: int, _rest_port: int) -> list[str]:
    return [sys.executable, "-m", "tests.bench.peers.null_controller", str(port)]


def peers() -> dict[str, Peer]:
    """All of them by short name; ofapp first."""
    manager = Path(sys.executable).parent / "ofapp-manager"
    no_app = "" if (ROOT / "ofapp" / "app.py").exists() else "ofapp/app.py is not there"
    if not manager.exists():
        no_app = f"{manager} is not installed"
    no_ovs = "" if shutil.which("ovs-testcontroller") else "ovs-testcontroller is not installed"
    return {
        "ofapp": Peer("ofapp-manager ofapp.app", ofapp, 90_000, no_app),
        "member": Peer(
            "the same in a cluster",
            _member,
            90_000,
            no_app or ("" if ETCD else "OFAPP_BENCH_ETCD does not say where etcd is"),
        ),
        "ovs": Peer("ovs-testcontroller (C)", _testcontroller, 90_000, no_ovs),
        "plain": Peer("plain os-ken app, eventlet", _plain("eventlet"), 8_000),
        "native": Peer("plain os-ken app, native threads", _plain("native"), 8_000),
        "null": Peer("(ceiling) null controller in C", _null, 400_000),
    }


def launch(command: list[str], folder: Path, port: int, rest_port: int) -> Running:
    """Start a controller on the second core, and wait until it listens.

    folder: its working directory, where its log is.  RuntimeError if it does not start.
    """
    log = folder / "log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["taskset", "-c", str(CORES[-1]), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(os.environ, PYTHONPATH=str(ROOT), PYTHONWARNINGS="ignore"),
        )
    if not wait_until(lambda: listens(port) or process.poll() is not None, 60):
        end(process)
    if process.poll() is not None:
        said = log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"the controller does not listen on its port; it said:\n{said}")
    return Running(process, port, rest_port, log)


@contextlib.contextmanager
def running(peer: Peer) -> Iterator[Running]:
    """Start the controller on the second core; stop it and forget its log at the end."""
    port, rest_port = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="ofapp-bench-") as scratch:
        started = launch(peer.command(port, rest_port), Path(scratch), port, rest_port)
        try:
            yield started
        except Exception as error:
            said = started.log.read_text(errors="replace")[-2000:]
            error.add_note(f"{peer.name} said:\n{said}")
            raise
        finally:
            end(started.process)


@contextlib.contextmanager
def emulator_core() -> Iterator[None]:
    """Keep this process and its threads on the first core meanwhile."""
    os.sched_setaffinity(0, {CORES[0]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, set(CORES))
