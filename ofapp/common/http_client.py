"""Connections to an HTTP server by URL, also over a UNIX socket.

The standard library's client loads in a tenth of the time that httpx takes, which a command that
asks two questions would wait for [measured].  A connection is for one request, so none is found
closed by the server.
"""

from __future__ import annotations

import http.client
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ofapp.common.api_address import UNIX

if TYPE_CHECKING:
    import ssl


class _UnixConnection(http.client.HTTPConnection):
    """A connection to the socket at `path`."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        """Connect.  Raises OSError."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def connection(
    url: str, seconds: float, trust: ssl.SSLContext | None = None
) -> tuple[http.client.HTTPConnection, str]:
    """An unopened connection, and the path that all paths begin with; ValueError for another URL.

    url: http:, https: or `unix:` and the path of a socket; proxies are not used, as the server may
    be on this machine.  seconds: longest time without an answer.  trust: for https.
    """
    if url.startswith(UNIX):
        return _UnixConnection(url.removeprefix(UNIX), seconds), ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url} is not a URL that begins with http://, https:// or {UNIX}")
    path = parts.path.rstrip("/")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds), path
    made = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=seconds, context=trust)
    return made, path
