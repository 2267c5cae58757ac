"""The controller itself in Prometheus' format: version, loop lateness, configuration, channels."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

import ofapp
from ofapp.controller.network import Network


def families(network: Network) -> Iterator[Metric]:
    """All families."""
    yield _build_info()
    yield from _health(network)
    yield from _channels(network)


def _build_info() -> Metric:
    about = {
        "version": ofapp.__version__,
        "python": platform.python_version(),
        "os_ken": version("os-ken"),
        "eventlet": version("eventlet"),
    }
    info = GaugeMetricFamily(
        "ofapp_build_info", "1, with versions of this controller's software.", labels=list(about)
    )
    info.add_metric(list(about.values()), 1)
    return info


def _health(network: Network) -> Iterator[Metric]:
    lateness = HistogramMetricFamily(
        "ofapp_loop_lateness_seconds",
        "Lateness of a timer of 0.25 s: BPDUs may have waited as long.",
    )
    late = network.heartbeat.lateness
    lateness.add_metric([], [*late.cumulative()], late.total)
    yield lateness
    reloader = network.reloader
    yield GaugeMetricFamily(
        "ofapp_config_last_reload_successful",
        "0 = the configuration file was refused, and its former content applies.",
        float(reloader.valid),
    )
    yield GaugeMetricFamily(
        "ofapp_config_last_reload_success_timestamp_seconds",
        "When the configuration file was last applied.",
        reloader.loaded,
    )
    yield GaugeMetricFamily(
        "ofapp_state_saved",
        "0 = run-time settings cannot be saved now, and a restart would lose them.",
        float(network.unsaved is None),
    )


def _channels(network: Network) -> Iterator[Metric]:
    about = ["datapath_id", "bridge"]
    round_trip = GaugeMetricFamily(
        "ofapp_channel_echo_round_trip_seconds",
        "How long the switch took to answer the last echo request.",
        labels=about,
    )
    packet_ins = CounterMetricFamily(
        "ofapp_packet_ins",
        "Frames that the switch sent to the controller, by purpose.",
        labels=[*about, "kind"],
    )
    for datapath_id, session in network.sessions.items():
        labels = [f"{datapath_id:016x}", network.bridges[datapath_id].name]
        if session.channel.round_trip is not None:
            round_trip.add_metric(labels, session.channel.round_trip)
        for kind, count in session.packet_ins.items():
            packet_ins.add_metric([*labels, kind], count)
    yield from (round_trip, packet_ins)
