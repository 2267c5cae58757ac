"""Multicast snooping for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_BRIDGE, Labelled, Metrics, Source, families, of_bridge
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import Family, Snapshot
from ofapp.bridge.queries import SnoopingCounts, snooping_counts
from ofapp.controller.network import Network

_Key = tuple[str, ...]


class _Snooping(NamedTuple):
    bridge: Bridge
    snapshot: Snapshot
    counts: SnoopingCounts


def _groups(snooping: _Snooping) -> Mapping[_Key, float]:
    """Count groups by VLAN and family, zeros included; `mac` only if it has groups."""
    sizes = snooping.snapshot.groups()
    macs = {(str(vid), "mac"): n for (vid, family), n in sizes.items() if family is None}
    queried = ((info.vid, info.family) for info in snooping.snapshot.queriers)
    return macs | {_key(vid, of): sizes[vid, Family(of)] for vid, of in queried}


def _routers(snooping: _Snooping) -> Mapping[_Key, float]:
    routed = Counter((info.vid, info.family) for info in snooping.snapshot.routers)
    queried = ((info.vid, info.family) for info in snooping.snapshot.queriers)
    return {_key(*place): routed[place] for place in queried}


def _messages(snooping: _Snooping) -> Mapping[_Key, float]:
    ports = snooping.bridge.ports
    return {
        (port.name if (port := ports.get(number)) else str(number), what): count
        for number, counters in snooping.snapshot.counters.items()
        for what, count in counters.items()
    }


def _key(vid: int, family: int) -> _Key:
    return str(vid), f"ipv{family}"


# fmt: off
_METRICS: Metrics[_Snooping] = (
    ("ofapp_mcast_groups{vlan,family}", "Groups with members or permanent entries.", _groups),
    ("ofapp_mcast_restricts{vlan,family}", "1 = groups go only to ports with members.",
     lambda status: {_key(one.vid, one.family): one.active for one in status.snapshot.queriers}),
    ("ofapp_mcast_querier{vlan,family,state}", "1 for the querier: none, self or other.",
     lambda status: {(*_key(one.vid, one.family), state): one.state == state
                  for one in status.snapshot.queriers for state in ("none", "self", "other")}),
    ("ofapp_mcast_router_ports{vlan,family}", "Ports that get every group.", _routers),
    ("ofapp_mcast_entries", "Entries that hosts have caused in the switch.", "snapshot.entries"),
    ("ofapp_mcast_hash_max", "Most such entries.", "snapshot.hash_max"),
    ("ofapp_mcast_vlans_refused_total", "Messages in VLANs beyond the limit.",
     "counts.vlans_refused"),
    ("ofapp_mcast_topology_changes_total", "Topology changes that need queries.",
     "counts.changes_heard"),
    ("ofapp_mcast_topology_changes_delayed_total",
     "Those of them whose queries were delayed, as they followed others too soon.",
     "counts.changes_delayed"),
    ("ofapp_port_mcast_total{port,what}",
     "Messages received, sent (rx_, tx_) and ignored (drop_), and refusals (limit_).",
     _messages),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; bridges without multicast snooping are in none of them."""
    yield from families(_METRICS, OF_BRIDGE, _rows(source.network))


def _rows(network: Network) -> Iterator[Labelled[_Snooping]]:
    for bridge in network.bridges.values():
        snapshot = network.multicast_snapshot(bridge)
        if snapshot is not None:
            yield of_bridge(bridge), _Snooping(bridge, snapshot, snooping_counts(bridge))
