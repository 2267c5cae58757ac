"""First-hop security for Prometheus: bindings, limits, and what was refused."""

from __future__ import annotations

import time
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
from ofapp.bridge.first_hop.binding import Origin, PortBindings, Status
from ofapp.controller.network import Network

# fmt: off
_BRIDGES: Metrics[Status] = (
    ("ofapp_bindings{origin}", "Addresses that hosts may use, by where the binding comes from.",
     lambda status: {origin.value: status.bindings.get(origin, 0) for origin in Origin}),
    ("ofapp_first_hop_total{what}",
     "Bindings made, renewed, ended and moved, DHCP messages, and drops by reason.",
     "counters"),
    ("ofapp_port_refused_samples_total{port,claim}",
     "Samples of frames that claim what is not allowed on the port, 10 a second at most.",
     "refused"),
)

_PORTS: Metrics[PortBindings] = (
    ("ofapp_port_bindings", "Dynamic bindings of a guarded port.", "bindings"),
    ("ofapp_port_bindings_max", "Most dynamic bindings of the port.", "most"),
    ("ofapp_port_bindings_full", "1 = a binding was refused as the port has its limit.", "full"),
    ("ofapp_port_bindings_refused_total", "Bindings refused as the port had its limit.", "refused"),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without guarded ports and bindings are in none of them."""
    bridges = [*_bridges(source.network)]
    yield from families(_BRIDGES, OF_BRIDGE, bridges)
    ports = [([*labels, item.port], item) for labels, status in bridges for item in status.ports]
    yield from families(_PORTS, OF_PORT, ports)


def _bridges(network: Network) -> Iterator[Labelled[Status]]:
    for bridge in [*network.bridges.values()]:
        status = bridge.first_hop.status(time.monotonic())
        if status.ports or any(status.bindings.values()):
            yield of_bridge(bridge), status
