"""DHCP clients of guarded ports: each counts from its first request on.

A server gives an address to each client that asks, also if the port may have no further binding.
So a client without a binding takes room for one when it asks, and a request without room is
dropped.  A client that gets no lease gives the room back, and so does an address that its host has
declined, which servers do not lease for a while.
"""

from typing import NamedTuple

from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.dhcp.requests import SECONDS
from ofapp.common.deadlines import Deadlines

DECLINED = 600.0
"""Seconds for which a declined address takes room: dnsmasq does not lease it for as long."""


class _Client(NamedTuple):
    """A client that has no lease yet.

    port: its name; client: what a server knows it by (`Leased.client`), or a declined address.
    """

    port: str
    vid: int
    mac: int
    origin: Origin
    client: bytes


class Clients:
    """The clients of a bridge that have no lease yet."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._waiting = Deadlines[_Client]()

    def admit(
        self,
        port: str,
        host: tuple[int, int],
        asks: tuple[tuple[Origin, bytes], ...],
        changes: Changes,
    ) -> bool:
        """Make room for the clients of a request; gives whether the request may pass.

        host: VID and MAC address; asks: each client with the origin of its bindings.
        """
        for origin, name in asks:
            client = _Client(port, *host, origin, name)
            if self._bindings.identify(*client):
                continue
            if client not in self._waiting and not self._bindings.reserve(port, host, changes):
                return False
            self._waiting.set(client, changes.at + SECONDS)
        return True

    def leased(self, port: str, host: tuple[int, int], origin: Origin, name: bytes) -> None:
        """Give the room of a client back, which is for its binding."""
        client = _Client(port, *host, origin, name)
        if client in self._waiting:
            self._waiting.set(client, None)
            self._bindings.limits.forgo(port, host[0])

    def declined(self, port: str, host: tuple[int, int], address: bytes, changes: Changes) -> None:
        """Keep the room of an address that its host has declined."""
        client = _Client(port, *host, Origin.DHCP, b"declined " + address)
        if client not in self._waiting:
            self._bindings.limits.reserve(port, host[0])
        self._waiting.set(client, changes.at + DECLINED)

    def tick(self, changes: Changes) -> None:
        """Let time pass: clients without a lease give their room back."""
        for client in self._waiting.expired(changes.at):
            self._bindings.limits.forgo(client.port, client.vid)
            changes.events += self._bindings.release([client.port, client.vid, None])

    def next_wakeup(self) -> float | None:
        """When `tick` is due."""
        return self._waiting.next()
