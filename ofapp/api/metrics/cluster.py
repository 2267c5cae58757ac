"""The cluster in Prometheus' format, as the member that answers sees it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import Metrics, Source, families

if TYPE_CHECKING:
    from ofapp.controller.cluster.etcd.etcd import Node
    from ofapp.controller.cluster.peers.surface import Surface

ALARMS = "NOSPACE", "CORRUPT"
"""Alarms of etcd: its database is full, or one node's differs from another's."""


def _owned(surface: Surface) -> Mapping[str, float]:
    """Also members without a switch, and owners that are members no more."""
    counts = Counter(claim.member for claim in surface.claims.all())
    names = dict.fromkeys([*(one.name for one in surface.members.all()), *counts])
    return {name: counts[name] for name in names}


# fmt: off
_CLUSTER: Metrics[Surface] = (
    ("ofapp_cluster_member{member,state}", "1 = the member is present.",
     lambda surface: {(one.name, one.state): one.state in ("ready", "drained")
                      for one in surface.members.all()}),
    ("ofapp_cluster_owned{member}", "Switches that a member is master of.", _owned),
    ("ofapp_cluster_claims_total{former}",
     "Switches that this member has taken over, by former owner.",
     "claims.counts"),
    ("ofapp_cluster_invalid_keys", "Keys of the cluster in etcd that are invalid and ignored.",
     lambda surface: len(surface.invalid)),
    ("ofapp_cluster_refused_total{reason}",
     "Connections and requests that the listener for members has refused.",
     "refused"),
    ("ofapp_cluster_history", "How often etcd was wiped or restored while members ran.",
     "cluster.history.number"),
    ("ofapp_cluster_may_write", "1 = this member's lease is valid; 0 = it is on standby.",
     "cluster.lease_keeper.holds"),
    ("ofapp_cluster_bridge_owned{datapath_id}",
     "1 = a switch that is connected to this member has an owner, as far as it knows.",
     lambda surface: {f"{known:016x}": owned for known, owned in surface.cluster.owned().items()}),
    ("ofapp_cluster_clock_seconds",
     "This member's clock, since 1970: merged events are in the order of these clocks.",
     lambda surface: time.time()),
)

_RENEWAL: Metrics[float] = (
    ("ofapp_cluster_renewal_age_seconds", "Since etcd renewed this member's lease.",
     lambda age: age),
)

_NODES: Metrics[Node] = (
    ("ofapp_cluster_etcd_node", "1 = the node of etcd answers this member, and has a leader.",
     lambda node: not node.error and node.has_leader),
    ("ofapp_cluster_etcd_alarm{alarm}", "1 = the node of etcd has raised the alarm.",
     lambda node: {alarm: alarm in node.alarms for alarm in ALARMS}),
    ("ofapp_cluster_etcd_answer_seconds", "Response time of the node of etcd.",
     lambda node: None if node.error else node.seconds),
)

_BEHIND: Metrics[bool] = (
    ("ofapp_cluster_config_behind", "1 = the member cannot apply the pushed configuration.",
     lambda behind: behind),
)
# fmt: on

DECLARED = ((_CLUSTER, ()), (_RENEWAL, ()), (_NODES, ("node",)), (_BEHIND, ("member",)))
"""All tables with their common labels: the documentation has them without a cluster."""


def collect(source: Source) -> Iterator[Metric]:
    """All families, none where there is no cluster; those of claims and members are the same at
    every member."""
    surface, sharing = source.surface, source.network.reloader.sharing
    if surface is None:
        return
    yield from families(_CLUSTER, (), [((), surface)])
    age = surface.renewed()
    if age is not None:
        yield from families(_RENEWAL, (), [((), age)])
    nodes = (([node.endpoint], node) for node in surface.cluster.health.nodes)
    yield from families(*DECLARED[2], nodes)
    members = () if sharing is None else sharing.members()
    behind = (([member.name], bool(member.error)) for member in members)
    yield from families(*DECLARED[3], behind)
