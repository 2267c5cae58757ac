"""The plots, by matplotlib, as SVG files of a few ten kilobytes with their text as text."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ofapp.bench.figures import summary
from ofapp.bench.model import Results
from ofapp.bench.profile.parts import DEVICE
from ofapp.bench.report.metrics import ADDRESSES, CORES, P50, P99, THROUGHPUT, Metric
from ofapp.bench.report.occupancy import loads
from ofapp.bench.report.profile import cost, host_counts
from ofapp.bench.report.tables import by_point, devices

_COLOURS = {"paper": "k", "wire": "0.6", "Linux bridge": "tab:green", "Linux router": "tab:olive"}
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


def _against(
    metric: Metric, dotted: Metric | None = None, **settings: object
) -> Callable[[Results, Axes], bool]:
    """What draws a figure against the parameter of its columns; settings: those of the axes."""

    def draw(results: Results, axes: Axes) -> bool:
        curves = lines(results, metric)
        for line in curves:
            _draw(axes, line)
        for line in lines(results, dotted) if dotted else []:
            _draw(axes, Line("_", line.device, line.values), ":", alpha=0.6)
        axes.set(**settings)
        _ticks(axes, curves)
        return bool(curves)

    return draw


def _occupancy(results: Results, axes: Axes) -> bool:
    measured = loads(results)
    for device, each in measured.items():
        _draw(axes, Line(device, device, {one.cores: one.p50 for one in each}))
        tail = {one.cores: one.p99 for one in each}
        _draw(axes, Line("_", device, tail), ":", alpha=0.6)
    axes.set(yscale="log", xlabel="cores of the device, a wire's subtracted", ylabel=_TAIL)
    return bool(measured)


def _profile(results: Results, axes: Axes) -> bool:
    """A bar a device and number of hosts, of its parts on each other."""
    bars = {
        f"{device}, {hosts:,}": costs
        for device in devices(results)
        for hosts in host_counts(results)
        if (costs := cost(results, device, "ns", hosts))[-1]
    }
    left = [0.0] * len(bars)
    for number, (part, colour) in enumerate(zip(DEVICE, _PART_COLOURS, strict=True)):
        each = [summary(list(costs[number].values())).middle for costs in bars.values()]
        axes.barh(range(len(bars)), each, left=left, color=colour, label=part)
        left = [before + more for before, more in zip(left, each, strict=True)]
    axes.set_yticks(range(len(bars)), list(bars))
    axes.invert_yaxis()
    axes.set(xlabel="ns a frame, ends left out")
    return bool(bars)


_TAIL = "µs: median, and dotted the 99th percentile"
_LOAD = "load, frames/s"
_PLOTS: dict[str, tuple[str, Callable[[Results, Axes], bool]]] = {
    "throughput": (
        "Throughput against frame size",
        _against(THROUGHPUT, yscale="log", xlabel="frame size, octets", ylabel=THROUGHPUT.unit),
    ),
    "profile": ("Time of a frame by part, by device and number of hosts", _profile),
    "latency": (
        "Latency against load",
        _against(P50, P99, yscale="log", xlabel=_LOAD, ylabel=_TAIL),
    ),
    "cpu": (
        "CPU occupancy against load",
        _against(CORES, xlabel=_LOAD, ylabel="cores, without the generator's user time"),
    ),
    "occupancy": ("Latency against CPU occupancy", _occupancy),
    "addresses": (
        "Forwarding against the number of hosts",
        _against(ADDRESSES, xlabel="hosts in turn", ylabel=ADDRESSES.unit, ylim=(0, None)),
    ),
}


def plots(results: Results) -> dict[str, str]:
    """The SVG documents by name; only those that there is something to draw in."""
    made = {}
    for name, (title, draw) in _PLOTS.items():
        if svg := _svg(title, partial(draw, results), named=draw is _profile):
            made[name] = svg
    return made


def figure(title: str, curves: list[Line], names: tuple[str, str]) -> str:
    """The SVG of a paper's figure; `names`: of its axes.  Empty without curves."""

    def draw(axes: Axes) -> bool:
        for line in curves:
            _draw(axes, line, "--" if line.device == "paper" else "")
        axes.set(xlabel=names[0], ylabel=names[1], yscale="log")
        axes.set_xticks(sorted({value for line in curves for value in line.values}))
        return bool(curves)

    return _svg(title, draw)


def _svg(title: str, draw: Callable[[Axes], bool], *, named: bool = False) -> str:
    """Draw one plot, empty if there is nothing to draw; named: its vertical axis has names."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ofapp", "font.size": 9}):
        drawing = Figure(figsize=(8, 4), layout="constrained")
        axes = drawing.add_subplot(title=title)
        if not draw(axes):
            return ""
        _plain(axes.xaxis.set_major_formatter)
        if not named:
            _plain(axes.yaxis.set_major_formatter)
        axes.grid(alpha=0.3)
        drawing.legend(loc="outside right upper", frameon=False)
        buffer = io.StringIO()
        drawing.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
