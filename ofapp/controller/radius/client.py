"""A RADIUS client: requests to several servers over UDP, which wait without blocking the hub."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from ofapp.bridge.effects import AccountSession, AskServer
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams
from ofapp.common import hub
from ofapp.controller.radius.packets import MOST, RefusedError, Report, Request

PORT = 1812
SOCKETS = 4
"""Sockets for each server, with 256 requests in flight on each (RFC 2865 3)."""
IN_FLIGHT = 256
"""Requests of a client that wait for servers at the same time; others wait for their turn."""
WAITING_REPORTS = 4096
"""Reports that wait for their turn; further ones are lost, and counted."""
CONVERSATIONS = 4096
"""Conversations with a server whose next request must go to the same server."""
MOST_SECRET = 4096
"""Octets of a file with a secret that are read."""


_FAULTS = {
    "unsigned": "does not sign its answers (Message-Authenticator)",
    "invalid_signature": "signs its answers by another secret",
    "unreachable": "refuses requests: nothing listens there",
}
"""Why answers of a server are not taken, by the reason of RefusedError, or no request arrives."""


class Place(NamedTuple):
    """Address and port of a server."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def places(servers: str) -> list[Place]:
    """The servers of the parameter `servers`, with addresses in the form that sockets give."""
    found = []
    for each in filter(None, servers.split(",")):
        host, _, port = (
            each.rpartition(":") if each.count(":") == 1 or "]:" in each else (each, "", "")
        )
        address = str(ip_address(host.strip("[]")))
        found.append(Place(address, int(port) if port else PORT))
    return found


class SecretError(ValueError):
    """The file with the secret cannot be used."""


def read_secret(file: str) -> bytes:
    """The secret in the first line of a file.  Raises SecretError."""
    if not file:
        raise SecretError("no file with the secret is set (`secret_file`)")
    try:
        with Path(file).open("rb") as opened:
            line = opened.read(MOST_SECRET).partition(b"\n")[0].strip()
    except OSError as error:
        raise SecretError(f"{file} cannot be read: {error.strerror}") from None
    if not line:
        raise SecretError(f"{file} has no secret in its first line")
    return line


class _Waiting:
    """A request in flight.  fault: why the server's last packet is no answer, see `_FAULTS`."""

    def __init__(self) -> None:
        self.request: Request | Report | None = None
        self.answer: Answer | bool | None = None
        self.fault = ""
        self.came = hub.Event()


class _Socket:
    """A socket that is connected to one server, so that others cannot answer."""

    def __init__(self, place: Place, count: Callable[[str], None]) -> None:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.connect((place.host, place.port))
        self._waiting: dict[int, _Waiting] = {}
        self._next = 0
        self._count = count
        self._reader = hub.spawn(self._read)

    def close(self) -> None:
        """Let those that wait go without an answer."""
        hub.kill(self._reader)
        self._socket.close()

    def take(self, waiting: _Waiting) -> int | None:
        """A free identifier; None if all are in flight."""
        for _ in range(256):
            self._next = (self._next + 1) & 0xFF
            if self._next not in self._waiting:
                self._waiting[self._next] = waiting
                return self._next
        return None

    def release(self, identifier: int) -> None:
        """Expect no answer any more."""
        self._waiting.pop(identifier, None)

    def send(self, octets: bytes) -> None:
        """Send; a server that cannot be reached does not answer."""
        with contextlib.suppress(OSError):
            self._socket.send(octets)

    def _read(self) -> None:
        while True:
            try:
                octets = self._socket.recv(MOST + 1)
            except OSError:  # the server's host has refused an earlier request
                for each in self._waiting.values():
                    each.fault = "unreachable"
                hub.sleep(0.05)
                continue
            waiting = self._waiting.get(octets[1]) if len(octets) >= 20 else None
            if waiting is None or waiting.request is None or waiting.came.is_set():
                self._count("not_expected")
                continue
            try:
                waiting.answer = waiting.request.answer(octets)
            except RefusedError as error:
                self._count(error.reason)
                waiting.fault = error.reason
                continue
            waiting.came.set()


