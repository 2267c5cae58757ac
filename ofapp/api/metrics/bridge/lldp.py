"""LLDP for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import (
    OF_BRIDGE,
    OF_PORT,
    Metrics,
    Source,
    families,
    of_bridge,
)
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lldp.agents import AgentStatus


def _by_state(bridge: Bridge) -> dict[str, int]:
    held = [link.held for link in bridge.one_way.status(0.0).values()]
    return {"held": held.count(True), "suspected": held.count(False)}


# fmt: off
_METRICS: Metrics[AgentStatus] = (
    ("ofapp_lldp_neighbours", "Stored neighbours behind the port.",
     lambda agent: len(agent.neighbours)),
    ("ofapp_lldp_too_many_neighbours", "1 = there are more than are stored.", "crowded"),
    ("ofapp_lldp_heard", "1 = the neighbour hears the port; 0 = it does not, or is not known to.",
     lambda agent: int(agent.heard or False)),
    ("ofapp_lldp_events_total{what}",
     "Frames and TLVs as IEEE 802.1AB 9.2.6 counts them, and frames ignored.",
     "counters"),
)
_BRIDGES: Metrics[Bridge] = (
    ("ofapp_one_way_links{state}",
     "Ports whose links pass frames in one direction alone, now: held, which are closed, and"
     " suspected, which are open.",
     _by_state),
    ("ofapp_one_way_found_total{state}",
     "How often a port was found to have such a link.",
     lambda bridge: bridge.one_way.counters),
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
    on = [bridge for bridge in network.bridges.values() if bridge.params.lldp is not None]
    yield from families(_BRIDGES, OF_BRIDGE, ((of_bridge(bridge), bridge) for bridge in on))
