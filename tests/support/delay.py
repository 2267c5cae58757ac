"""A TCP proxy that passes everything on a while later, both ways: a network that is far away.

It is a separate process, as eventlet has no threads to wait in.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import sys
import threading
import time

from tests.support.ports import free_port
from tests.support.waiting import wait_for

CHUNK = 1 << 16


class DelayingProxy:
    """To one port of this machine.  seconds: from a request to its answer, on top of all else."""

    def __init__(self, target: int, seconds: float) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", __name__, str(self.port), str(target), str(seconds)]
        self._process = subprocess.Popen(command)
        wait_for(self._listens, "the proxy to listen", seconds=30)

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True


def serve(port: int, target: int, seconds: float) -> None:
    """Pass on until killed."""
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", target))
        for one, other in ((client, server), (server, client)):
            _pass_on(one, other, seconds / 2)


def _pass_on(one: socket.socket, other: socket.socket, seconds: float) -> None:
    late: queue.Queue[tuple[float, bytes]] = queue.Queue()

    def read() -> None:
        data = b"-"
        while data:
            try:
                data = one.recv(CHUNK)
            except OSError:
                data = b""
            late.put((time.monotonic() + seconds, data))

    def write() -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = late.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not data:
                    other.shutdown(socket.SHUT_WR)
                    return
                other.sendall(data)

    for run in (read, write):
        threading.Thread(target=run, daemon=True).start()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