class _Server:
    """One server.  dead_until: it has not answered lately; fault: why not, see `_FAULTS`."""

    def __init__(self, place: Place, count: Callable[[str], None]) -> None:
        self.place = place
        self.dead_until = 0.0
        self.fault = ""
        self._count = count
        self._sockets: list[_Socket] = []

    def take(self, waiting: _Waiting) -> tuple[_Socket, int] | None:
        """A socket and an identifier; None if too many requests are in flight, or without route."""
        for each in self._sockets:
            if (identifier := each.take(waiting)) is not None:
                return each, identifier
        if len(self._sockets) >= SOCKETS:
            return None
        try:
            self._sockets.append(_Socket(self.place, self._count))
        except OSError:
            return None
        return self.take(waiting)

    def close(self) -> None:
        """Close its sockets."""
        for each in self._sockets:
            each.close()
        self._sockets.clear()


class Client:
    """A client of the servers in `params`.

    counters: requests, answers by verdict, retransmissions, and packets that were refused, by name.
    """

    def __init__(self, params: BridgeParams) -> None:
        self.params = params
        self.counters: Counter[str] = Counter()
        known = places(params.servers)
        self._servers = [_Server(place, self._count) for place in known]
        ports = [place._replace(port=place.port + 1) for place in known]
        self._accounting = [_Server(place, self._count) for place in ports]
        self._turn = hub.Lock(IN_FLIGHT)
        self._reports = hub.Lock(IN_FLIGHT)
        self._of: OrderedDict[str, _Server] = OrderedDict()

    def close(self) -> None:
        """Close all sockets."""
        for server in (*self._servers, *self._accounting):
            server.close()

    def dead(self, now: float) -> list[str]:
        """The servers that have not answered lately."""
        return [str(server.place) for server in self._servers if server.dead_until > now]

    def ask(self, question: AskServer, bridge: str, address: int) -> Answer:
        """Ask one server after the other until one answers.  Raises SecretError.

        An answer that is `silent` means that none has; its message says why if that is known.
        bridge, address: of the bridge.
        """
        secret = read_secret(self.params.secret_file)
        with self._turn:
            for server in self._order(question):
                answer = self._exchange(
                    server, lambda number: Request(question, bridge, address, number, secret)
                )
                if isinstance(answer, Answer):
                    server.dead_until = 0.0
                    self._count(answer.verdict)
                    self._converse(question, server, answer)
                    return answer
                server.dead_until = time.monotonic() + self.params.dead_time
        self._count("silent")
        known = ((each.place, _FAULTS.get(each.fault)) for each in self._servers)
        why = "; ".join(f"{place} {fault}" for place, fault in known if fault)
        return Answer("silent", message=why and f"no RADIUS server answers: {why}")

    def report(self, session: AccountSession, bridge: str, address: int) -> None:
        """Report a session to the first server that takes it.  Raises SecretError."""
        secret = read_secret(self.params.secret_file)
        if self._reports.balance <= -WAITING_REPORTS:
            self._count("reports_lost")
            return
        with self._reports:
            for server in sorted(self._accounting, key=lambda each: each.dead_until):
                taken = self._exchange(
                    server, lambda number: Report(session, bridge, address, number, secret)
                )
                if taken is not None:
                    server.dead_until = 0.0
                    self._count("reports")
                    return
                server.dead_until = time.monotonic() + self.params.dead_time
        self._count("reports_lost")

    def _order(self, question: AskServer) -> list[_Server]:
        """The servers to ask; a conversation stays with its server."""
        if question.state and (server := self._of.get(question.ident)) is not None:
            return [server]
        now = time.monotonic()
        return sorted(self._servers, key=lambda server: server.dead_until > now)

    def _converse(self, question: AskServer, server: _Server, answer: Answer) -> None:
        self._of.pop(question.ident, None)
        if answer.verdict == "challenge":
            self._of[question.ident] = server
            if len(self._of) > CONVERSATIONS:
                self._of.popitem(last=False)

    def _exchange(
        self, server: _Server, make: Callable[[int], Request | Report]
    ) -> Answer | bool | None:
        """Send what `make` gives for an identifier until it is answered; None without answer."""
        waiting = _Waiting()
        taken = server.take(waiting)
        if taken is None:
            self._count("no_room")
            return None
        way, identifier = taken
        try:
            request = waiting.request = make(identifier)
            for sent in range(self.params.server_tries):
                self._count("retransmissions" if sent else "requests")
                way.send(request.octets)
                if waiting.came.wait(self.params.server_timeout):
                    return waiting.answer
            return None
        finally:
            server.fault = waiting.fault
            way.release(identifier)

    def _count(self, name: str) -> None:
        self.counters[name] += 1
