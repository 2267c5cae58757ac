"""The metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ofapp.api.http.streams import Streams
from ofapp.api.metrics import cluster
from ofapp.api.metrics.declaration import Source, families
from ofapp.api.metrics.metrics import COLLECTORS
from ofapp.config import Config
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from ofapp.reference.table import code, head, plain, table


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    yield from head(
        "Metrics",
        "What `/metrics` gives Prometheus: each metric with its labels. A name that ends in"
        " `_total` is a counter, others are gauges. Alerts and dashboards are in"
        " `deploy/monitoring`.",
    )
    for module in COLLECTORS:
        yield f"## {module.__name__.rpartition('.')[2].replace('_', ' ').capitalize()}"
        rows = (
            [
                code(family.name + ("_total" if family.type == "counter" else "")),
                " ".join(map(code, family._labelnames)),
                plain(family.documentation),
            ]
            for family in _families(module)
        )
        yield table(["Metric", "Labels", "Meaning"], rows)


def declared() -> Iterator[Any]:
    """The families of all metrics, as prometheus_client has them."""
    for module in COLLECTORS:
        yield from _families(module)


def _families(module: ModuleType) -> Iterator[Any]:
    if module is cluster:
        for metrics, labels in cluster.DECLARED:
            yield from families(metrics, labels, ())
    else:
        source = Source(Network(Config(), State(None), EventLog()), Streams(), {})
        yield from module.collect(source)
