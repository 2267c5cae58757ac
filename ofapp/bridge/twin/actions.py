"""Changes of a network that a twin can be asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.first_hop.binding import Binding
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.twin.cable import Cable, SwitchPort, cable
from ofapp.bridge.twin.copied import relevant
from ofapp.bridge.twin.foreign import FarPort, Foreign, attach, is_foreign
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.bridge.twin.reach import HostPort, logical

NEW = 0x0200_5E00_0000
"""Addresses from here on are those of bridges that are plugged in."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A cable, or the link of a port without a known cable, goes down at both ends."""

    at: SwitchPort

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        found = cable_at(network, self.at)
        if found is None:
            network.set_link(self.at, up=False)
        else:
            network.disconnect(found)


@dataclass(frozen=True, slots=True)
class Plug:
    """A new cable connects two ports."""

    a: SwitchPort
    b: SwitchPort

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        for end in (self.a, self.b):
            Cut(end).apply(network)
        new = cable(self.a, self.b)
        network.connect(new)
        network.set_links(new, up=True)


@dataclass(frozen=True, slots=True)
class Fail:
    """A switch loses its power."""

    datapath_id: int

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        network.remove(self.datapath_id)


@dataclass(frozen=True, slots=True)
class SetParams:
    """A bridge gets other parameters."""

    datapath_id: int
    params: BridgeParams

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        network.params[self.datapath_id] = self.params
        brought = network.brought.get(self.datapath_id, {})
        network.set_params(self.datapath_id, relevant(self.params, network.snooped, brought))


@dataclass(frozen=True, slots=True)
class SetFabric:
    """A fabric gets other costs, cables or MTU, or members leave it."""

    datapath_id: int
    params: FabricParams

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        network.set_fabric(self.datapath_id, self.params)


@dataclass(frozen=True, slots=True)
class Attach:
    """A bridge with spanning tree that is not ours is plugged in at a port."""

    at: SwitchPort
    priority: int

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        Cut(self.at).apply(network)
        address = NEW + len(network.bridges)
        attach(network, Foreign(address, self.priority, (FarPort(self.at),)))
        network.set_link(self.at, up=True)


class MovedHost(NamedTuple):
    """A host that moves, and a binding of it on its bridge, if there is one."""

    mac: int
    bound: Binding | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """The hosts at a port move to another port.  hosts: those that are known."""

    source: SwitchPort
    to: SwitchPort
    hosts: tuple[MovedHost, ...] = ()

    def place(self, network: TwinNetwork) -> HostPort:
        """Where the hosts are then: their frames have no tag."""
        port = logical(network, *self.to)
        vlans = network.bridges[self.to.datapath_id].port_policies.vlans(port)
        return HostPort(self.to.datapath_id, port, vlans.pvid)

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        place = self.place(network)
        coming = network.coming.setdefault(SwitchPort(place.datapath_id, place.port), [])
        coming += [(place.vid, host.mac) for host in self.hosts]
        network.receivers.move(self.source, self.to, place.port, place.vid)
        network.set_link(self.source, up=False)
        network.set_link(self.to, up=True)


@dataclass(frozen=True, slots=True)
class Disconnect:
    """All switches lose this controller, and have one again after some seconds.

    why: why it takes so long, in words; empty for a user's figure.
    """

    seconds: float
    why: str = ""

    def apply(self, network: TwinNetwork) -> None:
        """Change the network."""
        for datapath_id in network.bridges:
            if not is_foreign(datapath_id):
                network.disconnect_switch(datapath_id, self.seconds)


@dataclass(frozen=True, slots=True)
class Storm:
    """Broadcasts come in at a port without end.  rate: frames a second."""

    at: SwitchPort
    rate: int

    def apply(self, network: TwinNetwork) -> None:
        """Change nothing: `reach.spread` tells where the frames go."""
        network.bridges[self.at.datapath_id].port_policies.vlans(self.at.port)


Action = Cut | Plug | Fail | SetParams | SetFabric | Attach | Move | Disconnect | Storm


def cable_at(network: TwinNetwork, port: SwitchPort) -> Cable | None:
    """The cable at a port of a switch, if it is known."""
    return next((each for each in network.cables if port in each), None)
