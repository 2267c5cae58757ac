"""Asking the controller's REST API: over its socket where that is meant, as no token is at hand."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request

from ofapp.common.api_address import API_SOCKET, API_URL, answers

UNIX = "unix:"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(api: str, path: str, seconds: float, method: str = "GET") -> tuple[int, bytes]:
    """The status and the body; OSError or ValueError when there is no HTTP answer.

    api: a URL, or `unix:` and the path of a socket.  The usual URL stands for the controller of
    this machine, whose socket goes before it.
    """
    try:
        if api.startswith(UNIX):
            return _locally(api.removeprefix(UNIX), path, seconds, method)
        if api.rstrip("/") == API_URL and answers(API_SOCKET):
            return _locally(API_SOCKET, path, seconds, method)
        request = urllib.request.Request(api.rstrip("/") + path, method=method)
        with _DIRECT.open(request, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except http.client.HTTPException as error:
        raise ValueError(f"what answers there is not ofapp: {error!r}") from None


def _locally(place: str, path: str, seconds: float, method: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.settimeout(seconds)
        connection.sock.connect(place)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
