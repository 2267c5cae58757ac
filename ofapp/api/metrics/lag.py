"""Aggregations for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.api.resources.bridge.lags import STATES
from ofapp.controller.network import Network


def families(network: Network) -> Iterator[Metric]:
    """All families; bridges without aggregations are in none of them."""
    about = ["datapath_id", "bridge", "lag"]
    of_member = [*about, "port"]
    up = GaugeMetricFamily(
        "ofapp_lag_up", "1 = at least min_links members carry traffic.", labels=about
    )
    members = GaugeMetricFamily("ofapp_lag_members", "Member ports.", labels=about)
    distributing = GaugeMetricFamily(
        "ofapp_lag_members_distributing", "Of these, those that carry traffic.", labels=about
    )
    speed = GaugeMetricFamily(
        "ofapp_lag_speed_bytes_per_second",
        "Total speed of the members that carry traffic.",
        labels=about,
    )
    link = GaugeMetricFamily("ofapp_lag_member_up", "1 = the link is up.", labels=of_member)
    state = GaugeMetricFamily(
        "ofapp_lag_member_state", "1 for the member's state.", labels=[*of_member, "state"]
    )
    churn = GaugeMetricFamily(
        "ofapp_lag_member_churn",
        "1 = that side is in churn (802.1AX-2020 6.4.17).",
        labels=[*of_member, "side"],
    )
    counters = CounterMetricFamily(
        "ofapp_lag_member_events",
        "PDUs and markers sent and received, churns and flaps.",
        labels=[*of_member, "what"],
    )
    for datapath_id, bridge in network.bridges.items():
        for lag in network.lag_status(bridge):
            labels = [f"{datapath_id:016x}", bridge.name, lag.name]
            up.add_metric(labels, lag.up)
            members.add_metric(labels, len(lag.members))
            distributing.add_metric(labels, sum(member.distributing for member in lag.members))
            speed.add_metric(labels, lag.speed_mbps * 125_000)
            for member in lag.members:
                own = [*labels, member.name]
                link.add_metric(own, member.link)
                for name in STATES:
                    state.add_metric([*own, name], member.state == name)
                for side in ("actor", "partner"):
                    churn.add_metric([*own, side], side in member.churn)
                for what, count in member.counters.items():
                    counters.add_metric([*own, what], count)
    yield from (up, members, distributing, speed, link, state, churn, counters)
