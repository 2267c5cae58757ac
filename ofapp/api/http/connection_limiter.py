"""Limits of the number of API connections, and of the time that a request may take.

Slow, silent or many clients must not block others.  A whole request has a deadline, not only its
next byte.  When there are too many connections, one of the peer that has most is closed: that which
waits for a request the longest.  Clients that send their request at once are served meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ofapp.api.http import unix_socket as local
from ofapp.api.http.events import API_CROWDED, API_CROWDED_CLEARED, API_STARVED, API_STARVED_CLEARED
from ofapp.api.http.tls import Handshakes
from ofapp.api.problems import error_response
from ofapp.bridge.event import Event, EventKind
from ofapp.common import hub
from ofapp.controller.access import User

CONNECTIONS = 128
"""Most connections at a time."""

PEER_CONNECTIONS = 64
"""Most connections of one address, or one IPv6 /64, so that one peer cannot take all."""

CONNECTION = "ofapp.connection"
"""Key in a request's environment: the connection (`Connection`) that it arrived on."""

LASTING = "ofapp.lasting"
"""Key in a request's environment: its answer has no deadline, as it is a stream."""

_CLOSED = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)
_LOOK = 1.0  # seconds between checks for late connections
_LATE = error_response(408, "the request did not arrive in time")
_FULL = error_response(503, "there are too many connections to the API")


class Stage(Enum):
    """Stage of a connection, and its timeout in seconds."""

    IDLE = 30.0  # until the first byte of a request
    REQUEST = 10.0  # until the rest of it
    ANSWER = 60.0  # until the answer is made and the client has read it
    HANDSHAKE = 15.0  # of TLS; values must differ, or the members of the enum would be aliases


@dataclass(eq=False)
class Connection:
    """A connection; since: when its stage began, monotonic; user: peer on a UNIX socket.

    inside: it was accepted by the listener for the cluster's members.
    """

    socket: Any
    peer: str
    user: User | None = None
    tls: Handshakes | None = None
    inside: bool = False
    since: float = field(default_factory=time.monotonic)
    stage: Stage = Stage.IDLE
    environ: dict[str, Any] = field(default_factory=dict)
    dismissed: bool = False

    def enter(self, stage: Stage, environ: dict[str, Any] | None = None) -> None:
        """Start another stage."""
        self.stage, self.since, self.environ = stage, time.monotonic(), environ or {}

    def late(self, now: float) -> bool:
        """Whether the stage has exceeded its timeout."""
        return now - self.since > self.stage.value and not self.environ.get(LASTING)

    def certificate(self) -> bytes | None:
        """The client's certificate, DER; None without one."""
        der: bytes | None = None if self.tls is None else self.socket.getpeercert(True)
        return der

    def has_left(self) -> bool:
        """Whether the client has closed the connection, as far as is known without reading."""
        return hub.has_left(self.socket)

    def dismiss(self, response: bytes) -> None:
        """Close the connection, also while a greenlet reads or writes it."""
        self.dismissed = True
        hub.hang_up(self.socket, b"" if self.stage is Stage.ANSWER else response)


_CLEARED = {API_CROWDED: API_CROWDED_CLEARED, API_STARVED: API_STARVED_CLEARED}


