"""Who is let in to the API, and how long a request may take to arrive.

Clients that are slow, silent or many cost nobody else the API: a request has a deadline as a whole,
not only its next byte, and when there are too many connections those go that wait for a request the
longest, of who has the most of them.  Whoever sends a request at once is served meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from io import BytesIO
from typing import Any

from ofapp.api import local
from ofapp.api.problems import farewell
from ofapp.api.tls import Tls
from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.controller.access import User

CONNECTIONS = 128
"""At a time."""

PEER_CONNECTIONS = 64
"""Of one address, or of one IPv6 network of 64 bits, so that one peer cannot have all."""

GUEST = "ofapp.guest"
"""In the environment of a request: the `Guest` whose it is."""

LASTING = "ofapp.lasting"
"""Set in the environment of a request whose answer may take as long as it likes: a stream."""

MAX_BODY = 64 * 1024

_PIECE = 8192
_CLOSED = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)
_LOOK = 1.0  # seconds between looks at who is late
_LATE = farewell(408, "the request did not arrive in time")
_UNCLEAR = farewell(400, "where the request ends, or what its headers are, is not clear")
_LONG_LINE = farewell(414, "the request's first line is longer than the server reads")
_LONG_HEADERS = farewell(431, "the request's headers are longer than the server reads")
_FULL = farewell(503, "there are too many connections to the API")
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2


class Stage(Enum):
    """What is waited for, and for how many seconds at most."""

    IDLE = 30.0  # the first byte of a request
    REQUEST = 10.0  # the rest of it
    ANSWER = 60.0  # us, and the client's reading what we say
    HANDSHAKE = 15.0  # that of TLS; no two stages have one number, or they would be one


@dataclass(eq=False)
class Guest:
    """A connection; since: when its stage began, monotonic; user: at a UNIX socket's other end.

    inside: it came by the listener that is for the cluster's members.
    """

    socket: Any
    peer: str
    user: User | None = None
    tls: Tls | None = None
    inside: bool = False
    since: float = field(default_factory=time.monotonic)
    stage: Stage = Stage.IDLE
    environ: dict[str, Any] = field(default_factory=dict)
    dismissed: bool = False

    def enter(self, stage: Stage, environ: dict[str, Any] | None = None) -> None:
        """Another stage begins."""
        self.stage, self.since, self.environ = stage, time.monotonic(), environ or {}

    def late(self, now: float) -> bool:
        """Whether this takes too long."""
        return now - self.since > self.stage.value and not self.environ.get(LASTING)

    def certified(self) -> list[str] | None:
        """Whom the certificate names that it has shown; None without TLS."""
        if self.tls is None:
            return None
        names = (self.socket.getpeercert() or {}).get("subjectAltName", ())
        return [name for kind, name in names if kind == "DNS"]

    def dismiss(self, farewell: bytes) -> None:
        """End the connection, whoever is reading or writing there."""
        self.dismissed = True
        hub.hang_up(self.socket, b"" if self.stage is Stage.ANSWER else farewell)


class Door:
    """A listening socket, as eventlet's server uses one.

    counts: gets the connections that were ended, `late`, `displaced`, `refused` or `insecure`.
    tls: for a listener of HTTPS; inside: it is for the cluster's members.
    """

    inside = False

    def __init__(
        self,
        listening: Any,
        tell: Callable[[int | None, Event], None],
        counts: Counter[str],
        tls: Tls | None = None,
    ) -> None:
        self.counts = counts
        self.tls = tls
        self._listening = listening
        self._served = 0
        self._tell = tell
        self._guests: dict[Any, Guest] = {}  # by address and port
        self._trouble: dict[str, str] = {}  # kinds of events that are not cleared yet

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listening, name)

    def accept(self) -> tuple[Any, Any]:
        """The next connection; what cannot be taken is waited for."""
        while True:
            hub.sleep(0)  # who has been let in is served before the next, however many there are
            try:
                client, address = self._listening.accept()
            except OSError as error:
                if error.errno in _CLOSED:
                    raise
                self._warn("api.starved", f"no connection can be taken: {error.strerror}")
                hub.sleep(hub.RETRY_SECONDS)
                continue
            self._clear("api.starved", "connections are taken again")
            try:
                address, guest = self._received(client, address)
            except OSError:  # it has gone again
                client.close()
                continue
            guest.inside = self.inside
            if self._make_room(guest.peer):
                self._guests[address] = guest
                return guest.socket, address
            self.counts["refused"] += 1
            guest.dismiss(_FULL)
            guest.socket.close()

    def _received(self, client: Any, address: Any) -> tuple[Any, Guest]:
        """Who that is, and what to call where they have come from: a UNIX socket's are all `""`."""
        if client.family == socket.AF_UNIX:
            user = local.user(client)
            self._served += 1
            return (f"uid {user.uid}", self._served), Guest(client, f"uid {user.uid}", user)
        peer = _peer(address[0])
        if self.tls is None:
            return address, Guest(client, peer)
        return address, Guest(self.tls.wrap(client), peer, tls=self.tls, stage=Stage.HANDSHAKE)

    def guest(self, address: Any) -> Guest | None:
        """Who came from there; None when it has been ended already."""
        return self._guests.get(address)

    def leave(self, address: Any, guest: Guest) -> None:
        """A connection has ended; another one may have come from there since it was displaced."""
        if self._guests.get(address) is guest:
            del self._guests[address]
        if len(self._guests) <= PEER_CONNECTIONS // 2:
            self._clear("api.crowded", "the API has room for connections again")

    def watch(self) -> None:
        """End what takes too long; does not end."""
        while True:
            hub.sleep(_LOOK)
            now = time.monotonic()
            for guest in [guest for guest in self._guests.values() if guest.late(now)]:
                self.counts["late"] += 1
                guest.dismiss(b"" if guest.stage is Stage.IDLE else _LATE)

    def _make_room(self, peer: str) -> bool:
        by_peer = Counter(guest.peer for guest in self._guests.values())
        if by_peer[peer] >= PEER_CONNECTIONS:
            crowd = [at for at, guest in self._guests.items() if guest.peer == peer]
            what = f"{peer} has {PEER_CONNECTIONS} connections to the API, the most of one peer"
        elif len(self._guests) >= CONNECTIONS:
            crowd = [*self._guests]
            what = f"the API has {CONNECTIONS} connections, the most there can be"
        else:
            return True
        self._warn("api.crowded", f"{what}: those that wait for a request the longest are ended")
        waiting = [at for at in crowd if self._guests[at].stage is not Stage.ANSWER]
        if not waiting:
            return False

        def rank(at: Any) -> tuple[int, float]:
            return -by_peer[self._guests[at].peer], self._guests[at].since

        self.counts["displaced"] += 1
        self._guests.pop(min(waiting, key=rank)).dismiss(_FULL)
        return True

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._trouble:
            self._trouble[kind] = message
            self._tell(None, Event(kind, message, Severity.WARNING))

    def _clear(self, kind: str, message: str) -> None:
        if self._trouble.pop(kind, None) is not None:
            self._tell(None, Event(f"{kind}.cleared", message, data=dict(self.counts)))


