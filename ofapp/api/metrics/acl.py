"""Access lists for Prometheus, as of the last statistics of each switch."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from ofapp.bridge.params.acl import IMPLICIT
from ofapp.controller.network import Network


def families(network: Network) -> Iterator[Metric]:
    """Counters of all rules that were found in a switch."""
    about = ["datapath_id", "bridge", "acl", "rule", "action"]
    packets = CounterMetricFamily(
        "ofapp_acl_packets", "Frames that a rule has decided on.", labels=about
    )
    octets = CounterMetricFamily("ofapp_acl_bytes", "Bytes of these frames.", labels=about)
    over = CounterMetricFamily(
        "ofapp_acl_over_rate", "Of these, frames over the rule's rate.", labels=about
    )
    for datapath_id, bridge in network.bridges.items():
        session = network.sessions.get(datapath_id)
        if session is None:
            continue
        counters = session.status().acl
        for name, rules in bridge.params.policies.acls.items():
            known = [(rule.name, rule.allow, rule.rate) for rule in rules]
            for rule, allow, rate in (*known, (IMPLICIT, False, None)):
                count = counters.matched(name, rule)
                if count is None:
                    continue
                action = "allow" if allow else "drop"
                labels = [f"{datapath_id:016x}", bridge.name, name, rule, action]
                packets.add_metric(labels, count.packets)
                octets.add_metric(labels, count.octets)
                if rate is not None:
                    over.add_metric(labels, counters.over_rate(name, rule))
    yield from (packets, octets, over)
