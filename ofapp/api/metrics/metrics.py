"""/metrics: the numbers of the API in Prometheus' format, read at each scrape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flask import Response
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import Metric, Sample
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from pydantic import Field

from ofapp.api.base import Input
from ofapp.api.metrics import cluster, controller, fabrics
from ofapp.api.metrics.bridge import (
    acl,
    bridges,
    first_hop,
    lag,
    lldp,
    loop_protect,
    multicast,
    port_access,
    ports,
    stp,
)
from ofapp.api.metrics.declaration import Source
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import resource
from ofapp.api.roles import local, viewer
from ofapp.common import hub
from ofapp.common.printable import printable

TAG = Tag(name="metrics", description="For Prometheus.")

COLLECTORS = (
    *(bridges, ports, controller, multicast, stp, acl, lag, lldp, first_hop, port_access),
    loop_protect,
    *(fabrics, cluster),
)
"""Modules with metrics, in the order of /metrics: `collect(source)` gives their families."""

AT_ONCE = 512
"""Samples written before other greenlets run: some five milliseconds."""


class MetricsQuery(Input):
    """Options of a scrape."""

    zeros: bool = Field(True, description="also counters of ports that are 0")


@dataclass(frozen=True, eq=False)
class _Network(Collector):
    source: Source

    def collect(self) -> Iterator[Metric]:
        for module in COLLECTORS:
            yield from module.collect(self.source)


@dataclass(frozen=True, slots=True)
class _Scrape(Collector):
    """All metrics, with printable labels.  zeros: also counters of ports that are 0."""

    metrics: Collector
    zeros: bool

    def collect(self) -> Iterator[Metric]:
        """With thousands of ports there are a hundred thousand samples: they are written in
        portions, so each family's samples can be iterated only once."""
        portions = hub.portions(AT_ONCE)
        for family in self.metrics.collect():
            samples = portions.of(family.samples)
            if not self.zeros and family.type == "counter":
                samples = (one for one in samples if one.value or "port" not in one.labels)
            family.samples = map(_printable, samples)  # type: ignore[assignment]
            yield family


def _printable(sample: Sample) -> Sample:
    return sample._replace(labels={name: printable(v) for name, v in sample.labels.items()})


def blueprint(source: Source) -> APIBlueprint:
    """The route."""
    api = resource("metrics", TAG)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Network(source))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)

    @api.get(
        "/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    )
    @viewer
    @local
    def metrics(query: MetricsQuery) -> Response:
        """All metrics.

        A port has some 50 counters, of which most stay 0.  `zeros=false` leaves those out: fewer
        series to store, but Prometheus' `increase` misses the first step of a counter that appears.
        """
        text = generate_latest(_Scrape(registry, query.zeros))
        return Response(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return api
