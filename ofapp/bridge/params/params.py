"""Parameters of a bridge: values that `ofapp.config` validated, never changed in place.

Each parameter is declared here, or in the part that obeys it, and nowhere else: see `parameter`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from annotated_types import Interval, Unit
from typing_extensions import Doc

from ofapp.bridge import lldp as discovery
from ofapp.bridge import multicast as snooping
from ofapp.bridge import stp as spanning_tree
from ofapp.bridge.first_hop import params as first_hop_params
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.loop_protect import params as loops
from ofapp.bridge.params.parameter import Section
from ofapp.bridge.params.policy import AclRule, Limit, Policies, PortPolicy, Rate
from ofapp.bridge.port_access import params as port_access_params
from ofapp.bridge.ports.names import base_name
from ofapp.bridge.ports.vlan import TRANSPARENT, PortVlans

MOST_FITTING = 8192
"""Most port names for which it is kept which pattern fits."""

MAX_AGEING_TIME = 65535  # OpenFlow's idle_timeout is 16 bits of seconds


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of one port, by protocol."""

    fdb_max_learned: Annotated[
        int | None, Limit, Doc("Most addresses learned here; without it no limit per port.")
    ] = None
    trust: Annotated[
        Literal["none", "guest", "uplink", "learn"],
        Doc(
            "What hosts here may do. guest: they cannot forge addresses, act as router, DHCP server"
            " or bridge, or flood; learn: report for a time what guest would refuse, and forward"
            " it; uplink: routers, servers and other bridges are here. It sets other parameters of"
            " the port, each of which can be set otherwise."
        ),
    ] = "none"
    stp: spanning_tree.PortParams = field(default_factory=spanning_tree.PortParams)
    multicast: snooping.PortParams = field(default_factory=snooping.PortParams)
    lldp: Annotated[discovery.PortParams, Section("LLDP")] = field(
        default_factory=discovery.PortParams
    )
    first_hop: Annotated[first_hop_params.PortParams, Section("First-hop security")] = field(
        default_factory=first_hop_params.PortParams
    )
    port_access: Annotated[port_access_params.PortParams, Section("Port access control")] = field(
        default_factory=port_access_params.PortParams
    )
    loop_protect: Annotated[loops.PortParams, Section("Loop protection")] = field(
        default_factory=loops.PortParams
    )
    vlans: PortVlans = TRANSPARENT
    policy: PortPolicy = field(default_factory=PortPolicy)


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of one datapath's bridge.

    ageing_time: 802.1D-2004 7.9.2.
    packet_in_rate: see `rates`; it limits copies only, the frames themselves are forwarded.
    stp: spanning tree, None for a bridge that runs none.
    multicast: IGMP and MLD snooping, None for a bridge that floods all multicast.
    ports: parameters by port name, or by a pattern (`tap*`) for the ports that no name fits;
        the longest pattern wins.  Other ports have the defaults.
    multicast_vlans: snooping of the VLANs that have separate parameters, by VID.
    lldp: None for a bridge that neither sends nor receives it.
    vlan_names: the names of VLANs that have one, by VID.
    vlans: VLANs that the configuration names, whether a port is said to be in them or not.
    numbered: parameters by port number, for ports that `ports` does not name in full.
    policies: VLAN limits, mirrors, access lists.
    lags: aggregations, by their names.
    """

    ageing_time: Annotated[
        int,
        Interval(ge=0, le=MAX_AGEING_TIME),
        Unit("s"),
        Doc("Seconds until a silent host is forgotten; 0: never."),
    ] = 300
    fdb_max_learned: Annotated[int, Limit, Doc("Most learned entries of a bridge.")] = 100_000
    ct_zone_block: Annotated[
        int | None,
        Interval(ge=1, le=15),
        Doc(
            "Block of connection tracking zones, for access lists with states: the zone is 4096"
            " times this, plus the VID. Bridges of one Open vSwitch need different blocks. Without"
            " it the block follows from the datapath id."
        ),
    ] = None
    packet_in_rate: Annotated[
        int,
        Rate,
        Doc(
            "Frames of unknown sources a second that each port may send to the controller in any"
            " case; more while switch and controller have capacity for them."
        ),
    ] = 1_000
    stp: spanning_tree.BridgeParams | None = None
    multicast: snooping.Params | None = None
    lldp: Annotated[
        discovery.BridgeParams | None,
        Section(
            "LLDP",
            "Tell the neighbours of each port about this bridge, and hear what they say.",
        ),
    ] = None
    first_hop: Annotated[first_hop_params.BridgeParams, Section("First-hop security")] = field(
        default_factory=first_hop_params.BridgeParams
    )
    port_access: Annotated[
        port_access_params.BridgeParams | None,
        Section(
            "Port access control",
            "Authenticate hosts on ports that have `authentication`, by 802.1X or MAC address.",
        ),
    ] = None
    loop_protect: Annotated[
        loops.BridgeParams | None,
        Section(
            "Loop protection",
            "Send frames by which loops behind edge ports are found, and hold such a port.",
        ),
    ] = None
    ports: Mapping[str, PortParams] = field(default_factory=dict)
    multicast_vlans: Mapping[int, snooping.VlanParams] = field(default_factory=dict)
    numbered: Mapping[int, PortParams] = field(default_factory=dict)
    policies: Policies = field(default_factory=Policies)
    vlans: frozenset[int] = frozenset()
    vlan_names: Mapping[int, str] = field(default_factory=dict)
    lags: Mapping[str, LagParams] = field(default_factory=dict)

    _fitting: dict[str, PortParams] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def port(self, name: str, number: int = 0) -> PortParams:
        """The parameters of the port called `name`, with this number.

        A port is shut down if its name is not its alone and some port of that name has parameters.
        """
        given = self.ports.get(name) or self.numbered.get(number)
        if given is None and base_name(name) in self.ports:
            return _SHUT_DOWN
        return given or self._by_pattern(name)

    def _by_pattern(self, name: str) -> PortParams:
        """The parameters by pattern, kept by name: each DHCP message asks for them."""
        params = self._fitting.get(name)
        if params is None:
            fitting = [pattern for pattern in self.ports if fnmatchcase(name, pattern)]
            params = self.ports[max(fitting, key=len)] if fitting else _DEFAULT_PORT
            if len(self._fitting) >= MOST_FITTING:
                self._fitting.clear()
            self._fitting[name] = params
        return params

    def lag_of(self, name: str) -> str | None:
        """The aggregation that the port called `name` is a member of."""
        return next(
            (lag for lag, lag_params in self.lags.items() if name in lag_params.members), None
        )


_DEFAULT_PORT = PortParams()
_SHUT_DOWN = PortParams(policy=PortPolicy(shutdown=True))


def used_lists(params: BridgeParams) -> dict[str, tuple[AclRule, ...]]:
    """The access lists that ports have, present or not, by name.

    A RADIUS server may give any list to hosts of controlled ports.
    """
    ports = (*params.ports.values(), *params.numbered.values())
    if params.port_access is not None and any(port.port_access.methods for port in ports):
        return dict(params.policies.acls)
    used = {port.policy.acl for port in ports}
    return {name: rules for name, rules in params.policies.acls.items() if name in used}
