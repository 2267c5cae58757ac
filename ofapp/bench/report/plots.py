"""The plots, by matplotlib, as SVG files of a few ten kilobytes with their text as text."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ofapp.bench.figures import summary
from ofapp.bench.model import Results
from ofapp.bench.profile.parts import DEVICE
from ofapp.bench.report.metrics import ADDRESSES, CORES, P50, P99, THROUGHPUT, Metric
from ofapp.bench.report.occupancy import loads
from ofapp.bench.report.profile import metric, total
from ofapp.bench.report.tables import by_point, devices

_COLOURS = {"wire": "0.6", "Linux bridge": "tab:green", "Linux router": "tab:olive"}
_OVS_COLOURS = {"OVS NORMAL": "tab:blue", "ofapp": "tab:red"}
_PART_COLOURS = ("tab:blue", "tab:cyan", "tab:red", "tab:green", "tab:orange", "0.7")
_DASHES = {"system": "-", "netdev": "-", "afxdp": "--", "dpdk": "-."}


@dataclass(frozen=True, slots=True)
class Line:
    """A figure against a parameter, for one device."""

    label: str
    device: str
    values: dict[float, float]


def lines(results: Results, metric: Metric) -> list[Line]:
    """Medians of every device; of several sizes the first (smallest) where size is not the axis."""
    curves = []
    for device in devices(results):
        values: dict[float, float] = {}
        for at, runs in sorted(by_point(results, metric, device).items()):
            parameters = dict(at)
            values.setdefault(parameters[metric.column], summary(list(runs.values())).middle)
        if len(values) > 1:
            curves.append(Line(device, device, dict(sorted(values.items()))))
    return curves


def _draw(axes: Axes, line: Line, dashes: str = "", *, alpha: float = 1.0) -> None:
    kind, _, datapath = line.device.rpartition(" ")
    colour = _COLOURS.get(line.device) or _OVS_COLOURS.get(kind, "tab:purple")
    style = dashes or _DASHES.get(datapath, "-")
    axes.plot(
        list(line.values),
        list(line.values.values()),
        style,
        label=line.label,
        color=colour,
        alpha=alpha,
        marker="o",
        markersize=3,
    )


def _plain(axis: Callable[[FuncFormatter], None]) -> None:
    axis(FuncFormatter(lambda value, _: f"{value:,g}"))


def _ticks(axes: Axes, curves: list[Line]) -> None:
    """A logarithmic scale whose ticks are the parameters that were measured at."""
    axes.set_xscale("log")
    axes.set_xticks(sorted({value for line in curves for value in line.values}))
    axes.xaxis.set_minor_locator(NullLocator())


def _throughput(results: Results, axes: Axes) -> bool:
    curves = lines(results, THROUGHPUT)
    for line in curves:
        _draw(axes, line)
    axes.set(yscale="log", xlabel="frame size, octets", ylabel=THROUGHPUT.unit)
    _ticks(axes, curves)
    return bool(curves)


def _latency(results: Results, axes: Axes) -> bool:
    curves = lines(results, P50)
    for line in curves:
        _draw(axes, line)
    for line in lines(results, P99):
        _draw(axes, Line("_", line.device, line.values), ":", alpha=0.6)
    axes.set(
        yscale="log", xlabel="load, frames/s", ylabel="µs: median, and dotted the 99th percentile"
    )
    _ticks(axes, curves)
    return bool(curves)


def _cpu(results: Results, axes: Axes) -> bool:
    curves = lines(results, CORES)
    for line in curves:
        _draw(axes, line)
    axes.set(xlabel="load, frames/s", ylabel="cores, without the generator's user time")
    _ticks(axes, curves)
    return bool(curves)


def _addresses(results: Results, axes: Axes) -> bool:
    curves = lines(results, ADDRESSES)
    for line in curves:
        _draw(axes, line)
    axes.set(xlabel="hosts in turn", ylabel=ADDRESSES.unit, ylim=(0, None))
    _ticks(axes, curves)
    return bool(curves)


def _occupancy(results: Results, axes: Axes) -> bool:
    measured = loads(results)
    for device, each in measured.items():
        _draw(axes, Line(device, device, {one.cores: one.p50 for one in each}))
        tail = {one.cores: one.p99 for one in each}
        _draw(axes, Line("_", device, tail), ":", alpha=0.6)
    axes.set(
        yscale="log",
        xlabel="cores of the device, a wire's subtracted",
        ylabel="µs: median, and dotted the 99th percentile",
    )
    return bool(measured)


def _profile(results: Results, axes: Axes) -> bool:
    """A bar a device and number of hosts, of its parts on each other."""
    bars = [
        (f"{device}, {hosts:,}", device, hosts)
        for device in devices(results)
        for hosts in sorted(total(results, device, "ns"))
    ]
    left = [0.0] * len(bars)
    for part, colour in zip(DEVICE, _PART_COLOURS, strict=True):
        each = [
            summary(list(points[(("addresses", float(hosts)),)].values())).middle
            for _, device, hosts in bars
            if (points := by_point(results, metric(part, "ns"), device))
        ]
        axes.barh(range(len(bars)), each, left=left, color=colour, label=part)
        left = [before + more for before, more in zip(left, each, strict=True)]
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.invert_yaxis()
    axes.set(xlabel="ns a frame, ends left out")
    return bool(bars)


_PLOTS: dict[str, tuple[str, Callable[[Results, Axes], bool]]] = {
    "throughput": ("Throughput against frame size", _throughput),
    "profile": ("Time of a frame by part, by device and number of hosts", _profile),
    "latency": ("Latency against load", _latency),
    "cpu": ("CPU occupancy against load", _cpu),
    "occupancy": ("Latency against CPU occupancy", _occupancy),
    "addresses": ("Forwarding against the number of hosts", _addresses),
}


def plots(results: Results) -> dict[str, str]:
    """The SVG documents by name; only those that there is something to draw in."""
    made = {}
    for name, (title, draw) in _PLOTS.items():
        with matplotlib.rc_context(
            {"svg.fonttype": "none", "svg.hashsalt": "ofapp", "font.size": 9}
        ):
            figure = Figure(figsize=(8, 4), layout="constrained")
            axes = figure.add_subplot(title=title)
            if not draw(results, axes):
                continue
            _plain(axes.xaxis.set_major_formatter)
            if draw is not _profile:
                _plain(axes.yaxis.set_major_formatter)
            axes.grid(alpha=0.3)
            figure.legend(loc="outside right upper", frameon=False)
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None})
        text = buffer.getvalue()
        made[name] = text[text.index("<svg") :]
    return made
