"""The state that all parts of a bridge share: ports, parameters, policies, addresses, port states.

A protocol reads it, and changes none of it but through the relay.
"""

from collections.abc import Set
from dataclasses import replace
from typing import TypeVar

from ofapp.bridge.fdb.fdb import Fdb
from ofapp.bridge.fdb.ip_addresses import IpAddresses
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortRoom, PortTable
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.relay.relay import Relay

T = TypeVar("T")


class SharedState:
    """Objects that all bridges of one controller share: one of each class.

    For example the room for their ports, and their spanning trees, which recognise each other.
    """

    def __init__(self, *objects: object) -> None:
        self._objects: dict[type, object] = {type(each): each for each in objects}

    def of(self, kind: type[T]) -> T:
        """The object of a class, made now if there is none yet."""
        made = self._objects.get(kind)
        if made is None:
            made = self._objects[kind] = kind()
        assert isinstance(made, kind)
        return made


class BridgeState:
    """The shared state of one bridge.

    port_policies: which port may reach which, by the parameters and the present ports.
    ip_addresses: the last IP addresses of its hosts.
    former_name: the bridge's name, while another bridge uses that name.
    given_name: its name if that is not its LOCAL port's, or empty.
    inner_ports: ports behind which there may be another bridge, by the protocol that knows them.
    one_way: names of the switch's ports whose links are held as one-way, by number; `OneWayLinks`
    changes it.
    """

    def __init__(
        self, datapath_id: int, params: BridgeParams, shared: SharedState, given_name: str = ""
    ) -> None:
        self.datapath_id = datapath_id
        self.given_name = given_name
        self.params = params
        self.shared = shared
        self.ports = PortTable(shared.of(PortRoom))
        self.port_policies = PortPolicies(params, self.ports)
        self.learning = Learning(Fdb(), params)
        self.relay = Relay(self.learning)
        self.ip_addresses = IpAddresses(self.learning.fdb)
        self.former_name: str | None = None
        self.inner_ports: dict[str, Set[int]] = {}
        self.one_way: dict[int, str] = {}

    @property
    def name(self) -> str:
        """The bridge's name as the switch's host knows it, that of its LOCAL port; else its id."""
        if self.former_name is not None:
            return f"{self.datapath_id:016x}"
        local = self.ports.get(LOCAL_PORT)
        return self.given_name or (f"{self.datapath_id:016x}" if local is None else local.name)

    @property
    def address(self) -> int:
        """The bridge's own address."""
        local = self.ports.get(LOCAL_PORT)
        return local.mac if local else self.datapath_id

    def is_edge(self, port: int) -> bool:
        """Whether no other bridge is known behind a port."""
        return not any(port in inner for inner in self.inner_ports.values())

    def usable(self, port: Port) -> bool:
        """Whether a port is up, not held as one-way, and enabled."""
        return port.carries and self.port_policies.takes_part(port.number)

    def marked(self, port: Port) -> Port:
        """A port of the switch, marked if its link is held as one-way."""
        held = self.one_way.get(port.number) == port.name
        return port if port.one_way is held else replace(port, one_way=held)

    def is_up(self, name: str) -> bool:
        """Whether there is a port of this name that is up and enabled."""
        port = self.ports.named(name)
        return port is not None and self.usable(port)
