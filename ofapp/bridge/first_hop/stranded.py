"""Hosts with bindings on ports that are down or gone, of all bridges of a controller.

A virtual machine that migrates to another hypervisor appears there on another bridge.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ofapp.bridge.first_hop.binding import Binding

Host = tuple[int, int]
"""(VID, MAC address)."""


class Source(Protocol):
    """The bindings of a bridge, from which others may take hosts over."""

    def hand_over(
        self, vid: int, mac: int, port: str, now: float
    ) -> list[tuple[Binding, float | None]]:
        """Give the dynamic bindings of a host up; with the seconds that are left of each."""
        ...


class Stranded(NamedTuple):
    """Where a host was: the bridge with its bindings, its name, and the name of the port."""

    bindings: Source
    bridge: str
    port: str


class StrandedHosts:
    """The hosts, each with where it was, by bridge."""

    def __init__(self) -> None:
        self._hosts: dict[Host, dict[int, Stranded]] = {}
        self._of: dict[int, set[Host]] = {}

    def put(self, datapath_id: int, hosts: Iterable[Host], where: Stranded) -> None:
        """Note hosts of a bridge's port that is down or gone."""
        for host in hosts:
            self._hosts.setdefault(host, {})[datapath_id] = where
            self._of.setdefault(datapath_id, set()).add(host)

    def drop(self, datapath_id: int, hosts: Iterable[Host]) -> None:
        """Forget hosts of a bridge: their port is up."""
        noted = self._of.get(datapath_id)
        for host in hosts if noted else ():
            if noted and host in noted:
                noted.discard(host)
                del self._hosts[host][datapath_id]
                if not self._hosts[host]:
                    del self._hosts[host]

    def take(self, host: Host, but: int) -> Stranded | None:
        """Where a host was, on another bridge than this one; it is forgotten there."""
        places = self._hosts.get(host, {})
        datapath_id = next((known for known in places if known != but), None)
        if datapath_id is None:
            return None
        where = places[datapath_id]
        self.drop(datapath_id, [host])
        return where

    def leave(self, datapath_id: int) -> None:
        """Forget a bridge."""
        self.drop(datapath_id, list(self._of.get(datapath_id, ())))
        self._of.pop(datapath_id, None)
