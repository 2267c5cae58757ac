"""Declarations of metrics: name, help text, labels, and a function that reads the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ofapp.api.http.streams import Streams
from ofapp.api.resources.twin.questions import Questions
from ofapp.bridge.bridge import Bridge
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface

T = TypeVar("T")
Values = float | None | Mapping[str, float] | Mapping[Any, float]
"""A value, values by the metric's label, or by the tuple of its labels; None exports nothing."""
Metrics = Sequence[tuple[str, str, str | Callable[[T], Values]]]
"""Declared metrics: name, sentence, and the attribute that is the value (`counts.held` in another
one), or a function that gives it.

A name that ends in `_total` is a counter, else it is a gauge.  Behind it, in braces, stand the
labels of this metric alone, after the ones that it has in common with others of its subject.
"""
Labelled = tuple[Sequence[str], T]
"""Subject of a row of samples: the values of its common labels, and its data source."""

OF_BRIDGE = "datapath_id", "bridge"
"""Labels of a bridge; `of_bridge` gives their values."""
OF_PORT = *OF_BRIDGE, "port"


@dataclass(frozen=True, slots=True)
class Source:
    """Data source of metrics.

    ended: connections that the API's server has closed, by reason.
    surface: interface to the cluster that this controller is a member of, if any.
    questions: the questions to the network's twin.
    """

    network: Network
    streams: Streams
    ended: Mapping[str, int]
    surface: Surface | None = None
    questions: Questions = field(default_factory=Questions)


def families(
    metrics: Metrics[T], labels: Sequence[str], rows: Iterable[Labelled[T]]
) -> Iterator[Metric]:
    """Fill declared metrics that have `labels` in common."""
    made = [
        (_family(name, sentence, labels), attrgetter(read) if isinstance(read, str) else read)
        for name, sentence, read in metrics
    ]
    for common, row in rows:
        for family, read in made:
            values = read(row)
            if isinstance(values, Mapping):
                for key, value in values.items():
                    more = (key,) if isinstance(key, str) else key
                    family.add_metric([*common, *more], value)
            elif values is not None:
                family.add_metric(common, values)
    for family, _ in made:
        yield family


def _family(
    name: str, sentence: str, labels: Sequence[str]
) -> CounterMetricFamily | GaugeMetricFamily:
    name, _, more = name.removesuffix("}").partition("{")
    type_ = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    return type_(name, sentence, labels=[*labels, *filter(None, more.split(","))])


def of_bridge(bridge: Bridge) -> list[str]:
    """Values of the labels `OF_BRIDGE`."""
    return [f"{bridge.datapath_id:016x}", bridge.name]
