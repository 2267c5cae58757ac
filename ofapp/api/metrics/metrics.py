"""/metrics: the numbers of the API in Prometheus' format, read at each scrape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, Sample
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from pydantic import Field

from ofapp.api.base import Input
from ofapp.api.http.streams import Streams
from ofapp.api.metrics import acl as metrics_acl
from ofapp.api.metrics import controller as metrics_controller
from ofapp.api.metrics import lag as metrics_lag
from ofapp.api.metrics import lldp as metrics_lldp
from ofapp.api.metrics import multicast as metrics_multicast
from ofapp.api.metrics import ports as metrics_ports
from ofapp.api.metrics import stp as metrics_stp
from ofapp.api.problems import COMMON
from ofapp.api.roles import local, viewer
from ofapp.bridge.answers import fdb_counts, vlan_limits
from ofapp.common import hub
from ofapp.common.printable import printable
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface

TAG = Tag(name="metrics", description="For Prometheus.")

AT_ONCE = 512
"""Samples written before other greenlets run: some five milliseconds."""


class MetricsQuery(Input):
    """Options of a scrape."""

    zeros: bool = Field(True, description="also counters of ports that are 0")


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of the API.  ended: connections that its server has closed, by reason."""

    ended: Mapping[str, int]
    streams: Streams


