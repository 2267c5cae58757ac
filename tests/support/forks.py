"""Start controllers as forks of a process that has everything imported; see `preloaded`."""

from __future__ import annotations

import array
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


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

    def wait(self, timeout: float) -> int:
        """Wait for its end; subprocess.TimeoutExpired."""
        end = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return status

    def send_signal(self, number: int) -> None:
        """Nothing happens when it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def fork(arguments: list[str], cwd: Path, environment: Mapping[str, str], output: int) -> Fork:
    """Start `ofapp-manager` with these arguments, in the caller's network namespace."""
    request = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment)}
    with ExitStack() as files:
        null = files.enter_context(open(os.devnull, "rb"))
        network = files.enter_context(open("/proc/thread-self/ns/net", "rb"))
        fds = array.array("i", [null.fileno(), output, output, network.fileno()])
        server = _server()
        server.sendmsg(
            [json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
        )
        return Fork(int(server.recv(64)))


@cache
def _server() -> socket.socket:
    """It ends with this process, when its socket is closed."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own.settimeout(60)
    with its:
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.preloaded", str(its.fileno())],
            cwd=Path(__file__).parents[2],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
        )
    return own
