"""Guarded ports: what a switch is to check there, and the hosts that it lets pass."""

from ofapp.bridge.effects.content import BoundHost
from ofapp.bridge.first_hop.binding import GuardedPort, UnboundHost
from ofapp.bridge.first_hop.bindings.table import BindingTable
from ofapp.bridge.first_hop.ethertypes import admitted
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.state import BridgeState


class GuardedPorts:
    """The guarded ports of a bridge.  prober: the MAC address of the bridge's probes."""

    def __init__(self, state: BridgeState, table: BindingTable) -> None:
        self.prober = prober(state.datapath_id)
        self._state = state
        self._table = table
        self._snoops: tuple[BridgeParams, bool] | None = None

    def has(self, name: str, number: int) -> bool:
        """Whether the port is guarded, present or not."""
        return self._state.params.port(name, number).first_hop.guards

    def number(self, name: str) -> int | None:
        """The number of a port that is guarded and present."""
        port = self._state.ports.named(name)
        return port.number if port is not None and self.has(name, port.number) else None

    def hosts(self, params: BridgeParams) -> tuple[BoundHost, ...]:
        """The hosts with bindings that are on guarded ports."""
        table, hosts = self._table, list[BoundHost]()
        for name in table.ports():
            port = self._state.ports.named(name)
            if port is None or not params.port(name, port.number).first_hop.guards:
                continue
            for vid, mac in table.hosts(name):
                hosts.append(table.bound(port.number, name, vid, mac))
        return tuple(hosts)

    def checks(self, port: Port, params: BridgeParams) -> GuardedPort | None:
        """Return the checks of a port's frames; None for nothing."""
        its_params = params.port(port.name, port.number)
        checked, snooping = its_params.first_hop, self._any_snooped(params)
        watched = snooping and (checked.dhcp_server or checked.router)
        if not (checked.checks or watched):
            return None
        vlans = params.policies.vlans.values()
        types = admitted(checked.ethertypes)
        return GuardedPort(
            source_guard=checked.source_guard,
            arp=checked.arp_inspection,
            nd=checked.nd_inspection,
            dhcp_server=checked.dhcp_server,
            router=checked.router,
            types=None if types is None else tuple(sorted(types)),
            report_only=its_params.trust == "learn",
            pass_when_away=params.first_hop.when_away == "pass",
            watched=watched,
            prober=self.prober,
            arp_answered=checked.guards and any(vlan.arp_suppress for vlan in vlans),
            nd_answered=checked.guards
            and not checked.router
            and any(vlan.nd_suppress for vlan in vlans),
        )

    def _any_snooped(self, params: BridgeParams) -> bool:
        """Whether hosts of any port are guarded, present or not.

        So the flows of the other ports do not change with the first guest that comes.
        """
        if self._snoops is None or self._snoops[0] is not params:
            ports = (*params.ports.values(), *params.numbered.values())
            self._snoops = params, any(port.first_hop.guards for port in ports)
        return self._snoops[1]

    def would_refuse(self, params: BridgeParams) -> list[UnboundHost]:
        """The present hosts that would be cut off by other parameters, which guard their port."""
        now = self._state.params
        names = {
            port.number: port.name
            for port in self._state.ports
            if _enforces(params, port) and not _enforces(now, port)
        }
        fdb = self._state.learning.fdb if names else ()
        return [
            UnboundHost(names[port], vid, mac)
            for vid, mac, port in [(vid, mac, entry.port) for vid, mac, entry in fdb]
            if port in names and not self._table.on_port(names[port], vid, mac)
        ]

    def refuses(self, port: Port, vid: int, mac: int) -> bool:
        """Whether frames of a host on a port are dropped, as it has no binding there."""
        its = self._table.on_port(port.name, vid, mac)
        return not its and _enforces(self._state.params, port)


def prober(datapath_id: int) -> int:
    """The MAC address of a bridge's probes: locally administered, and another one on each bridge.

    So an answer that passes several bridges on its way is taken by the bridge that has asked.
    """
    return 0x0E << 40 | datapath_id & 0xFF_FFFF_FFFF


def _enforces(params: BridgeParams, port: Port) -> bool:
    """Whether frames of hosts without a binding are dropped."""
    its_params = params.port(port.name, port.number)
    return its_params.first_hop.source_guard != "off" and its_params.trust != "learn"
