"""An HTTP server in a process by itself: eventlet may have replaced this process' threads.

    python -m tests.support.receiver PORT FOLDER [CERT KEY]

FOLDER is how it is steered: `status` has the status to answer, while `slow` exists no request is
answered, and each request that is answered is a line of JSON in `heard`.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.ports import free_port
from tests.support.waiting import wait_for


class Receiver:
    """The server as a test steers it; it can go and come back on the same port.

    folder: an empty folder; certificate: with it, files of a certificate and its key.
    """

    def __init__(self, folder: Path, *certificate: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._certificate = certificate
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()
        self.answer(200)
        self.forget()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        listens = self._folder / "listens"
        command = [sys.executable, "-m", "tests.support.receiver", self.port, self._folder]
        command += self._certificate
        self._process = subprocess.Popen([*map(str, command)])
        wait_for(listens.exists, "the receiver to listen")

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def answer(self, status: int) -> None:
        """Answer with this status from now on."""
        (self._folder / "status").write_text(str(status))

    def be_slow(self, slow: bool) -> None:
        """Answer no request, or answer again."""
        (self._folder / "slow").touch() if slow else (self._folder / "slow").unlink()

    def forget(self) -> None:
        """Forget the requests until now."""
        (self._folder / "heard").write_text("")

    @property
    def heard(self) -> list[tuple[str, str | None, Any]]:
        """Path, Authorization and body of each request."""
        lines = (self._folder / "heard").read_text().splitlines()
        return [tuple(json.loads(line)) for line in lines]

    def changes(self, kind: str) -> list[str]:
        """What was sent of one kind of problem, in its order."""
        return [body["change"] for _, _, body in self.heard if body.get("kind") == kind]


def serve(port: int, folder: Path, certificate: list[str]) -> None:
    """Serve until the process is ended."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if (slow := folder / "slow").exists():
                wait_for(lambda: not slow.exists(), "the end of the pause", seconds=600)
                return
            with (folder / "heard").open("a") as heard:
                heard.write(json.dumps([self.path, self.headers["Authorization"], body]) + "\n")
            self.send_response(int((folder / "status").read_text()))
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    (folder / "listens").touch()
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
