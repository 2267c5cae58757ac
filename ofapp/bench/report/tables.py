"""From samples to tables: pure, and the same for Markdown and HTML."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ofapp.bench.figures import Summary, ratios, summary
from ofapp.bench.model import Results, Sample
from ofapp.bench.report.metrics import CHAPTERS, COMPARED, THROUGHPUT, Chapter, Metric

Point = tuple[tuple[str, float], ...]
"""The parameters of a sample, sorted."""
Row = tuple[int, Point, str]
"""A line of a comparison: rank and parameters, which order them, and its name."""
OURS = "ofapp "
PEERS = ("OVS NORMAL", "Linux bridge")
DISTURBED = 0.1
"""Cores in use by others from which on a figure is not to be trusted alone."""
AT_THE_WIRE = 0.95


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text, the first column being names."""

    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True)
class _Column:
    """The column of a datapath in a comparison, by row."""

    datapath: str
    title: str
    cells: dict[Row, str]


@dataclass(frozen=True, slots=True)
class Filled:
    """A chapter that there is something to tell in."""

    chapter: Chapter
    tables: list[Table]
    advice: Sequence[str] = ()


def point(sample: Sample) -> Point:
    """Its parameters."""
    return tuple(sorted(sample.at.items()))


def by_point(results: Results, metric: Metric, device: str) -> dict[Point, dict[int, float]]:
    """The figures of a device by parameters, and by repetition."""
    values: dict[Point, dict[int, float]] = defaultdict(dict)
    for sample in results.samples:
        if sample.test is metric.test and sample.device == device and metric.key in sample.values:
            values[point(sample)][sample.repetition] = sample.values[metric.key] * metric.factor
    return values


def devices(results: Results) -> list[str]:
    """In the order in which they were measured first."""
    return list(dict.fromkeys(sample.device for sample in results.samples))


