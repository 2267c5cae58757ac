"""Ports in Prometheus' format: their state, and counters of their switches."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from prometheus_client.core import Metric

from ofapp.api.metrics.declaration import OF_PORT, Labelled, Metrics, Source, families, of_bridge
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port, PortCount
from ofapp.bridge.queries import Limited, members, port_limit
from ofapp.common import hub
from ofapp.controller.bridges.datapath import ask_all
from ofapp.controller.network import Network

PATIENCE = 1.0
"""Seconds that switches may take to answer a port statistics request.  After that the last known
counters are used, and the next scrape gets the answer."""


class _Known(NamedTuple):
    bridge: Bridge
    port: Port
    limit: Limited


# fmt: off
_PORTS: Metrics[_Known] = (
    ("ofapp_port_up", "1 = the link is up.", "port.up"),
    ("ofapp_port_speed_bytes_per_second", "Link speed, if the switch reports it.",
     lambda item: item.port.speed_mbps * 125_000 or None),
    ("ofapp_port_link_changes_total", "Times that the link came up or went down.",
     lambda item: item.bridge.ports.link_changes[item.port.number]),
    ("ofapp_port_fdb_learned", "Learned entries.", "limit.learned"),
    ("ofapp_port_fdb_refused_total", "Sightings not learned: the port is full.", "limit.refused"),
    ("ofapp_port_fdb_over_share_total",
     "Sightings not learned: the bridge or the VLAN is full, and the port has its share.",
     "limit.over_share"),
    ("ofapp_port_fdb_displaced_total",
     "Learned entries that made room for those of ports with fewer entries.", "limit.displaced"),
    ("ofapp_port_packet_in_rate",
     "Frames from unknown sources a second that the port may send to the controller now.",
     lambda item: item.bridge.sighting_rate(item.port.number)),
)

_HELD_BACK: Metrics[dict[str, int]] = (
    ("ofapp_port_held_back_total{kind}",
     "Frames not sent to the controller because of rate limits.",
     lambda kinds: kinds),
)
# fmt: on

_COUNTED: Metrics[PortCount] = tuple(
    (f"ofapp_port_{name}_total", sentence, attrgetter(field))
    for field, name, sentence in (
        ("rx_frames", "receive_frames", "Frames received."),
        ("rx_bytes", "receive_bytes", "Bytes received."),
        ("rx_errors", "receive_errors", "Frames received with errors."),
        ("rx_dropped", "receive_dropped", "Frames received and dropped by the port."),
        ("tx_frames", "transmit_frames", "Frames sent."),
        ("tx_bytes", "transmit_bytes", "Bytes sent."),
        ("tx_errors", "transmit_errors", "Frames not sent for errors."),
        ("tx_dropped", "transmit_dropped", "Frames dropped instead of being sent."),
    )
)


def collect(source: Source) -> Iterator[Metric]:
    """All families; those with counters only for ports of connected switches."""
    network = source.network
    yield from families(_PORTS, OF_PORT, _known(network))
    yield from families(_HELD_BACK, OF_PORT, _held_back(network))
    ask_all([datapath.port_counters for datapath in network.datapaths.values()], PATIENCE)
    yield from families(_COUNTED, OF_PORT, _counted(network))


def _known(network: Network) -> Iterator[Labelled[_Known]]:
    portions = hub.portions()
    for bridge in [*network.bridges.values()]:
        for port in portions.of([*bridge.ports]):
            limit = port_limit(bridge, port.number)
            yield [*of_bridge(bridge), port.name], _Known(bridge, port, limit)


def _held_back(network: Network) -> Iterator[Labelled[dict[str, int]]]:
    portions = hub.portions()
    connected = [
        (network.bridges[known], datapath) for known, datapath in network.datapaths.items()
    ]
    for bridge, datapath in connected:
        kinds = datapath.status().held_back
        for port in portions.of(_with_members(bridge)):
            counts = {kind: ports.get(port.number, 0) for kind, ports in kinds.items()}
            yield [*of_bridge(bridge), port.name], counts


def _counted(network: Network) -> Iterator[Labelled[PortCount]]:
    portions = hub.portions()
    connected = [
        (network.bridges[known], datapath) for known, datapath in network.datapaths.items()
    ]
    for bridge, datapath in connected:
        for port in portions.of(_with_members(bridge)):
            count = datapath.port_counters.latest.get(port.number)
            if count is not None:
                yield [*of_bridge(bridge), port.name], count


def _with_members(bridge: Bridge) -> list[Port]:
    """The bridge's ports, and the members of those that are aggregations."""
    return [*bridge.ports, *(member for ports in members(bridge).values() for member in ports)]
