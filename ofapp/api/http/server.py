"""The API's server: eventlet's WSGI server, in greenlets beside those of the switches."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ofapp.api.app import create_app
from ofapp.api.http import unix_socket as local
from ofapp.api.http.connection_limiter import CONNECTIONS, ConnectionLimiter
from ofapp.api.http.protocol import Protocol
from ofapp.api.http.streams import Streams
from ofapp.api.http.tls import Handshakes, Tls, TlsFiles
from ofapp.common import hub
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface

LOG = logging.getLogger(__name__)

CLIENT_PATIENCE = 30.0
"""Seconds a client may take to read or write the next bytes, or to send the next request."""

GREENLETS = 2 * CONNECTIONS
"""Some serve connections that the limiter has closed already."""


@dataclass(frozen=True, slots=True)
class Place:
    """Address of the API.

    host: an IPv4 or IPv6 address; port: 0 for any free one.  tls: None = without TLS.
    path: of an additional UNIX socket.
    """

    host: str
    port: int
    tls: TlsFiles | None = None
    path: Path | None = None


class ApiServer:
    """The server of a network's API; `port` is the port in use.

    surface: of the cluster, if there is one: its members are served as well.
    """

    def __init__(self, network: Network, place: Place, surface: Surface | None = None) -> None:
        self.port = place.port
        self._place = place
        self._surface = surface
        self._streams = Streams(None if surface is None else surface.members.own)
        self._ended: Counter[str] = Counter()
        local_only = is_loopback(place.host)
        self._app = create_app(network, local_only, self._streams, self._ended, surface)
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
        own = surface.place
        family = socket.AF_INET6 if ":" in own.host else socket.AF_INET
        listening = hub.listen((own.host, own.port), family)
        self._serve(listening, Handshakes(surface.context), surface.refused)
        host = f"[{own.host}]" if ":" in own.host else own.host
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