def number(value: float) -> str:
    """Three digits that count, or all before the point."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cell(result: Summary, capped: bool = False) -> str:
    """Median and spread; `≥` for what the generator and not the device limits."""
    spread = f" ±{result.spread:.0%}" if result.runs > 1 else ""
    return f"{'≥ ' if capped else ''}{number(result.middle)}{spread}"


def chapters(results: Results) -> list[Filled]:
    """Return the chapters that have at least one table."""
    made = [
        Filled(chapter, [table for metric in chapter.metrics for table in _tables(results, metric)])
        for chapter in CHAPTERS
    ]
    return [filled for filled in made if filled.tables]


def _tables(results: Results, metric: Metric) -> list[Table]:
    """One table a metric; with `size` beside another column, one a size."""
    kinds = sorted(
        {
            tuple(part for part in at if part[0] != metric.column)
            for device in devices(results)
            for at in by_point(results, metric, device)
        }
    )
    return [_table(results, metric, kind) for kind in kinds]


def _table(results: Results, metric: Metric, kind: Point) -> Table:
    rows: dict[str, dict[float, str]] = {}
    for device in devices(results):
        for at, runs in by_point(results, metric, device).items():
            rest = tuple(part for part in at if part[0] != metric.column)
            if rest == kind:
                column = dict(at).get(metric.column, 0.0)
                capped = _capped(results, metric, device, at)
                rows.setdefault(device, {})[column] = cell(summary(list(runs.values())), capped)
    columns = sorted({column for cells in rows.values() for column in cells})
    return Table(
        f"{metric.name}{_said(kind)}",
        ["", *(_column(metric, column) for column in columns)],
        [
            [device, *(cells.get(column, "") for column in columns)]
            for device, cells in rows.items()
        ],
    )


def _capped(results: Results, metric: Metric, device: str, at: Point) -> bool:
    """Whether most runs were limited by the generator."""
    if metric.key == "cpu_us":
        return False
    flags = [
        sample.values["limited"]
        for sample in results.samples
        if sample.test is metric.test
        and sample.device == device
        and point(sample) == at
        and "limited" in sample.values
    ]
    return bool(flags) and sum(flags) * 2 > len(flags)


def _column(metric: Metric, value: float) -> str:
    if not metric.column:
        return metric.unit
    if metric.column == "rate":
        return f"{value / 1000:g} k/s"
    if metric.column == "share":
        return f"{value:.0%}"
    return f"{value:,.0f}"


def _said(kind: Point) -> str:
    """The parameters that a whole table shares."""
    units = {"size": "octets", "addresses": "addresses", "offered": "offered"}
    return "".join(f", {value:,.0f} {units.get(name, name)}" for name, value in kind)


def comparison(runs: Sequence[Results], peer: str) -> Table | None:
    """ofapp beside a peer: a row a figure, a column a datapath; None without any.

    Runs that measured different things of a datapath share its column, others have one each.
    """
    columns: list[_Column] = []
    for results in runs:
        for ours in devices(results):
            datapath = ours.removeprefix(OURS)
            for theirs in (peer, f"{peer} {datapath}"):
                if ours.startswith(OURS) and theirs in devices(results):
                    cells = dict(_compare(results, ours, theirs))
                    _take_in(columns, _Column(datapath, results.title, cells))
    rows = sorted({row for column in columns for row in column.cells})
    if not rows:
        return None
    names = [column.datapath for column in columns]
    header = [
        one.datapath if names.count(one.datapath) == 1 else f"{one.datapath} ({one.title})"
        for one in columns
    ]
    body = [[row[2], *(column.cells.get(row, "") for column in columns)] for row in rows]
    return Table(f"ofapp beside {peer}", ["", *header], body)


def _take_in(columns: list[_Column], new: _Column) -> None:
    for column in columns:
        if column.datapath == new.datapath and not column.cells.keys() & new.cells.keys():
            column.cells.update(new.cells)
            return
    columns.append(new)


def _compare(results: Results, ours: str, theirs: str) -> list[tuple[Row, str]]:
    """The ratios of all figures that both have."""
    rows = []
    for rank, metric in enumerate(COMPARED):
        mine, other = (by_point(results, metric, device) for device in (ours, theirs))
        shared = [at for at in mine if at in other]
        for at in _representative(metric, shared):
            each = ratios(mine[at], other[at])
            if each:
                middle = summary(each)
                span = f" ({middle.low:.2f} to {middle.high:.2f})" if middle.runs > 1 else ""
                less = " (less is better)" if metric.less else ""
                name = f"{metric.title}{_where(at)}{less}"
                rows.append(((rank, at, name), f"{middle.middle:.3f}{span}"))
    return rows


def _representative(metric: Metric, points: list[Point]) -> list[Point]:
    """All sizes and addresses; of a series of loads, one in the middle."""
    if metric.column != "rate":
        return points
    return [at for at in points if dict(at)["rate"] == 10_000]


def _where(at: Point) -> str:
    texts = {"size": "{:,.0f} octets", "rate": "{:,.0f} frames/s", "addresses": "{:,.0f} hosts"}
    return "".join(f", {texts.get(name, name + ' {:g}').format(value)}" for name, value in at)


def remarks(results: Results) -> list[str]:
    """Remarks on a run: limits of the generator, disturbances, failures."""
    said = []
    if at_limit := _at_the_wire(results):
        said.append(
            "The generator was the limit, within 5 % of what it sends over a wire: "
            + "; ".join(at_limit)
        )
    noisy = [sample for sample in results.samples if sample.disturbed > DISTURBED]
    if noisy:
        worst = max(sample.disturbed for sample in noisy)
        said.append(
            f"Other programs used the processors during {len(noisy)} of {len(results.samples)}"
            f" measurements (up to {worst:.1f} cores): trust the ratios, which are of runs side by"
            " side, more than the figures."
        )
    said += results.notes
    said += [f"Not measured: {problem}" for problem in results.problems]
    return said


def _at_the_wire(results: Results) -> list[str]:
    wire = by_point(results, THROUGHPUT, "wire")
    rows = []
    for device in devices(results):
        mine = by_point(results, THROUGHPUT, device)
        shares = {at: ratios(mine[at], wire[at]) for at in mine if at in wire and device != "wire"}
        sizes = [at for at, each in shares.items() if each and summary(each).middle >= AT_THE_WIRE]
        if sizes:
            listed = ", ".join(f"{dict(at)['size']:,.0f}" for at in sorted(sizes))
            rows.append(f"{device} at {listed} octets")
    return rows
