"""Port access control for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import (
    OF_BRIDGE,
    OF_PORT,
    Metrics,
    Source,
    families,
    of_bridge,
)
from ofapp.bridge.port_access.status import PortStatus

# fmt: off
_PORTS: Metrics[PortStatus] = (
    ("ofapp_port_access_hosts", "Hosts of the controlled port, authorised or not.", "hosts"),
    ("ofapp_port_access_authorised", "Hosts of the controlled port that are authorised.",
     "authorised"),
    ("ofapp_port_access_events_total{what}",
     "Frames that were dropped, and decisions about hosts of the controlled port.", "counters"),
)
_SERVERS: Metrics[Mapping[str, int]] = (
    ("ofapp_radius_packets_total{what}",
     "Requests to RADIUS servers, answers, and packets that were refused.",
     lambda counted: counted),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without port access control are in none of them."""
    network = source.network
    bridges = [each for each in network.bridges.values() if each.params.port_access is not None]
    ports = (
        ([*of_bridge(bridge), port.port], port)
        for bridge in bridges
        for port in bridge.port_access.status(0.0)
    )
    yield from families(_PORTS, OF_PORT, ports)
    clients = ((bridge, network.authentication.client(bridge)) for bridge in bridges)
    counted = (
        (of_bridge(bridge), dict(one.counters)) for bridge, one in clients if one is not None
    )
    yield from families(_SERVERS, OF_BRIDGE, counted)