class NetworkCollector(Collector):
    """Metrics of a network; it has no counters itself."""

    def __init__(
        self,
        network: Network,
        clients: Clients,
        surface: Surface | None = None,
        *,
        zeros: bool = True,
    ) -> None:
        """zeros: also counters of ports that are 0."""
        self._zeros = zeros
        self._network = network
        self._clients = clients
        self._surface = surface

    def collect(self) -> Iterator[Metric]:
        """All families, with printable labels.

        With thousands of ports there are a hundred thousand samples: they are written in portions,
        so each family's samples can be iterated only once.
        """
        portions = hub.portions(AT_ONCE)
        for family in self._families():
            samples = portions.of(family.samples)
            if not self._zeros and family.type == "counter":
                samples = (one for one in samples if one.value or "port" not in one.labels)
            family.samples = map(_shown, samples)  # type: ignore[assignment]
            yield family

    def _families(self) -> Iterator[Metric]:
        yield from self._bridges()
        yield from metrics_ports.families(self._network)
        yield from metrics_controller.families(self._network)
        yield from metrics_multicast.families(self._network)
        yield from metrics_stp.families(self._network)
        yield from metrics_acl.families(self._network)
        yield from metrics_lag.families(self._network)
        yield from metrics_lldp.families(self._network)
        if self._surface is not None:
            from ofapp.api.metrics import cluster as metrics_cluster

            yield from metrics_cluster.families(self._surface, self._network.reloader.sharing)
        events = CounterMetricFamily(
            "ofapp_events", "Events since the start, logged or not.", labels=["kind"]
        )
        for kind, count in self._network.events.counts.items():
            events.add_metric([kind], count)
        yield events
        held_back = CounterMetricFamily(
            "ofapp_events_held_back", "Events counted but not logged: too many.", labels=["kind"]
        )
        for kind, count in self._network.events.held_back.items():
            held_back.add_metric([kind], count)
        yield held_back
        ended = CounterMetricFamily(
            "ofapp_api_connections_ended", "Connections closed as late or too many.", labels=["why"]
        )
        for why, count in self._clients.ended.items():
            ended.add_metric([why], count)
        yield ended
        streams = self._clients.streams
        yield GaugeMetricFamily("ofapp_api_streams", "Open streams of events.", streams.open)
        refused = CounterMetricFamily(
            "ofapp_api_streams_refused",
            "Event streams refused by the limits of one token, one address or all.",
            labels=["bound"],
        )
        for bound, count in streams.refused.items():
            refused.add_metric([bound], count)
        yield refused
        rejected = CounterMetricFamily(
            "ofapp_api_rejected_logins",
            "Requests with an invalid token.",
            labels=["why"],
        )
        for why, count in self._network.access.failures.counts.items():
            rejected.add_metric([why], count)
        yield rejected

    def _bridges(self) -> Iterator[Metric]:
        about = ["datapath_id", "bridge"]
        connected = GaugeMetricFamily("ofapp_bridge_connected", "1 = connected.", labels=about)
        in_line = GaugeMetricFamily(
            "ofapp_bridge_in_line", "1 = the switch has all flows of the bridge.", labels=about
        )
        standby = GaugeMetricFamily(
            "ofapp_bridge_standby",
            "1 = another controller is master of the switch, and this one is on standby.",
            labels=about,
        )
        entries = GaugeMetricFamily(
            "ofapp_fdb_entries", "Entries of the forwarding database.", labels=[*about, "type"]
        )
        held = GaugeMetricFamily("ofapp_fdb_held", "Addresses held down.", labels=about)
        in_vlan = GaugeMetricFamily(
            "ofapp_vlan_fdb_learned",
            "Learned entries, where the VLAN has a limit.",
            labels=[*about, "vlan"],
        )
        vlan_refused = CounterMetricFamily(
            "ofapp_vlan_fdb_refused",
            "Sightings not learned: the VLAN is full.",
            labels=[*about, "vlan"],
        )
        limit = GaugeMetricFamily("ofapp_fdb_max_learned", "Most learned entries.", labels=about)
        learning = CounterMetricFamily(
            "ofapp_learning", "Results of sightings and of entries.", labels=[*about, "what"]
        )
        channel = CounterMetricFamily(
            "ofapp_channel", "Invalid OpenFlow messages.", labels=[*about, "what"]
        )
        drops = CounterMetricFamily(
            "ofapp_dropped_frames", "Frames dropped by the switch.", labels=[*about, "rule"]
        )
        for datapath_id, bridge in self._network.bridges.items():
            labels = [f"{datapath_id:016x}", bridge.name]
            session = self._network.sessions.get(datapath_id)
            status = None if session is None else session.status()
            connected.add_metric(labels, session is not None)
            in_line.add_metric(labels, status is not None and status.in_line)
            standby.add_metric(labels, status is not None and status.owner is not None)
            counts = fdb_counts(bridge)
            entries.add_metric([*labels, "learned"], counts.learned)
            entries.add_metric([*labels, "static"], counts.static)
            entries.add_metric([*labels, "local"], counts.local)
            limit.add_metric(labels, bridge.params.fdb_max_learned)
            held.add_metric(labels, counts.held)
            for vid, one in vlan_limits(bridge).items():
                in_vlan.add_metric([*labels, str(vid)], one.learned)
                vlan_refused.add_metric([*labels, str(vid)], one.refused)
            for what, count in counts.counters.items():
                learning.add_metric([*labels, what], count)
            if session is not None and status is not None:
                for what, count in session.channel.counters.items():
                    channel.add_metric([*labels, what], count)
                for rule, count in status.drops.items():
                    drops.add_metric([*labels, rule], count)
        yield from (connected, in_line, entries, limit, learning, channel, drops)
        yield from (held, in_vlan, vlan_refused, standby)


def _shown(sample: Sample) -> Sample:
    return sample._replace(labels={name: printable(v) for name, v in sample.labels.items()})


def blueprint(network: Network, clients: Clients, surface: Surface | None = None) -> APIBlueprint:
    """The route on a network; surface: of the cluster, where there is one."""
    api = APIBlueprint("metrics", __name__, abp_tags=[TAG], abp_responses=COMMON)
    registries = {}
    for zeros in (True, False):
        registry = registries[zeros] = CollectorRegistry(auto_describe=False)
        registry.register(NetworkCollector(network, clients, surface, zeros=zeros))
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
        found = generate_latest(registries[query.zeros])
        return Response(found, content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return api
