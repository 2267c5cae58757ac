"""Multicast snooping for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.bridge.answers import snooping_counts
from ofapp.bridge.multicast import Family
from ofapp.controller.network import Network


def families(network: Network) -> Iterator[Metric]:
    """All families; bridges without multicast snooping are in none of them."""
    about = ["datapath_id", "bridge"]
    in_vlan = [*about, "vlan", "family"]
    groups = GaugeMetricFamily(
        "ofapp_mcast_groups", "Groups with members or permanent entries.", labels=in_vlan
    )
    restricts = GaugeMetricFamily(
        "ofapp_mcast_restricts", "1 = groups go only to ports with members.", labels=in_vlan
    )
    querier = GaugeMetricFamily(
        "ofapp_mcast_querier", "1 for the querier: none, self or other.", labels=[*in_vlan, "state"]
    )
    routers = GaugeMetricFamily(
        "ofapp_mcast_router_ports", "Ports that get every group.", labels=in_vlan
    )
    entries = GaugeMetricFamily(
        "ofapp_mcast_entries", "Entries that hosts have caused in the switch.", labels=about
    )
    limit = GaugeMetricFamily("ofapp_mcast_hash_max", "Most such entries.", labels=about)
    refused = CounterMetricFamily(
        "ofapp_mcast_vlans_refused", "Messages in VLANs beyond the limit.", labels=about
    )
    changes = CounterMetricFamily(
        "ofapp_mcast_topology_changes", "Topology changes that need queries.", labels=about
    )
    delayed = CounterMetricFamily(
        "ofapp_mcast_topology_changes_delayed",
        "Those of them whose queries were delayed, as they followed others too soon.",
        labels=about,
    )
    messages = CounterMetricFamily(
        "ofapp_port_mcast",
        "Messages received, sent (rx_, tx_) and ignored (drop_), and refusals (limit_).",
        labels=[*about, "port", "what"],
    )
    for datapath_id, bridge in network.bridges.items():
        snapshot, counts = network.multicast_snapshot(bridge), snooping_counts(bridge)
        if snapshot is None:
            continue
        labels = [f"{datapath_id:016x}", bridge.name]
        entries.add_metric(labels, snapshot.entries)
        limit.add_metric(labels, snapshot.hash_max)
        refused.add_metric(labels, counts.vlans_refused)
        changes.add_metric(labels, counts.changes_heard)
        delayed.add_metric(labels, counts.changes_delayed)
        sizes = snapshot.groups()
        for (vid, family), size in sizes.items():
            if family is None:
                groups.add_metric([*labels, str(vid), "mac"], size)
        routed = Counter((info.vid, info.family) for info in snapshot.routers)
        for info in snapshot.queriers:
            place = [*labels, str(info.vid), f"ipv{info.family}"]
            groups.add_metric(place, sizes[info.vid, Family(info.family)])
            routers.add_metric(place, routed[info.vid, info.family])
            restricts.add_metric(place, info.active)
            for state in ("none", "self", "other"):
                querier.add_metric([*place, state], info.state == state)
        for number, counters in snapshot.counters.items():
            port = bridge.ports.get(number)
            name = port.name if port else str(number)
            for what, count in counters.items():
                messages.add_metric([*labels, name, what], count)
    yield from (groups, restricts, querier, routers, entries, limit, refused)
    yield from (changes, delayed, messages)
