"""Start programs as forks of a process that has everything imported; see `preloaded`."""

from __future__ import annotations

import array
import ctypes
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from tests.support.waiting import during

MANAGER = "ofapp.launcher.manager"
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_one_at_a_time = threading.Lock()


class Fork:
    """A process like one of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status, or None while it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; subprocess.TimeoutExpired."""
        for _ in during(math.inf if timeout is None else timeout, 0.01):
            if (status := self.poll()) is not None:
                return status
        raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)

    def send_signal(self, number: int) -> None:
        """Nothing happens when it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def fork(
    arguments: list[str],
    cwd: Path,
    environment: Mapping[str, str],
    output: int,
    error: int | None = None,
    program: str = MANAGER,
    speed: float = 1,
) -> Fork:
    """Start a program with these arguments, in the caller's network namespace.

    program: a module that has a `main`; error: its standard error, which is `output` if None;
    speed: see `fast_clock`.
    """
    request = {
        "arguments": [program, *arguments],
        "cwd": str(cwd),
        "environment": dict(environment),
    }
    with ExitStack() as files:
        null = files.enter_context(open(os.devnull, "rb"))
        network = files.enter_context(open("/proc/thread-self/ns/net", "rb"))
        fds = array.array(
            "i", [null.fileno(), output, output if error is None else error, network.fileno()]
        )
        with _one_at_a_time:  # or a thread takes the answer to another's request
            server = _server(speed)
            server.sendmsg(
                [json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
            )
            return Fork(int(server.recv(64)))


@cache
def _server(speed: float) -> socket.socket:
    """It ends with this process, when its socket is closed."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own.settimeout(60)
    with its:
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.preloaded", str(its.fileno())],
            cwd=Path(__file__).parents[2],
            env=os.environ | {"OFAPP_TESTS_SPEED": str(speed)},
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
        )
    return own
