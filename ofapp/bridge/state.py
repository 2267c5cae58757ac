"""The state that all parts of a bridge share: ports, parameters, policies, addresses, port states.

A protocol reads it, and changes none of it but through the relay.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ofapp.bridge.fdb.fdb import Fdb
from ofapp.bridge.fdb.ip_addresses import IpAddresses
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.first_hop.stranded import StrandedHosts
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.policies import PortPolicies
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortRoom, PortTable
from ofapp.bridge.ports.relay import Relay
from ofapp.bridge.stp import OwnTrees


@dataclass(frozen=True)
class SharedState:
    """Objects that all bridges of one controller share.

    trees: their spanning trees, which recognise each other; room: for all their ports.
    agents: their LLDP agents, which distinguish each other's frames from forged ones.
    stranded: hosts whose port is down or gone, and which may appear on another bridge.
    """

    trees: OwnTrees = field(default_factory=OwnTrees)
    room: PortRoom = field(default_factory=PortRoom)
    agents: OwnAgents = field(default_factory=OwnAgents)
    stranded: StrandedHosts = field(default_factory=StrandedHosts)


class BridgeState:
    """The shared state of one bridge.

    port_policies: which port may reach which, by the parameters and the present ports.
    ip_addresses: the last IP addresses of its hosts.
    former_name: the bridge's name, while another bridge uses that name.
    given_name: its name if that is not its LOCAL port's, or empty.
    """

    def __init__(
        self, datapath_id: int, params: BridgeParams, shared: SharedState, given_name: str = ""
    ) -> None:
        self.datapath_id = datapath_id
        self.given_name = given_name
        self.params = params
        self.shared = shared
        self.ports = PortTable(shared.room)
        self.port_policies = PortPolicies(params, self.ports)
        self.learning = Learning(Fdb(), params)
        self.relay = Relay(self.learning)
        self.ip_addresses = IpAddresses(self.learning.fdb)
        self.former_name: str | None = None

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

    def usable(self, port: Port) -> bool:
        """Whether a port is up and takes part."""
        return port.up and self.port_policies.takes_part(port.number)

    def is_up(self, name: str) -> bool:
        """Whether there is a port of this name that is up and takes part."""
        port = self.ports.named(name)
        return port is not None and self.usable(port)
