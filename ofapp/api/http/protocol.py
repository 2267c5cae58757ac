"""HTTP on one connection: requests as `RequestReader` reads them, answered by eventlet's server."""

from __future__ import annotations

import contextlib
import socket
import ssl
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from ofapp.api.http.connection_limiter import CONNECTION, Stage
from ofapp.api.http.request_reader import MAX_BODY, HttpRequest, RefusedError, RequestReader
from ofapp.api.problems import error_response
from ofapp.common import hub

_PIECE = 8192  # octets read at a time
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_OWN_NAMES = ("CONTENT_TYPE", "CONTENT_LENGTH")  # in the environment without HTTP_
_READ_ALREADY = ("CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING", "HTTP_EXPECT")


class Protocol(hub.HttpProtocol):  # type: ignore[misc]
    """HTTP on one connection; its server's socket is a `ConnectionLimiter`."""

    def handle(self) -> None:
        """Serve until the connection ends."""
        limiter = self.server.socket
        connection = limiter.connection(self.client_address)
        if connection is None:
            return
        self._connection = connection
        self._reader = RequestReader()
        self.environ: dict[str, Any] = {}
        try:
            if connection.tls is not None:
                connection.tls.shake_hands(connection.socket)
            self._own_address = self.connection.getsockname()
            super().handle()
        except (ssl.SSLError, TimeoutError):  # no TLS, or closed
            limiter.counts["insecure"] += connection.stage is Stage.HANDSHAKE
        except OSError:
            if connection.stage is not Stage.HANDSHAKE:
                raise
        finally:
            limiter.leave(self.client_address, connection)
            connection.enter(Stage.IDLE)
            self._reader.close()
            self.environ.clear()  # a reference cycle: only the garbage collector would free it

    def handle_one_request(self) -> None:
        """Read a request and answer it, or close the connection."""
        self.close_connection = True
        try:
            request = self._next_request()
        except RefusedError as refused:
            secure = self._connection.tls is not None
            self._part(error_response(refused.status, refused.detail, secure))
            return
        if request is None or self._connection.dismissed:
            return
        self.conn_state[2] = hub.HTTP_REQUEST
        self.command, self.path = request.method, request.target
        self.request_version = f"HTTP/{request.version}"
        self.requestline = f"{request.method} {request.target} {self.request_version}"
        self.close_connection = not request.keep_alive
        self.headers = _connection_header(request)
        self.environ = self._environment(request)
        self.application = self.server.app
        self._connection.enter(Stage.ANSWER, self.environ)
        with contextlib.suppress(ConnectionError):  # the client has gone
            self.handle_one_response()
            return
        self.close_connection = True

    def finish(self) -> None:
        """Send buffered data, and close the connection."""
        with contextlib.suppress(ssl.SSLError):
            super().finish()
            return
        hub.hang_up(self.connection)
        self.connection.close()

    # Internal

    def _next_request(self) -> HttpRequest | None:
        """Read the next request; None if the connection has ended; RefusedError."""
        reader, connection = self._reader, self._connection
        if reader.waiting:
            hub.sleep(0)  # a client that sends many at once does not block the others
        connection.enter(Stage.REQUEST if reader.begun else Stage.IDLE)
        while (request := reader.next()) is None:
            try:
                data = self.connection.recv(_PIECE)
            except OSError:
                return None
            if not data or connection.dismissed:
                return None
            if connection.stage is Stage.IDLE:
                connection.enter(Stage.REQUEST)
            reader.feed(data)
            if reader.asks_to_continue():
                self.wfile.write(_CONTINUE)
                self.wfile.flush()
        return request

    def _part(self, words: bytes) -> None:
        """Send an error response to a client without a valid request.

        Unread input has to be read: else the system resets the connection on close, and the client
        may never get the response.  Under TLS nothing more can be read after our end.
        """
        self.wfile.write(words)
        self.wfile.flush()
        if self._connection.tls is not None:
            return
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            for _ in range(MAX_BODY // _PIECE):
                if not self.connection.recv(_PIECE):
                    break

    def _environment(self, request: HttpRequest) -> dict[str, Any]:
        """The WSGI environment of a request (PEP 3333)."""
        path, _, query = request.target.partition("?")
        own, client = _host_and_port(self._own_address), _host_and_port(self.client_address)
        environ = {
            **self.server.get_environ(),
            CONNECTION: self._connection,
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": "",
            "RAW_PATH_INFO": path,
            "PATH_INFO": unquote(path, "latin-1"),
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": self.request_version,
            "SERVER_NAME": own[0],
            "SERVER_PORT": own[1],
            "REMOTE_ADDR": client[0],
            "REMOTE_PORT": client[1],
            "GATEWAY_INTERFACE": "CGI/1.1",
            "wsgi.input": BytesIO(request.body),
            "eventlet.input": hub.HttpInput(BytesIO(), 0, self.connection),
            "eventlet.posthooks": [],
        }
        for name, value in request.fields:
            if "_" in name:
                continue  # a-b and a_b would be one
            key = name.upper().replace("-", "_")
            key = key if key in _OWN_NAMES else f"HTTP_{key}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value
        for key in _READ_ALREADY:
            environ.pop(key, None)
        if request.body:
            environ["CONTENT_LENGTH"] = str(len(request.body))
        if self._connection.tls is not None:
            environ |= {"wsgi.url_scheme": "https", "HTTPS": "on"}
        return environ


def _connection_header(request: HttpRequest) -> dict[str, str]:
    """The headers that eventlet's server reads."""
    if not request.keep_alive:
        return {"Connection": "close"}
    return {} if request.version == "1.1" else {"Connection": "keep-alive"}


def _host_and_port(address: Any) -> tuple[str, str]:
    """Host and port; a placeholder for UNIX sockets, which have none."""
    return (address[0], str(address[1])) if isinstance(address, tuple) else ("unix", "")
