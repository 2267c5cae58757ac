"""Beacons for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_PORT, Source, families, of_bridge


def collect(source: Source) -> Iterator[Metric]:
    """Beacons heard, by port."""
    rows = (
        ([*of_bridge(bridge), port], heard)
        for bridge in source.network.bridges.values()
        for port, heard in (bridge.protocol("beacon").status(time.monotonic()) or {}).items()
    )
    yield from families(
        (("ofapp_beacons_total", "Beacons heard.", lambda heard: heard),), OF_PORT, rows
    )
