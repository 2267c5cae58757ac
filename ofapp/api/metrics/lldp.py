"""LLDP for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.controller.network import Network


def families(network: Network) -> Iterator[Metric]:
    """All families; bridges without LLDP are in none of them."""
    about = ["datapath_id", "bridge", "port"]
    neighbours = GaugeMetricFamily(
        "ofapp_lldp_neighbours", "Stored neighbours behind the port.", labels=about
    )
    crowded = GaugeMetricFamily(
        "ofapp_lldp_too_many_neighbours", "1 = there are more than are stored.", labels=about
    )
    counters = CounterMetricFamily(
        "ofapp_lldp_events",
        "Frames and TLVs as IEEE 802.1AB 9.2.6 counts them, and frames ignored.",
        labels=[*about, "what"],
    )
    for datapath_id, bridge in network.bridges.items():
        for agent in network.lldp_status(bridge):
            labels = [f"{datapath_id:016x}", bridge.name, agent.name]
            neighbours.add_metric(labels, len(agent.neighbours))
            crowded.add_metric(labels, agent.crowded)
            for what, count in agent.counters.items():
                counters.add_metric([*labels, what], count)
    yield from (neighbours, crowded, counters)
