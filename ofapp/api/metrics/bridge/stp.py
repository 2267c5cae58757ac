"""Spanning tree in Prometheus' format."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import (
    OF_BRIDGE,
    OF_PORT,
    Labelled,
    Metrics,
    Source,
    families,
    of_bridge,
)
from ofapp.bridge import stp
from ofapp.common import hub
from ofapp.controller.network import Network

_ENABLED: Metrics[bool] = (("ofapp_stp_enabled", "1 = spanning tree is on.", bool),)

# fmt: off
_BRIDGES: Metrics[stp.BridgeStatus] = (
    ("ofapp_stp_is_root", "1 = the bridge is the root.",
     lambda status: status.root == status.bridge_id),
    ("ofapp_stp_root_path_cost", "Cost to the root.", "root_path_cost"),
    ("ofapp_stp_topology_changes_total", "Topology changes.", "topology_change_count"),
)

_PORTS: Metrics[stp.PortStatus] = (
    ("ofapp_stp_port_role{role}", "1 for the port's role.",
     lambda port: {role.value: port.role is role for role in stp.PortRole}),
    ("ofapp_stp_port_state{state}", "1 for the port's state.",
     lambda port: {state.value: port.state is state for state in stp.PortState}),
    ("ofapp_stp_port_forward_transitions_total", "Times it began to forward.",
     "forward_transitions"),
    ("ofapp_stp_bpdus_sent_total{type}", "BPDUs sent.", "sent"),
    ("ofapp_stp_bpdus_received_total{type}", "BPDUs received.", "received"),
    ("ofapp_stp_bpdus_dropped_total{reason}", "BPDUs ignored.", "drops"),
    ("ofapp_stp_guard_active{guard}", "1 = the guard blocks the port.",
     lambda port: {guard.value: guard in port.guards for guard in stp.Guard}),
    ("ofapp_stp_guard_strikes_total{guard}", "Times the guard has triggered.",
     lambda port: {guard.value: port.guard_counts.get(guard, 0) for guard in stp.Guard}),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without spanning tree have only the first."""
    network = source.network
    bridges = [*network.bridges.values()]
    trees = [(of_bridge(one), network.stp_status(one, ())) for one in bridges]
    yield from families(_ENABLED, OF_BRIDGE, ((status, tree is not None) for status, tree in trees))
    running = ((status, tree) for status, tree in trees if tree is not None)
    yield from families(_BRIDGES, OF_BRIDGE, running)
    yield from families(_PORTS, OF_PORT, _ports(network))


def _ports(network: Network) -> Iterator[Labelled[stp.PortStatus]]:
    portions = hub.portions()
    for bridge in [*network.bridges.values()]:
        if network.stp_status(bridge, ()) is None:
            continue
        for port in portions.of([*bridge.ports]):
            status = network.stp_status(bridge, [port.number])
            for one in () if status is None else status.ports:
                yield [*of_bridge(bridge), port.name], one
