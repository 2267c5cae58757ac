"""Everybody hostile at once, in its own process: what the soak lets loose again and again.

Switches of every kind in `hostile.py` that come again when they are hung up on, switches with the
datapath ids of good ones, ever new switches, connections that never shake hands, and clients of the
REST API that begin a request and do not end it.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.fleet import Fleet, Member
from tests.bench.hostile import ENDLESS, KINDS, PORTS, Hostile

NICE = 25
"""How far the storms stand back behind the good switches, which share a core with them."""
SOURCE = "127.0.0.2"
"""Where half of them come from; the others come from where the good ones do."""
TWINS, NEWCOMERS, MUTE, HALF_OPEN = 20, 40, 400, 100
"""How many there are of what has no kind."""
STAY = 3.0
"""Seconds that a newcomer stays."""
PAUSE = 0.5
"""Seconds until a client that was disconnected connects again."""
SETTLE = 5.0
"""Seconds after which a switch storms that has not been brought in line."""


class Mute(Member):
    """Answers echoes and nothing else, and so never shakes hands."""

    def answer(self, raw: bytes) -> bytes:
        """Nothing."""
        return b""


class Kind(Hostile):
    """A hostile switch of a kind."""

    def __init__(self, port: int, dpid: int, kind: str) -> None:
        super().__init__(port, dpid, PORTS.get(kind, 8), SOURCE)
        self._kind, self._born = kind, time.monotonic()
        if kind in ENDLESS:
            self.endless_kind, self.endless = ENDLESS[kind]

    def tick(self, now: float) -> None:
        """Begin the storm, as soon as it knows the flows that it takes for it."""
        if self.spam is None and self._kind in KINDS:
            late = now - self._born > SETTLE and self._kind not in ("sightings", "bpdus")
            if self.in_line is not None or late:
                self.spam = KINDS[self._kind](self)


@dataclass
class Place:
    """A client that connects again; stay: seconds after which it disconnects."""

    come: Callable[[], Member]
    stay: float = 1e9
    since: float = 0.0
    member: Member | None = None

    def look(self, fleet: Fleet, now: float) -> None:
        """Come, or go."""
        member = self.member
        if member is not None and (member.closed or now - self.since > self.stay):
            fleet.dismiss(member)
            self.member, self.since = None, now
        elif member is None and now - self.since > PAUSE:
            self.since = now
            with contextlib.suppress(OSError):
                self.member = fleet.add(self.come())


class HalfOpen:
    """A client that begins a request."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60, (SOURCE, 0))
        self._socket.setblocking(False)
        self._socket.send(b"GET /v1/bridges HTTP/1.1\r\nHost: x\r\nX-Never: ")

    @property
    def closed(self) -> bool:
        """Whether it was hung up on."""
        try:
            return not self._socket.recv(4096)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def rage(port: int, rest_port: int, seconds: float, turn: int) -> None:
    """All at once for so many seconds; turn: no two have the same."""
    os.nice(NICE)
    gc.disable()
    fresh = itertools.count(0xC000_0000 + turn * 10_000)
    kinds = enumerate([*KINDS, *ENDLESS])
    places = [Place(lambda n=n, kind=kind: Kind(port, 0xBAD00 + n, kind)) for n, kind in kinds]
    places += [Place(lambda n=n: Member(port, n, source=SOURCE)) for n in range(1, TWINS + 1)]
    places += [Place(lambda: Member(port, next(fresh)), STAY) for _ in range(NEWCOMERS)]
    places += [Place(lambda n=n: Mute(port, n, source=SOURCE)) for n in range(MUTE)]
    clients: list[HalfOpen] = []
    fleet = Fleet()
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        for place in places:
            place.look(fleet, now)
        clients = [client for client in clients if not client.closed]
        while len(clients) < HALF_OPEN:
            try:
                clients.append(HalfOpen(rest_port))
            except OSError:
                break
        fleet.run(0.2)
    fleet.close()
    for client in clients:
        client.close()
