"""LLDP for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_PORT, Metrics, Source, families, of_bridge
from ofapp.bridge.lldp.agents import AgentStatus

# fmt: off
_METRICS: Metrics[AgentStatus] = (
    ("ofapp_lldp_neighbours", "Stored neighbours behind the port.",
     lambda agent: len(agent.neighbours)),
    ("ofapp_lldp_too_many_neighbours", "1 = there are more than are stored.", "crowded"),
    ("ofapp_lldp_events_total{what}",
     "Frames and TLVs as IEEE 802.1AB 9.2.6 counts them, and frames ignored.",
     "counters"),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without LLDP are in none of them."""
    network = source.network
    agents = (
        ([*of_bridge(bridge), agent.name], agent)
        for bridge in network.bridges.values()
        for agent in network.lldp_status(bridge)
    )
    yield from families(_METRICS, OF_PORT, agents)
