"""Serves the API: eventlet's WSGI server, in greenlets beside the switches'."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections import Counter
from typing import Any

from ofapp.api.app import create_app
from ofapp.api.door import CONNECTIONS, Door, Protocol
from ofapp.api.events import Streams
from ofapp.common import hub
from ofapp.controller.network import Network

LOG = logging.getLogger(__name__)

CLIENT_PATIENCE = 30.0
"""Seconds a client may take to read or write the next bytes, or to ask again."""

GREENLETS = 2 * CONNECTIONS
"""Some serve connections that the door has ended already."""


class ApiServer:
    """The API of a network on one address.

    host: an IPv4 or IPv6 address; port: 0 for any free one, `port` tells which.
    """

    def __init__(self, network: Network, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._streams = Streams()
        self._ended: Counter[str] = Counter()
        self._app = create_app(network, _is_loopback(host), self._streams, self._ended)
        self._tell = network.events.tell
        self._socket: Any = None
        self._threads: list[Any] = []

    def start(self) -> Any:
        """Listen and serve; OSError when the address cannot be had.  Gives the serving greenlet."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._socket = hub.listen((self.host, self.port), family)
        self.port = self._socket.getsockname()[1]
        door = Door(self._socket, self._tell, self._ended)
        serving = hub.spawn(
            hub.wsgi_server,
            door,
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
        self._threads = [serving, hub.spawn(door.watch)]
        return serving

    def stop(self) -> None:
        """Take no more requests and end the streams."""
        self._streams.stopping = True
        for thread in self._threads:
            hub.kill(thread)
        if self._threads:
            self._socket.close()
        self._threads = []


class _AccessLog:
    def write(self, line: str) -> None:
        LOG.debug("%s", line.rstrip())


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
