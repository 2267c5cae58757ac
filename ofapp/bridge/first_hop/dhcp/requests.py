"""Requests of clients that a server may answer, each with the port that it came in by."""

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from ofapp.bridge.first_hop.dhcp.quota import PortQuota

SECONDS = 60.0
"""Longest answer of a server, seconds: clients give up by then (RFC 2131 4.1)."""

OF_PORT, OF_BRIDGE = 256, 65_536
"""Most requests of one port, and of all; a further one replaces the oldest."""

HOSTS_OF_PORT, HOSTS = 64, 4096
"""Most hosts with unanswered requests of one port, and of all."""


class Request(NamedTuple):
    """A request from a host: its port, MAC address and the address that it asks for, if any.

    client: as `verdict.Leased.client`.
    """

    port: int
    mac: int
    address: bytes | None
    client: bytes
    until: float


K = TypeVar("K", bound=tuple[object, ...])


class Requests(Generic[K]):
    """The requests by VLAN, transaction id and client (RFC 7513 6.4, "TID").

    The first port that sends a request has it until its end: another host may hear a broadcast
    request and repeat it, so that the answer would be for that host's port.
    """

    def __init__(self, of_port: int = OF_PORT, of_bridge: int = OF_BRIDGE) -> None:
        self._requests: PortQuota[K, Request] = PortQuota(of_port, of_bridge)

    @property
    def replaced(self) -> int:
        """Requests that newer ones took the place of."""
        return self._requests.replaced

    def add(
        self, key: K, port: int, mac: int, address: bytes | None, now: float, client: bytes = b""
    ) -> bool:
        """Remember a request, or remember it longer; False if another port or client has it."""
        while (oldest := self._requests.oldest()) is not None and oldest[1].until <= now:
            self._requests.drop(oldest[0])
        known = self._requests.get(key)
        if known is not None and (known.port, known.client) != (port, client):
            return False
        self._requests.put(key, port, Request(port, mac, address, client, now + SECONDS))
        return True

    def get(self, key: K, now: float) -> Request | None:
        """The request that an answer is for; it stays, as several servers may answer."""
        request = self._requests.get(key)
        return request if request is not None and now < request.until else None

    def forget(self, port: int) -> None:
        """Forget those of a port."""
        self._requests.drop_port(port)


class Unanswered(NamedTuple):
    """The requests that a host has sent since a server last answered it.

    port: its number; kind: kind of the last request, as `discover`; sent: how many;
    first, last: when.
    """

    port: int
    vid: int
    mac: int
    kind: str
    sent: int
    first: float
    last: float


class UnansweredRequests:
    """The hosts whose requests no server has answered, by port, VLAN and MAC address."""

    def __init__(self) -> None:
        self._hosts: PortQuota[tuple[int, int, int], Unanswered] = PortQuota(HOSTS_OF_PORT, HOSTS)

    def add(self, port: int, vid: int, mac: int, kind: str, now: float) -> None:
        """Count a request."""
        key = port, vid, mac
        known = self._hosts.get(key)
        sent, first = (0, now) if known is None else (known.sent, known.first)
        self._hosts.put(key, port, Unanswered(port, vid, mac, kind, sent + 1, first, now))

    def answered(self, port: int, vid: int, mac: int) -> None:
        """Forget the requests of a host."""
        self._hosts.drop((port, vid, mac))

    def of(self, mac: int) -> Iterator[Unanswered]:
        """Return the requests of a host."""
        return (each for _, each in self._hosts if each.mac == mac)

    def forget(self, port: int) -> None:
        """Forget those of a port."""
        self._hosts.drop_port(port)
