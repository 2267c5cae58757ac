"""Loop protection for Prometheus."""

from __future__ import annotations

import time
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
from ofapp.bridge.loop_protect.on_bridge import PortProtection

# fmt: off
_PORTS: Metrics[PortProtection] = (
    ("ofapp_loop_protect_held", "1 = loop protection has closed the port.",
     lambda port: int(port.held is not None)),
)
_BRIDGES: Metrics[Bridge] = (
    ("ofapp_loop_protect_frames_total{what}",
     "Frames of loop protection: sent, come back by what they meant, and holds.",
     lambda bridge: bridge.loop_protect.counters),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without loop protection are in none of them."""
    now = time.monotonic()
    found = [(each, each.loop_protect.status(now)) for each in source.network.bridges.values()]
    on = [(bridge, ports) for bridge, ports in found if ports is not None]
    ports = (([*of_bridge(bridge), port.name], port) for bridge, ports in on for port in ports)
    yield from families(_PORTS, OF_PORT, ports)
    yield from families(_BRIDGES, OF_BRIDGE, ((of_bridge(bridge), bridge) for bridge, _ in on))
