"""Requests of clients that a server may answer, each with the port that it came in by."""

from __future__ import annotations

from collections import Counter
from typing import Generic, NamedTuple, TypeVar

SECONDS = 60.0
"""How long a server may take: a client gives up after this time at most (RFC 2131 4.1)."""

OF_PORT, OF_BRIDGE = 256, 65_536
"""Most requests of one port, and of all; a further one replaces the oldest."""


class Request(NamedTuple):
    """A request from a host: its port, MAC address and the address that it asks for, if any."""

    port: int
    mac: int
    address: bytes | None
    until: float


K = TypeVar("K", bound=tuple[object, ...])


class Requests(Generic[K]):
    """The requests by VLAN, transaction id and client (RFC 7513 6.4, "TID").

    The first port that sends a request has it until its end: another host may hear a broadcast
    request and repeat it, so that the answer would be for that host's port.
    """

    def __init__(
        self, counters: Counter[str], of_port: int = OF_PORT, of_bridge: int = OF_BRIDGE
    ) -> None:
        self._counters = counters
        self._of_port = of_port
        self._of_bridge = of_bridge
        self._requests: dict[K, Request] = {}  # the one that ends first is the first
        self._on: dict[int, dict[K, None]] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, key: K, port: int, mac: int, address: bytes | None, now: float) -> bool:
        """Remember a request, or remember it longer; False if another port has it."""
        self._drop_old(now)
        known = self._requests.get(key)
        if known is not None:
            if known.port != port:
                return False
            self._drop(key)
        mine = self._on.get(port, {})
        if len(mine) >= self._of_port:
            self._replace(next(iter(mine)))
        elif len(self._requests) >= self._of_bridge:
            self._replace(next(iter(self._requests)))
        self._requests[key] = Request(port, mac, address, now + SECONDS)
        self._on.setdefault(port, {})[key] = None
        return True

    def get(self, key: K, now: float) -> Request | None:
        """The request that an answer is for; it stays, as several servers may answer."""
        request = self._requests.get(key)
        return request if request is not None and now < request.until else None

    def forget(self, port: int) -> None:
        """Forget those of a port."""
        for key in self._on.pop(port, {}):
            del self._requests[key]

    def _replace(self, key: K) -> None:
        self._counters["requests_replaced"] += 1
        self._drop(key)

    def _drop_old(self, now: float) -> None:
        while self._requests:
            key = next(iter(self._requests))
            if now < self._requests[key].until:
                break
            self._drop(key)

    def _drop(self, key: K) -> None:
        port = self._requests.pop(key).port
        mine = self._on[port]
        del mine[key]
        if not mine:
            del self._on[port]
