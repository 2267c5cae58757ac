"""What a prediction takes for granted, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ofapp.bridge.stp.port import PortRole
from ofapp.bridge.stp.vectors import format_bridge_id
from ofapp.bridge.twin.actions import Action, Disconnect, Fail, Move, Storm
from ofapp.bridge.twin.cable import SwitchPort
from ofapp.bridge.twin.copied import lacp_members
from ofapp.bridge.twin.fabric import NOTICED
from ofapp.bridge.twin.foreign import is_foreign
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.common.words import listed

SHOWN = 4
"""Most ports that a sentence of the answer lists."""


def of_network(
    network: TwinNetwork,
    original: Mapping[tuple[int, int], PortRole],
    settled: Mapping[tuple[int, int], PortRole],
) -> Iterator[str]:
    """Assumptions of a copied network.  original, settled: roles when copied, and at rest."""
    foreign = [foreign_name(network, number) for number in network.bridges if is_foreign(number)]
    if foreign:
        yield f"{listed(foreign, SHOWN)}: not ours; taken to keep to 802.1D, as last heard"
    old = [bridge.stp.params for number, bridge in network.bridges.items() if is_foreign(number)]
    ages = [each.max_age for each in old if each is not None and not each.rstp]
    if ages:
        # 802.1D-1998, 8.6.2.2: worse information from the same port does not replace the better.
        yield f"bridges with STP may take up to {max(ages):g} s longer, and differ until then"
    if network.hellos:
        count = len({each.at for each in network.hellos})
        yield f"{count} ports have neighbours that are not ours; they go on with their last hellos"
    if network.unknown:
        ports = _ports(network, network.unknown)
        yield f"{ports}: not ours, and silent; what is there is not predicted"
    moved = [
        key
        for key, role in original.items()
        if settled.get(key) is not role and not is_foreign(key[0])
    ]
    if moved:
        ports = _ports(network, moved)
        yield f"{ports}: the copy gives another role than the network; it may be wrong"
    if any(not b.lags.clock.runs and lacp_members(b) for b in network.bridges.values()):
        yield "partners of aggregations keep to what they do now"
    if network.left_out:
        yield f"multicast in {network.left_out} further VLANs stays as it is"
    if any(not bridge.stp.runs for bridge in network.bridges.values()):
        yield "bridges without spanning tree keep all ports open"
    for fabric in network.fabrics.values():
        names = fabric.unmanaged()
        if names:
            who = listed(names, SHOWN)
            yield f"{who}: without the controller, or refuses plans; it forwards as now"


def of_actions(network: TwinNetwork, actions: Sequence[Action]) -> Iterator[str]:
    """What is taken for granted of these changes."""
    for action in actions:
        if isinstance(action, Move):
            if action.to.datapath_id in network.bridges:
                vid = action.place(network).vid
                where = f"at {_port_name(network, *action.to)} in " + (
                    f"VLAN {vid}" if vid else "no VLAN"
                )
                yield f"the host that moves sends at once, without a tag: it is {where}"
        elif isinstance(action, Fail) and any(
            action.datapath_id in fabric.switch_names() for fabric in network.fabrics.values()
        ):
            yield f"members without power are noticed by their silence, after {NOTICED:g} s"
        elif isinstance(action, Disconnect):
            yield (
                "switches without their controller forward as they did last, learn no address, "
                "and are connected again all at the same instant"
            )
            if action.why:
                yield action.why
    controlled = [each for each in _arrivals(actions) if _is_controlled(network, each)]
    if controlled:
        ports = _ports(network, controlled)
        yield f"port access control at {ports}: what a RADIUS server answers is not predicted"


def _arrivals(actions: Iterable[Action]) -> Iterator[SwitchPort]:
    """Ports where frames of hosts come in after the changes that did not before."""
    for action in actions:
        if isinstance(action, Move):
            yield action.to
        elif isinstance(action, Storm):
            yield action.at


def _is_controlled(network: TwinNetwork, at: SwitchPort) -> bool:
    """Whether port access control is on at a port of a bridge that is still there."""
    bridge, params = network.bridges.get(at.datapath_id), network.params.get(at.datapath_id)
    port = None if bridge is None else bridge.port_at(at.port)
    if params is None or params.port_access is None or port is None:
        return False
    return bool(params.port(port.name, at.port).port_access.methods)


def foreign_name(network: TwinNetwork, datapath_id: int) -> str:
    """The name of a bridge of another owner."""
    return f"bridge {format_bridge_id(network.bridges[datapath_id].address)[5:]}"


def _ports(network: TwinNetwork, ports: Iterable[tuple[int, int]]) -> str:
    return listed([_port_name(network, *each) for each in ports], SHOWN)


def _port_name(network: TwinNetwork, datapath_id: int, number: int) -> str:
    bridge = network.bridges[datapath_id]
    port = bridge.port_at(number) or bridge.ports.get(number)
    return f"{bridge.name}/{number if port is None else port.name}"
