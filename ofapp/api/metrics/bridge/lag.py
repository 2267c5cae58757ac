"""Aggregations for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_BRIDGE, Labelled, Metrics, Source, families, of_bridge
from ofapp.api.resources.bridge.lags import STATES
from ofapp.bridge.lag.status import LagStatus, MemberStatus
from ofapp.controller.network import Network

_OF_LAG = [*OF_BRIDGE, "lag"]

# fmt: off
_LAGS: Metrics[LagStatus] = (
    ("ofapp_lag_up", "1 = at least min_links members carry traffic.", "up"),
    ("ofapp_lag_members", "Member ports.", lambda lag: len(lag.members)),
    ("ofapp_lag_members_distributing", "Of these, those that carry traffic.",
     lambda lag: sum(member.distributing for member in lag.members)),
    ("ofapp_lag_speed_bytes_per_second", "Total speed of the members that carry traffic.",
     lambda lag: lag.speed_mbps * 125_000),
)

_MEMBERS: Metrics[MemberStatus] = (
    ("ofapp_lag_member_up", "1 = the link is up.", "link"),
    ("ofapp_lag_member_state{state}", "1 for the member's state.",
     lambda member: {name: member.state == name for name in STATES}),
    ("ofapp_lag_member_churn{side}", "1 = that side is in churn (802.1AX-2020 6.4.17).",
     lambda member: {side: side in member.churn for side in ("actor", "partner")}),
    ("ofapp_lag_member_events_total{what}", "PDUs and markers sent and received, churns and flaps.",
     "counters"),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without aggregations are in none of them."""
    lags = [*_lags(source.network)]
    members = (
        ([*bridge_labels, member.name], member)
        for bridge_labels, lag in lags
        for member in lag.members
    )
    yield from families(_LAGS, _OF_LAG, lags)
    yield from families(_MEMBERS, [*_OF_LAG, "port"], members)


def _lags(network: Network) -> Iterator[Labelled[LagStatus]]:
    for bridge in network.bridges.values():
        for lag in network.lag_status(bridge):
            yield [*of_bridge(bridge), lag.name], lag
