"""The cluster in Prometheus' form, as the member sees it that is asked."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.controller.cluster.surface import Surface


def families(surface: Surface) -> Iterator[Metric]:
    """All families; those of claims and members are the same at every member."""
    members = GaugeMetricFamily(
        "ofapp_cluster_member", "1 = the member is there.", labels=["member", "state"]
    )
    for one in surface.members.all():
        members.add_metric([one.name, one.state], one.gone is None)
    owned = GaugeMetricFamily(
        "ofapp_cluster_owned", "Switches that a member looks after.", labels=["member"]
    )
    counts = {one.name: 0 for one in surface.members.all()}
    for claim in surface.claims.all():
        counts[claim.member] = counts.get(claim.member, 0) + 1
    for name, count in counts.items():
        owned.add_metric([name], count)
    claims = CounterMetricFamily(
        "ofapp_cluster_claims",
        "Switches that this member has taken, by whose they were before.",
        labels=["former"],
    )
    for former, count in surface.claims.counts.items():
        claims.add_metric([former], count)
    yield from (members, owned, claims)
    yield GaugeMetricFamily(
        "ofapp_cluster_may_write",
        "1 = this member's lease may be counted on; 0 = it holds still.",
        surface.cluster.lessee.holds,
    )
    age = surface.renewed()
    if age is not None:
        yield GaugeMetricFamily(
            "ofapp_cluster_renewal_age_seconds", "Since etcd renewed this member's lease.", age
        )
