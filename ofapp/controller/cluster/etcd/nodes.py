"""One node of etcd: requests to its HTTP gateway (v3, JSON), and the meaning of its errors.

They use urllib3: 0.5 ms of CPU a request, where httpx takes 1.1 and requests 1.7 [measured].
etcd3gw is based on requests, supports one node and no users, and has no time limits.  Names are
resolved in a thread, as the resolver would block the hub.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import FullError, LostError, RefusedError

DEFAULT_PORT = 2379

SHUNNED = 3.0
"""Seconds for which a node that did not answer is asked after all others."""

QUIET = 5.0
"""Seconds of silence after which a new stream is opened: nothing else distinguishes a node that is
cut off from one where nothing changes."""

CONNECTIONS = 16
"""Connections kept open to a node."""

MAX_MESSAGE = 64 << 20
"""Maximum octets of a stream's message."""


class UnansweredError(Exception):
    """This node did not answer; another may.  maybe: it may carry out the request."""

    def __init__(self, why: str, maybe: bool) -> None:
        super().__init__(why)
        self.maybe = maybe


class TokenError(RefusedError):
    """The node does not know the token: it restarted, or the token expired.  Request another."""


class CompactedError(RefusedError):
    """The revision has been compacted."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to etcd.  path: below /v3/; seconds: time limit for all of it."""

    path: str
    body: Mapping[str, Any]
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict)


class NodeConnection:
    """Connections to one node.  endpoint: HOST:PORT; context: TLS context, None without."""

    def __init__(self, endpoint: str, context: ssl.SSLContext | None) -> None:
        self.endpoint = endpoint
        self.shunned = 0.0
        self._dated = "", 0.0
        host, _, port = endpoint.rpartition(":") if _has_port(endpoint) else (endpoint, "", "")
        self._host = host.strip("[]")
        self._port = int(port or DEFAULT_PORT)
        self._context = context
        self._pool: urllib3.HTTPConnectionPool | None = None

    def ask(self, request: Request) -> dict[str, Any]:
        """Send a request; returns the answer.  UnansweredError, and the errors of `etcd.Etcd`."""
        with self._guarded(request):
            response = self._post(request, whole=True)
        self._dated = response.headers.get("Date", ""), time.time()
        return self._read(response.status, response.data)

    def ahead(self) -> float:
        """Seconds that its clock is ahead of this host's, by the last answer; 0 if not known.

        An answer has its time in whole seconds.
        """
        date, now = self._dated
        try:
            return parsedate_to_datetime(date).timestamp() + 0.5 - now
        except ValueError:
            return 0.0

    @contextlib.contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[dict[str, Any]]]:
        """A streamed answer, message by message, until it has been silent for `QUIET`."""
        with self._guarded(request):
            response = self._post(request, whole=False)
            if response.status != 200:
                self._read(response.status, response.data)
        try:
            yield self._messages(response)
        finally:
            response.close()

    def shun(self) -> None:
        """Ask this node last for a while, and resolve its name again: it did not answer."""
        self.shunned = time.monotonic() + SHUNNED
        self.close()

    def close(self) -> None:
        """Close idle connections."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    # Inside

    def _post(self, request: Request, whole: bool) -> urllib3.BaseHTTPResponse:
        if self._pool is None:
            self._pool = self._connect()
        return self._pool.urlopen(
            "POST",
            f"/v3/{request.path}",
            body=json.dumps(request.body).encode(),
            headers={"Content-Type": "application/json", **request.headers},
            retries=False,
            redirect=False,
            timeout=urllib3.Timeout(connect=request.seconds / 2, read=QUIET),
            preload_content=whole,
        )

    def _connect(self) -> urllib3.HTTPConnectionPool:
        try:
            infos = hub.in_thread(socket.getaddrinfo, self._host, self._port, 0, socket.SOCK_STREAM)
        except OSError as error:
            raise UnansweredError(f"its name does not resolve: {error}", maybe=False) from None
        address = infos[0][4][0]
        if self._context is None:
            return urllib3.HTTPConnectionPool(address, self._port, maxsize=CONNECTIONS)
        return urllib3.HTTPSConnectionPool(
            address,
            self._port,
            maxsize=CONNECTIONS,
            ssl_context=self._context,
            server_hostname=self._host,
            assert_hostname=self._host,
        )

    @contextlib.contextmanager
    def _guarded(self, request: Request) -> Iterator[None]:
        """Raise errors of the connection as UnansweredError."""
        limit = hub.Timeout(request.seconds)
        try:
            yield
        except hub.Timeout as timeout:
            if timeout is not limit:
                raise
            raise UnansweredError(f"no answer in {request.seconds:.1f} s", maybe=True) from None
        except (ConnectTimeoutError, NewConnectionError, NameResolutionError) as error:
            raise UnansweredError(_why(error), maybe=False) from None
        except SSLError as error:
            raise UnansweredError(f"TLS: {error}", maybe=False) from None
        except (HTTPError, OSError) as error:
            raise UnansweredError(_why(error), maybe=True) from None
        finally:
            limit.cancel()

    def _messages(self, response: urllib3.BaseHTTPResponse) -> Iterator[dict[str, Any]]:
        waiting = b""
        try:
            for chunk in response.stream(1 << 16):
                *lines, waiting = (waiting + chunk).split(b"\n")
                for line in lines:
                    if line:
                        yield self._read(200, line)
                if len(waiting) > MAX_MESSAGE:
                    raise UnansweredError("a message that is too long", maybe=True)
        except ReadTimeoutError:
            return
        except (ProtocolError, HTTPError, OSError) as error:
            raise UnansweredError(_why(error), maybe=True) from None

    def _read(self, status: int, data: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            if status >= 500:
                raise UnansweredError(f"HTTP status {status}", maybe=True)
            words = ascii(data[:200].decode(errors="replace").strip())[1:-1]
            if "CommonName" in words:
                words = (
                    "with authentication enabled, its gateway accepts no client certificate with a"
                    " common name (CN): make one with a subject alternative name only"
                )
            raise RefusedError(f"{self.endpoint} refuses this ({status}): {words}")
        error = answer.get("error")
        if isinstance(error, dict):  # an error of a stream
            _refuse(int(error.get("grpc_code", 2)), str(error.get("message", "")))
        if error is not None or status != 200:
            _refuse(int(answer.get("code", 2)), str(answer.get("message") or error))
        return answer


_TRANSIENT = {1, 2, 4, 8, 10, 13, 14}
"""gRPC status codes of errors that another node, or a later try, may not have."""


def _refuse(code: int, message: str) -> None:
    """Raise the exception for an error of etcd; some are only known by their text."""
    if "lease not found" in message:
        raise LostError("the lease does not exist any more")
    if "space exceeded" in message:
        raise FullError("etcd is full (alarm NOSPACE): compact and defragment it, then disarm")
    if "compacted" in message:
        raise CompactedError(message)
    if code == 16 or "auth token" in message or "auth store is old" in message:
        raise TokenError(f"etcd refuses this: {message}")
    if code in _TRANSIENT:
        not_begun = "no leader" in message or "too many requests" in message
        raise UnansweredError(message, maybe=not not_begun)
    raise RefusedError(f"etcd refuses this: {message}")


def _has_port(endpoint: str) -> bool:
    return endpoint.rpartition(":")[2].isdigit() and (
        endpoint.count(":") == 1 or endpoint.startswith("[")
    )


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error.__cause__ or error
    return getattr(reason, "strerror", None) or str(reason) or type(error).__name__
