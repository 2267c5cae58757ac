"""Ports in Prometheus' format: their state, and counters of their switches."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.bridge.answers import members, port_limit
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.common import hub
from ofapp.controller.network import Network
from ofapp.openflow.switch.counters.ports import ask_all

PATIENCE = 1.0
"""Seconds that switches may take to answer a port statistics request.  After that the last known
counters are used, and the next scrape gets the answer."""

_COUNTED = {
    "rx_frames": ("receive_frames", "Frames received."),
    "rx_bytes": ("receive_bytes", "Bytes received."),
    "rx_errors": ("receive_errors", "Frames received with errors."),
    "rx_dropped": ("receive_dropped", "Frames received and dropped by the port."),
    "tx_frames": ("transmit_frames", "Frames sent."),
    "tx_bytes": ("transmit_bytes", "Bytes sent."),
    "tx_errors": ("transmit_errors", "Frames not sent for errors."),
    "tx_dropped": ("transmit_dropped", "Frames dropped instead of being sent."),
}


def families(network: Network) -> Iterator[Metric]:
    """All families; those with counters only for ports of connected switches."""
    yield from _known(network)
    yield from _counted(network)


def _known(network: Network) -> Iterator[Metric]:
    about = ["datapath_id", "bridge", "port"]
    up = GaugeMetricFamily("ofapp_port_up", "1 = the link is up.", labels=about)
    speed = GaugeMetricFamily(
        "ofapp_port_speed_bytes_per_second", "Link speed, if the switch reports it.", labels=about
    )
    changes = CounterMetricFamily(
        "ofapp_port_link_changes", "Times that the link came up or went down.", labels=about
    )
    learned = GaugeMetricFamily("ofapp_port_fdb_learned", "Learned entries.", labels=about)
    refused = CounterMetricFamily(
        "ofapp_port_fdb_refused", "Sightings not learned: the port is full.", labels=about
    )
    rate = GaugeMetricFamily(
        "ofapp_port_packet_in_rate",
        "Frames from unknown sources a second that the port may send to the controller now.",
        labels=about,
    )
    held_back = CounterMetricFamily(
        "ofapp_port_held_back",
        "Frames not sent to the controller because of rate limits.",
        labels=[*about, "kind"],
    )
    portions = hub.portions()
    for datapath_id, bridge in [*network.bridges.items()]:
        session = network.sessions.get(datapath_id)
        kept_back = {} if session is None else session.status().held_back
        for port in portions.of([*bridge.ports]):
            labels = [f"{datapath_id:016x}", bridge.name, port.name]
            up.add_metric(labels, port.up)
            if port.speed_mbps:
                speed.add_metric(labels, port.speed_mbps * 125_000)
            changes.add_metric(labels, bridge.ports.link_changes[port.number])
            one = port_limit(bridge, port.number)
            learned.add_metric(labels, one.learned)
            refused.add_metric(labels, one.refused)
            rate.add_metric(labels, bridge.sighting_rate(port.number))
        for port in portions.of(_with_members(bridge)):
            labels = [f"{datapath_id:016x}", bridge.name, port.name]
            for kind, ports in kept_back.items():
                held_back.add_metric([*labels, kind], ports.get(port.number, 0))
    yield from (up, speed, changes, learned, refused, rate, held_back)


def _counted(network: Network) -> Iterator[Metric]:
    about = ["datapath_id", "bridge", "port"]
    found = {
        name: CounterMetricFamily(f"ofapp_port_{called}", what, labels=about)
        for name, (called, what) in _COUNTED.items()
    }
    ask_all([session.port_counters for session in network.sessions.values()], PATIENCE)
    portions = hub.portions()
    there = [(session, network.bridges[known]) for known, session in network.sessions.items()]
    for session, bridge in there:
        for port in portions.of(_with_members(bridge)):
            count = session.port_counters.latest.get(port.number)
            if count is None:
                continue
            labels = [f"{bridge.datapath_id:016x}", bridge.name, port.name]
            for name, value in count._asdict().items():
                if value is not None:
                    found[name].add_metric(labels, value)
    yield from found.values()


def _with_members(bridge: Bridge) -> list[Port]:
    """The bridge's ports, and the members of those that are aggregations."""
    return [*bridge.ports, *(member for own in members(bridge).values() for member in own)]
