"""Access lists for Prometheus, as of the last statistics of each switch."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_BRIDGE, Labelled, Metrics, Source, families, of_bridge
from ofapp.bridge.params.acl import IMPLICIT
from ofapp.controller.network import Network

_Hits = tuple[int, int, int | None]
"""Frames, octets, and frames over the rate if the rule has one."""

_METRICS: Metrics[_Hits] = (
    ("ofapp_acl_packets_total", "Frames that a rule has decided on.", lambda hits: hits[0]),
    ("ofapp_acl_bytes_total", "Bytes of these frames.", lambda hits: hits[1]),
    ("ofapp_acl_over_rate_total", "Of these, frames over the rule's rate.", lambda hits: hits[2]),
)


def collect(source: Source) -> Iterator[Metric]:
    """Counters of all rules that were found in a switch."""
    yield from families(_METRICS, [*OF_BRIDGE, "acl", "rule", "action"], _rows(source.network))


def _rows(network: Network) -> Iterator[Labelled[_Hits]]:
    for datapath_id, bridge in network.bridges.items():
        datapath = network.datapaths.get(datapath_id)
        if datapath is None:
            continue
        counters = datapath.status().acl
        for name, rules in bridge.params.policies.acls.items():
            known = [(rule.name, rule.allow, rule.rate) for rule in rules]
            for rule, allow, rate in (*known, (IMPLICIT, False, None)):
                count = counters.matched(name, rule)
                if count is None:
                    continue
                over = None if rate is None else counters.over_rate(name, rule)
                labels = [*of_bridge(bridge), name, rule, "allow" if allow else "drop"]
                yield labels, (count.packets, count.octets, over)
