"""What a student sets on a bridge, and the parameters that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.multicast import Params as Snooping
from ofapp.bridge.multicast import VlanParams
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import MoveLimit, Policies
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.stp import BridgeParams as TreeParams

Tree = Literal["rstp", "stp", "off"]
Snoops = Literal["off", "on", "querier"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a student sets on a bridge.

    vlans: VLANs of ports for hosts, by port name; lacp: ports that are one aggregation.
    """

    priority: int = 32768
    tree: Tree = "rstp"
    snooping: Snoops = "off"
    vlans: Mapping[str, int] = field(default_factory=dict)
    lacp: tuple[str, ...] = ()

    @property
    def params(self) -> BridgeParams:
        """The parameters of the bridge; ParameterError or InputError for a value out of range."""
        version: Literal[0, 2] = 0 if self.tree == "stp" else 2
        querier = VlanParams(mcast_querier=self.snooping == "querier")
        return BridgeParams(
            stp=None if self.tree == "off" else TreeParams(self.priority, force_version=version),
            multicast=None if self.snooping == "off" else Snooping(vlan=querier),
            ports={name: PortParams(vlans=access(vid)) for name, vid in self.vlans.items()},
            policies=Policies(mac_move=MoveLimit(moves=0)),  # a student is to see a loop
            lags={"bond0": LagParams(self.lacp, rate="fast")} if self.lacp else {},
        )
