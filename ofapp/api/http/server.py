"""The API's server: eventlet's WSGI server, in greenlets beside those of the switches."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ofapp.api.app import SITE, create_app
from ofapp.api.http import unix_socket as local
from ofapp.api.http.connection_limiter import CONNECTIONS, ConnectionLimiter
from ofapp.api.http.path import path_info
from ofapp.api.http.streams import Streams
from ofapp.api.http.tls import Handshakes, Tls, TlsFiles
from ofapp.common import hub
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface
import contextlib
import ssl
from io import BytesIO

from ofapp.api.http.connection_limiter import CONNECTION, Stage
from ofapp.api.http.request_reader import MAX_BODY, HttpRequest, RefusedError, RequestReader
from ofapp.api.problems import error_response

_PIECE = 8192  # octets read at a time
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_OPTIONS = (  # of the server, not of a resource (RFC 9110, 9.3.7)
    b"HTTP/1.1 204 No Content\r\nAllow: GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE\r\n\r\n"
)
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
        if request.target == "*":
            self.wfile.write(_OPTIONS)
            self.wfile.flush()
            self.close_connection = not request.keep_alive
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
        """Read the next request; None if the connection has ended.  Raises RefusedError."""
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
        server, client = _host_and_port(self._own_address), _host_and_port(self.client_address)
        environ = {
            **self.server.get_environ(),
            CONNECTION: self._connection,
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": "",
            "RAW_PATH_INFO": path,
            "PATH_INFO": path_info(path),
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": self.request_version,
            "SERVER_NAME": server[0],
            "SERVER_PORT": server[1],
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


LOG = logging.getLogger(__name__)

CLIENT_PATIENCE = 30.0
"""Seconds a client may take to read or write the next bytes, or to send the next request."""

GREENLETS = 2 * CONNECTIONS
"""Some serve connections that the limiter has closed already."""


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """Address of the API.

    host: an IPv4 or IPv6 address; port: 0 for any free one.  tls: None = without TLS.
    path: path of an additional UNIX socket.
    site: folder of the documentation's site, for the laboratory.
    """

    host: str
    port: int
    tls: TlsFiles | None = None
    path: Path | None = None
    site: Path = SITE


class ApiServer:
    """The server of a network's API; `port` is the port in use.

    surface: interface to the cluster, if there is one: its members are served as well.
    """

    def __init__(self, network: Network, place: ApiAddress, surface: Surface | None = None) -> None:
        self.port = place.port
        self._place = place
        self._surface = surface
        self._streams = Streams(None if surface is None else surface.members.own)
        self._ended: Counter[str] = Counter()
        local_only = is_loopback(place.host)
        self._app = create_app(network, local_only, self._streams, self._ended, surface, place.site)
        self._emit = network.events.emit
        self._sockets: list[Any] = []
        self._threads: list[Any] = []
        self._tls: Tls | None = None

    def start(self) -> Any:
        """Listen and serve; returns the serving greenlet.  OSError if it cannot listen."""
        place = self._place
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        if place.tls is not None:
            self._tls = Tls(place.tls, self._emit)
            self._threads.append(hub.spawn(self._tls.watch))
        listening = hub.listen((place.host, place.port), family)
        self.port = listening.getsockname()[1]
        if place.path is not None:
            self._serve_locally(place.path)
        if self._surface is not None:
            self._serve_members(self._surface)
        return self._serve(listening, self._tls)

    def _serve_members(self, surface: Surface) -> None:
        place = surface.place
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        listening = hub.listen((place.host, place.port), family)
        self._serve(listening, Handshakes(surface.context), surface.refused)
        host = f"[{place.host}]" if ":" in place.host else place.host
        surface.announce(f"https://{host}:{listening.getsockname()[1]}")

    def _serve_locally(self, path: Path) -> None:
        try:
            listening = local.listen(path)
        except OSError as error:  # users who run this by hand may have no write permission there
            LOG.info("the API has no UNIX socket at %s: %s", path, error.strerror or error)
            return
        self._serve(listening, None)

    def _serve(
        self, listening: Any, tls: Handshakes | None, refused: Counter[str] | None = None
    ) -> Any:
        """Start a serving greenlet.  refused: counts refusals, for the listener for members only.

        Each listener has a separate limiter: too many connections to one do not affect the others.
        """
        self._sockets.append(listening)
        counts = self._ended if refused is None else refused
        limiter = ConnectionLimiter(listening, self._emit, counts, tls)
        limiter.inside = refused is not None
        serving = hub.spawn(
            hub.wsgi_server,
            limiter,
            self._app,
            log=_AccessLog(),
            log_output=LOG.isEnabledFor(logging.DEBUG),
            debug=False,
            max_size=GREENLETS,
            protocol=Protocol,
            minimum_chunk_size=1,  # an event is sent when it happens, not with 4 KB of others
            keepalive=CLIENT_PATIENCE,
            socket_timeout=CLIENT_PATIENCE,
        )
        self._threads += [serving, hub.spawn(limiter.watch)]
        return serving

    def stop(self) -> None:
        """Accept no more requests and end the streams."""
        self._streams.stopping = True
        for thread in self._threads:
            hub.kill(thread)
        for listening in self._sockets:
            listening.close()
        if self._place.path is not None and self._sockets:
            local.remove(self._place.path)
        self._threads, self._sockets = [], []


class _AccessLog:
    def write(self, line: str) -> None:
        LOG.debug("%s", line.rstrip())


def is_loopback(host: str) -> bool:
    """Whether the address is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
