"""/metrics: the numbers of the API in Prometheus' form, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, Sample
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from ofapp.api import (
    metrics_acl,
    metrics_controller,
    metrics_lag,
    metrics_lldp,
    metrics_multicast,
    metrics_ports,
    metrics_stp,
)
from ofapp.api.base import NoQuery
from ofapp.api.problems import COMMON
from ofapp.api.roles import viewer
from ofapp.bridge.answers import fdb_counts, vlan_limits
from ofapp.common import hub
from ofapp.common.printable import printable
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.surface import Surface

TAG = Tag(name="metrics", description="For Prometheus.")

AT_ONCE = 512
"""Samples written before others have their turn: some five milliseconds."""


class NetworkCollector(Collector):
    """Metrics of a network; it counts nothing itself."""

    def __init__(
        self, network: Network, ended: Mapping[str, int], surface: Surface | None = None
    ) -> None:
        self._network = network
        self._ended = ended
        self._surface = surface

    def collect(self) -> Iterator[Metric]:
        """All families, with labels that can be shown.

        There are a hundred thousand samples where there are thousands of ports: they are written
        in portions, so each family's can be gone through once only.
        """
        portions = hub.portions(AT_ONCE)
        for family in self._families():
            family.samples = map(_shown, portions.of(family.samples))  # type: ignore[assignment]
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
            from ofapp.api import metrics_cluster

            yield from metrics_cluster.families(self._surface)
        events = CounterMetricFamily(
            "ofapp_events", "What has happened since the start, told or not.", labels=["kind"]
        )
        for kind, count in self._network.events.counts.items():
            events.add_metric([kind], count)
        yield events
        held_back = CounterMetricFamily(
            "ofapp_events_held_back", "Events counted but not told: too many.", labels=["kind"]
        )
        for kind, count in self._network.events.held_back.items():
            held_back.add_metric([kind], count)
        yield held_back
        ended = CounterMetricFamily(
            "ofapp_api_connections_ended", "Clients that were late or too many.", labels=["why"]
        )
        for why, count in self._ended.items():
            ended.add_metric([why], count)
        yield ended
        rejected = CounterMetricFamily(
            "ofapp_api_rejected_logins",
            "Requests with a token that does not count.",
            labels=["why"],
        )
        for why, count in self._network.access.failures.counts.items():
            rejected.add_metric([why], count)
        yield rejected

    def _bridges(self) -> Iterator[Metric]:
        about = ["datapath_id", "bridge"]
        connected = GaugeMetricFamily("ofapp_bridge_connected", "1 = connected.", labels=about)
        in_line = GaugeMetricFamily(
            "ofapp_bridge_in_line", "1 = the switch holds what the bridge wants.", labels=about
        )
        standby = GaugeMetricFamily(
            "ofapp_bridge_standby",
            "1 = another controller looks after the switch, and this one holds still.",
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
            "ofapp_learning", "What became of sightings and entries.", labels=[*about, "what"]
        )
        channel = CounterMetricFamily(
            "ofapp_channel", "OpenFlow messages that were wrong.", labels=[*about, "what"]
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


def blueprint(
    network: Network, ended: Mapping[str, int], surface: Surface | None = None
) -> APIBlueprint:
    """The route on a network; ended: connections that the API's server has ended, by why.

    surface: of the cluster, where there is one.
    """
    api = APIBlueprint("metrics", __name__, abp_tags=[TAG], abp_responses=COMMON)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(NetworkCollector(network, ended, surface))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)

    @api.get(
        "/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    )
    @viewer
    def metrics(query: NoQuery) -> Response:
        """Every number there is."""
        return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    return api