class Protocol(hub.HttpProtocol):  # type: ignore[misc]
    """HTTP on one connection; its server's socket is a `Door`."""

    def handle(self) -> None:
        """Serve until the connection ends."""
        door = self.server.socket
        guest = door.guest(self.client_address)
        if guest is None:
            return
        self._guest = guest
        self.environ: dict[str, Any] = {}
        try:
            if guest.tls is not None:
                guest.tls.shake_hands(guest.socket)
            super().handle()
        except (ssl.SSLError, TimeoutError):  # no TLS, or the end of it
            door.counts["insecure"] += guest.stage is Stage.HANDSHAKE
        except OSError:
            if guest.stage is not Stage.HANDSHAKE:
                raise
        finally:
            door.leave(self.client_address, guest)
            guest.enter(Stage.IDLE)
            self.environ.clear()  # it leads back here: only the garbage collector would find it

    def parse_request(self) -> bool:
        """Whether there is a request whose end nobody can be in doubt of.

        Where a proxy and this server see it in different places, one's body is the other's next
        request, which bears the rights of somebody else (RFC 9112, 11.2).
        """
        try:
            if not super().parse_request():
                return False
        except (hub.HeaderLineTooLong, hub.HeadersTooLarge):
            return self._part(_LONG_HEADERS)
        lengths = self.headers.get_all("Content-Length", [])
        codings = self.headers.get_all("Transfer-Encoding", [])
        plain = not self.headers.defects and all(map(_FIELD_NAME.fullmatch, self.headers.keys()))
        length = not lengths or (len(lengths) == 1 and re.fullmatch("[0-9]{1,18}", lengths[0]))
        coding = not codings or (not lengths and [one.lower() for one in codings] == ["chunked"])
        if plain and length and coding:
            return True
        return self._part(_UNCLEAR)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library finds wrong with a request's first line, or its headers."""
        self._part(farewell(code, message or HTTPStatus(code).description))

    def _part(self, words: bytes) -> bool:
        """The last words, to who has sent no request; False.

        What is not read of it yet has to be: else the system resets the connection at its end, and
        the client may never see them.  Under TLS nothing more can be read once we have ended.
        """
        self.close_connection = True
        self.wfile.write(words)
        self.wfile.flush()
        if self._guest.tls is not None:
            return False
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            for _ in range(MAX_BODY // _PIECE):
                if not self.connection.recv(_PIECE):
                    break
        return False

    def get_environ(self) -> dict[str, Any]:
        """Of a request."""
        environ = {**super().get_environ(), GUEST: self._guest}
        if self._guest.tls is not None:
            environ |= {"wsgi.url_scheme": "https", "HTTPS": "on"}
        return environ

    def finish(self) -> None:
        """Say what is not said yet, and hang up."""
        with contextlib.suppress(ssl.SSLError):
            super().finish()
            return
        hub.hang_up(self.connection)
        self.connection.close()

    def _read_request_line(self) -> Any:
        self._guest.enter(Stage.IDLE)
        line = super()._read_request_line()
        self._guest.enter(Stage.REQUEST)
        if self._guest.dismissed:
            return b""  # what there was of it is no request
        if len(line) >= self.server.url_length_limit:
            self._part(_LONG_LINE)
            return b""
        return line

    def handle_one_response(self) -> None:
        """Answer, when the request is there as a whole."""
        length = int(self.environ.get("CONTENT_LENGTH") or 0)
        if 0 < length <= MAX_BODY:  # a larger one is refused, unread
            self.environ["wsgi.input"] = BytesIO(self.environ["wsgi.input"].read(length))
        if self._guest.dismissed:
            self.close_connection = True
            return
        self._guest.enter(Stage.ANSWER, self.environ)
        super().handle_one_response()


def _peer(address: str) -> str:
    with contextlib.suppress(ValueError):
        found = ipaddress.ip_address(address.partition("%")[0])
        if found.version == 6 and found.ipv4_mapped is None and not found.is_loopback:
            return str(ipaddress.ip_network((found, 64), strict=False))
    return address
