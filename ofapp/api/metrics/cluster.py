"""The cluster in Prometheus' format, as the member that answers sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.controller.cluster.etcd.etcd import Node
from ofapp.controller.cluster.peers.surface import Surface
from ofapp.controller.configuration.pushed import Sharing

ALARMS = "NOSPACE", "CORRUPT"
"""Alarms of etcd: its database is full, or one node's differs from another's."""


def families(surface: Surface, sharing: Sharing | None) -> Iterator[Metric]:
    """All families; those of claims and members are the same at every member.

    sharing: of the configuration that was pushed.
    """
    members = GaugeMetricFamily(
        "ofapp_cluster_member", "1 = the member is present.", labels=["member", "state"]
    )
    for one in surface.members.all():
        members.add_metric([one.name, one.state], one.state in ("ready", "drained"))
    counted = GaugeMetricFamily(
        "ofapp_cluster_owned", "Switches that a member is master of.", labels=["member"]
    )
    counts = {one.name: 0 for one in surface.members.all()}
    for claim in surface.claims.all():
        counts[claim.member] = counts.get(claim.member, 0) + 1
    for name, count in counts.items():
        counted.add_metric([name], count)
    claims = CounterMetricFamily(
        "ofapp_cluster_claims",
        "Switches that this member has taken over, by former owner.",
        labels=["former"],
    )
    for former, count in surface.claims.counts.items():
        claims.add_metric([former], count)
    yield from (members, counted, claims)
    yield GaugeMetricFamily(
        "ofapp_cluster_invalid_keys",
        "Keys of the cluster in etcd that are invalid and ignored.",
        len(surface.invalid),
    )
    yield GaugeMetricFamily(
        "ofapp_cluster_history",
        "How often etcd was wiped or restored while members ran.",
        surface.cluster.history.number,
    )
    yield GaugeMetricFamily(
        "ofapp_cluster_may_write",
        "1 = this member's lease is valid; 0 = it is on standby.",
        surface.cluster.lessee.holds,
    )
    owned = GaugeMetricFamily(
        "ofapp_cluster_bridge_owned",
        "1 = a switch that is connected to this member has an owner, as far as it knows.",
        labels=["datapath_id"],
    )
    for datapath_id, has_owner in surface.cluster.owned().items():
        owned.add_metric([f"{datapath_id:016x}"], has_owner)
    yield owned
    yield from _etcd(surface.cluster.health.nodes)
    behind = GaugeMetricFamily(
        "ofapp_cluster_config_behind",
        "1 = the member cannot apply the pushed configuration.",
        labels=["member"],
    )
    for member in () if sharing is None else sharing.members():
        behind.add_metric([member.name], bool(member.error))
    yield behind
    yield GaugeMetricFamily(
        "ofapp_cluster_clock_seconds",
        "This member's clock, since 1970: members refuse each other when theirs differ by 60 s.",
        time.time(),
    )
    age = surface.renewed()
    if age is not None:
        yield GaugeMetricFamily(
            "ofapp_cluster_renewal_age_seconds", "Since etcd renewed this member's lease.", age
        )


def _etcd(nodes: tuple[Node, ...]) -> Iterator[Metric]:
    """Nodes of etcd, as of the last check."""
    up = GaugeMetricFamily(
        "ofapp_cluster_etcd_node",
        "1 = the node of etcd answers this member, and has a leader.",
        labels=["node"],
    )
    alarms = GaugeMetricFamily(
        "ofapp_cluster_etcd_alarm",
        "1 = the node of etcd has raised the alarm.",
        labels=["node", "alarm"],
    )
    seconds = GaugeMetricFamily(
        "ofapp_cluster_etcd_answer_seconds",
        "Response time of the node of etcd.",
        labels=["node"],
    )
    for node in nodes:
        if not node.error:
            seconds.add_metric([node.endpoint], node.seconds)
        up.add_metric([node.endpoint], not node.error and node.has_leader)
        for alarm in ALARMS:
            alarms.add_metric([node.endpoint, alarm], alarm in node.alarms)
    yield from (up, alarms, seconds)
