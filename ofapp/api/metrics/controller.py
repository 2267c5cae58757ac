"""The controller in Prometheus' format: versions, lateness, configuration, events, clients."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from platform import python_version

from prometheus_client.core import HistogramMetricFamily, Metric

import ofapp
from ofapp.api.metrics.declaration import Metrics, Source, families

# fmt: off
_METRICS: Metrics[Source] = (
    ("ofapp_build_info{version,python,os_ken,eventlet}",
     "1, with versions of this controller's software.",
     lambda _: {(ofapp.__version__, python_version(), version("os-ken"), version("eventlet")): 1}),
    ("ofapp_config_last_reload_successful",
     "0 = the configuration file was refused, and its former content applies.",
     lambda source: source.network.reloader.mistake is None),
    ("ofapp_config_last_reload_success_timestamp_seconds",
     "When the configuration file was last applied.",
     "network.reloader.loaded"),
    ("ofapp_state_saved",
     "0 = run-time settings cannot be saved now, and a restart would lose them.",
     lambda source: source.network.unsaved is None),
    ("ofapp_problems{severity}", "Problems that stand and are not acknowledged.",
     lambda source: {
         each.value: count for each, count in source.network.problems.counts().items()
     }),
    ("ofapp_problem{kind,severity,bridge,port,id}", "1 for each problem that is not acknowledged.",
     lambda source: {
         (one.kind.name, one.kind.severity.value, one.name, one.port, one.id): 1
         for one in source.network.problems if one.acknowledged is None
     }),
    ("ofapp_notifications_total{result}",
     "Notifications of problems that were sent or dropped, and requests that failed.",
     "network.notifier.counts"),
    ("ofapp_hosts", "Hosts that are remembered, present or not.",
     lambda source: len(source.network.sightings.hosts)),
    ("ofapp_hosts_forgotten_total", "Hosts that made room for others.",
     "network.sightings.forgotten"),
    ("ofapp_events_total{kind}", "Events since the start, logged or not.", "network.events.counts"),
    ("ofapp_events_held_back_total{kind}", "Events counted but not logged: too many.",
     "network.events.held_back"),
    ("ofapp_api_connections_ended_total{why}", "Connections closed as late or too many.", "ended"),
    ("ofapp_api_streams", "Open streams of events.",
     lambda source: len(source.streams.bounds.open)),
    ("ofapp_api_streams_refused_total{bound}",
     "Event streams refused by the limits of one token, one address or all.",
     "streams.bounds.refused"),
    ("ofapp_api_questions", "What-if questions that are answered now or wait.",
     lambda source: len(source.questions.bounds.open)),
    ("ofapp_api_questions_refused_total{bound}",
     "What-if questions refused by the limits of one token, one address, all, or by `work`: the"
     " processor time of one token.",
     "questions.bounds.refused"),
    ("ofapp_api_rejected_logins_total{why}", "Requests with an invalid token.",
     "network.access.failures.counts"),
)
# fmt: on


def collect(source: Source) -> Iterator[Metric]:
    """All families."""
    lateness = HistogramMetricFamily(
        "ofapp_loop_lateness_seconds",
        "Lateness of a timer of 0.25 s: BPDUs may have waited as long.",
    )
    late = source.network.heartbeat.lateness
    lateness.add_metric([], [*late.cumulative()], late.total)
    yield lateness
    yield from families(_METRICS, (), [((), source)])
