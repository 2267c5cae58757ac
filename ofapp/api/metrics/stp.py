"""Spanning tree in Prometheus' format."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.bridge import stp
from ofapp.common import hub
from ofapp.controller.network import Network


def families(network: Network) -> Iterator[Metric]:
    """All families; bridges without spanning tree have only the first."""
    about = ["datapath_id", "bridge"]
    enabled = GaugeMetricFamily("ofapp_stp_enabled", "1 = spanning tree is on.", labels=about)
    is_root = GaugeMetricFamily("ofapp_stp_is_root", "1 = the bridge is the root.", labels=about)
    cost = GaugeMetricFamily("ofapp_stp_root_path_cost", "Cost to the root.", labels=about)
    changes = CounterMetricFamily("ofapp_stp_topology_changes", "Topology changes.", labels=about)
    ports = _Ports([*about, "port"])
    portions = hub.portions()
    for datapath_id, bridge in [*network.bridges.items()]:
        labels = [f"{datapath_id:016x}", bridge.name]
        status = network.stp_status(bridge, ())
        enabled.add_metric(labels, bridge.params.stp is not None)
        if status is None:
            continue
        is_root.add_metric(labels, status.root == status.bridge_id)
        cost.add_metric(labels, status.root_path_cost)
        changes.add_metric(labels, status.topology_change_count)
        for port in portions.of([*bridge.ports]):
            told = network.stp_status(bridge, [port.number])
            for own in () if told is None else told.ports:
                ports.add([*labels, port.name], own)
    yield from (enabled, is_root, cost, changes, *ports.families)


class _Ports:
    def __init__(self, about: list[str]) -> None:
        self._role = GaugeMetricFamily(
            "ofapp_stp_port_role", "1 for the port's role.", labels=[*about, "role"]
        )
        self._state = GaugeMetricFamily(
            "ofapp_stp_port_state", "1 for the port's state.", labels=[*about, "state"]
        )
        self._opened = CounterMetricFamily(
            "ofapp_stp_port_forward_transitions", "Times it began to forward.", labels=about
        )
        self._sent = CounterMetricFamily(
            "ofapp_stp_bpdus_sent", "BPDUs sent.", labels=[*about, "type"]
        )
        self._received = CounterMetricFamily(
            "ofapp_stp_bpdus_received", "BPDUs received.", labels=[*about, "type"]
        )
        self._dropped = CounterMetricFamily(
            "ofapp_stp_bpdus_dropped", "BPDUs ignored.", labels=[*about, "reason"]
        )
        self._guarding = GaugeMetricFamily(
            "ofapp_stp_guard_active", "1 = the guard blocks the port.", labels=[*about, "guard"]
        )
        self._strikes = CounterMetricFamily(
            "ofapp_stp_guard_strikes", "Times the guard has triggered.", labels=[*about, "guard"]
        )

    @property
    def families(self) -> list[Metric]:
        """The families of all ports."""
        return [value for value in vars(self).values() if isinstance(value, Metric)]

    def add(self, labels: list[str], port: stp.PortStatus) -> None:
        """Add a port's samples."""
        for role in stp.Role:
            self._role.add_metric([*labels, role.value], port.role is role)
        for state in stp.PortState:
            self._state.add_metric([*labels, state.value], port.state is state)
        self._opened.add_metric(labels, port.forward_transitions)
        for kind, count in port.sent.items():
            self._sent.add_metric([*labels, kind], count)
        for kind, count in port.received.items():
            self._received.add_metric([*labels, kind], count)
        for reason, count in port.drops.items():
            self._dropped.add_metric([*labels, reason], count)
        for guard in stp.Guard:
            self._guarding.add_metric([*labels, guard.value], guard in port.guards)
            self._strikes.add_metric([*labels, guard.value], port.guard_counts.get(guard, 0))