class ConnectionLimiter:
    """A listening socket, as eventlet's server uses one.

    counts: counts closed connections as `late`, `displaced`, `refused` or `insecure`.
    tls: for a listener of HTTPS; inside: it is for the cluster's members.
    """

    inside = False

    def __init__(
        self,
        listening: Any,
        emit: Callable[[int | None, Event], None],
        counts: Counter[str],
        tls: Handshakes | None = None,
    ) -> None:
        self.counts = counts
        self.tls = tls
        self._listening = listening
        self._served = 0
        self._emit = emit
        self._connections: dict[Any, Connection] = {}  # by address and port
        self._trouble: dict[EventKind, str] = {}  # event kinds that are not cleared yet

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listening, name)

    def accept(self) -> tuple[Any, Any]:
        """Accept the next connection; retries after errors."""
        while True:
            hub.sleep(0)  # serve accepted connections before the next, however many there are
            try:
                client, address = self._listening.accept()
            except OSError as error:
                if error.errno in _CLOSED:
                    raise
                self._warn(API_STARVED, f"no connection can be accepted: {error.strerror}")
                hub.sleep(hub.RETRY_SECONDS)
                continue
            self._clear(API_STARVED, "connections are accepted again")
            try:
                address, connection = self._received(client, address)
            except OSError:  # closed already
                client.close()
                continue
            connection.inside = self.inside
            if self._make_room(connection.peer):
                self._connections[address] = connection
                return connection.socket, address
            self.counts["refused"] += 1
            connection.dismiss(_FULL)
            connection.socket.close()

    def _received(self, client: Any, address: Any) -> tuple[Any, Connection]:
        """The connection and its address; UNIX peers all have `""`, so they get a unique one."""
        if client.family == socket.AF_UNIX:
            user = local.user(client)
            self._served += 1
            return (f"uid {user.uid}", self._served), Connection(client, f"uid {user.uid}", user)
        peer = peer_of(address[0])
        if self.tls is None:
            return address, Connection(client, peer)
        return address, Connection(self.tls.wrap(client), peer, tls=self.tls, stage=Stage.HANDSHAKE)

    def connection(self, address: Any) -> Connection | None:
        """The connection from that address; None when it has been closed already."""
        return self._connections.get(address)

    def leave(self, address: Any, connection: Connection) -> None:
        """Remove a connection, unless a newer one from the same address has replaced it."""
        if self._connections.get(address) is connection:
            del self._connections[address]
        if len(self._connections) <= PEER_CONNECTIONS // 2:
            self._clear(API_CROWDED, "the API accepts more connections again")

    def watch(self) -> None:
        """Close connections that exceed their timeouts; does not return."""
        while True:
            hub.sleep(_LOOK)
            now = time.monotonic()
            late = [connection for connection in self._connections.values() if connection.late(now)]
            for connection in late:
                self.counts["late"] += 1
                connection.dismiss(b"" if connection.stage is Stage.IDLE else _LATE)

    def _make_room(self, peer: str) -> bool:
        by_peer = Counter(connection.peer for connection in self._connections.values())
        if by_peer[peer] >= PEER_CONNECTIONS:
            crowd = [at for at, connection in self._connections.items() if connection.peer == peer]
            what = f"{peer} has {PEER_CONNECTIONS} connections to the API, the most of one peer"
        elif len(self._connections) >= CONNECTIONS:
            crowd = [*self._connections]
            what = f"the API has {CONNECTIONS} connections, the maximum"
        else:
            return True
        self._warn(API_CROWDED, f"{what}: those that wait for a request the longest are closed")
        waiting = [at for at in crowd if self._connections[at].stage is not Stage.ANSWER]
        if not waiting:
            return False

        def rank(at: Any) -> tuple[int, float]:
            return -by_peer[self._connections[at].peer], self._connections[at].since

        self.counts["displaced"] += 1
        self._connections.pop(min(waiting, key=rank)).dismiss(_FULL)
        return True

    def _warn(self, kind: EventKind, message: str) -> None:
        if kind not in self._trouble:
            self._trouble[kind] = message
            self._emit(None, kind.event(message))

    def _clear(self, kind: EventKind, message: str) -> None:
        if self._trouble.pop(kind, None) is not None:
            self._emit(None, _CLEARED[kind].event(message, data=dict(self.counts)))


def peer_of(address: str) -> str:
    with contextlib.suppress(ValueError):
        ip = ipaddress.ip_address(address.partition("%")[0])
        if ip.version == 6 and ip.ipv4_mapped is None and not ip.is_loopback:
            return str(ipaddress.ip_network((ip, 64), strict=False))
    return address
