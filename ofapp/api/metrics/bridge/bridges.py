"""Bridges, their forwarding databases and their switches' channels in Prometheus' format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_BRIDGE, Labelled, Metrics, Source, families, of_bridge
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import Answered
from ofapp.bridge.queries import FdbCounts, fdb_counts, vlan_limits
from ofapp.controller.network import Network


class _Known(NamedTuple):
    """A bridge; what is known of its switch only while that is connected has a default."""

    bridge: Bridge
    counts: FdbCounts
    connected: bool = False
    in_line: bool = False
    standby: bool = False
    channel: Mapping[str, int] = {}
    drops: Mapping[str, int] = {}
    round_trip: float | None = None
    answered: Answered = Answered()
    packet_ins: Mapping[str, int] = {}


# fmt: off
_METRICS: Metrics[_Known] = (
    ("ofapp_bridge_connected", "1 = connected.", "connected"),
    ("ofapp_bridge_in_line", "1 = the switch has all flows of the bridge.", "in_line"),
    ("ofapp_fdb_entries{type}", "Entries of the forwarding database.",
     lambda status: {kind: getattr(status.counts, kind)
                     for kind in ("learned", "static", "local")}),
    ("ofapp_fdb_max_learned", "Most learned entries.", "bridge.params.fdb_max_learned"),
    ("ofapp_learning_total{what}", "Results of sightings and of entries.", "counts.counters"),
    ("ofapp_channel_total{what}", "Invalid OpenFlow messages.", "channel"),
    ("ofapp_dropped_frames_total{rule}", "Frames dropped by the switch.", "drops"),
    ("ofapp_arp_answered_total", "ARP requests answered by the switch for bound hosts.",
     "answered.arp"),
    ("ofapp_nd_answered_total", "Neighbour solicitations answered by the switch for bound hosts.",
     "answered.nd"),
    ("ofapp_fdb_held", "Addresses held down.", "counts.held"),
    ("ofapp_vlan_fdb_learned{vlan}", "Learned entries, where the VLAN has a limit.",
     lambda status: {str(vid): one.learned for vid, one in vlan_limits(status.bridge).items()}),
    ("ofapp_vlan_fdb_refused_total{vlan}", "Sightings not learned: the VLAN is full.",
     lambda status: {str(vid): one.refused for vid, one in vlan_limits(status.bridge).items()}),
    ("ofapp_bridge_standby",
     "1 = another controller is master of the switch, and this one is on standby.",
     "standby"),
    ("ofapp_channel_echo_round_trip_seconds",
     "How long the switch took to answer the last echo request.",
     "round_trip"),
    ("ofapp_packet_ins_total{kind}", "Frames that the switch sent to the controller, by purpose.",
     "packet_ins"),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families; those of channels only for switches that are connected."""
    yield from families(_METRICS, OF_BRIDGE, _rows(source.network))


def _rows(network: Network) -> Iterator[Labelled[_Known]]:
    for datapath_id, bridge in network.bridges.items():
        known = _Known(bridge, fdb_counts(bridge))
        datapath = network.datapaths.get(datapath_id)
        if datapath is not None:
            status = datapath.status()
            known = known._replace(
                connected=True,
                in_line=status.in_line,
                standby=status.owner is not None,
                channel=datapath.channel.counters,
                drops=status.drops,
                answered=status.answered,
                round_trip=datapath.channel.round_trip,
                packet_ins=datapath.packet_ins,
            )
        yield of_bridge(bridge), known
