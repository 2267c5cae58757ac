"""The report of a paper: its exhibits with the figures found beside its own, and its claims."""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.bench.figures import summary
from ofapp.bench.model import Results
from ofapp.bench.names import LABELS, Duplex, Dut, device_of
from ofapp.bench.papers import Column, Exhibit, Paper, Row, paper
from ofapp.bench.papers.found import Claim, Found, Verdict
from ofapp.bench.report.plots import Line, figure
from ofapp.bench.report.tables import Table, cell, number, remarks


@dataclass(frozen=True, slots=True)
class Part:
    """An exhibit as it is shown: heading, tables, and the SVG of a figure with its file's name."""

    exhibit: Exhibit
    heading: str
    tables: list[Table]
    plot: str
    file: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the templates show.

    claims: those about exhibits that were measured, with verdict and the sentence with figures.
    """

    paper: Paper
    results: Results
    machine: str
    claims: list[tuple[Claim, Verdict, str]]
    parts: list[Part]
    remarks: list[str]


def context(results: Results) -> Report:
    """Make the report of a paper's run."""
    declared, found = paper(results.plan.paper), Found(results)
    names = {name for point in results.plan.points for name in point.exhibits}
    machine = results.machine
    half = results.plan.duplex is Duplex.HALF
    guests = ""
    if results.plan.guests:
        guests = " Pairs are in two virtual machines by QEMU"
        guests += ", without KVM: the emulation sets the speed." * results.plan.emulated or "."
    if results.plan.remote:
        guests = f" The far end is on {results.plan.remote.host}."
    one_way = " Half duplex: frames go one way here, and both ways in the paper." * half
    return Report(
        declared,
        results,
        f"{machine.processor} ({machine.virtual}), {machine.cores} cores, kernel"
        f" {machine.kernel}, {results.begun}, trials of {results.plan.seconds:g} s."
        f"{guests}{one_way}",
        [
            (claim, *claim.check(found))
            for claim in declared.claims
            if names.intersection(claim.exhibits.split(", "))
        ],
        [_part(one, found) for one in declared.exhibits if one.name in names],
        remarks(results),
    )


def verdicts(report: Report) -> list[str]:
    """What to know of the run, and one line for each claim that was looked at."""
    return report.remarks + [
        f"{verdict}: {claim.text} {said}"
        for claim, verdict, said in report.claims
        if verdict is not Verdict.UNMEASURED
    ]


def _part(exhibit: Exhibit, found: Found) -> Part:
    rows = exhibit.shown(found.results.plan.points)
    labels = found.labels(*exhibit.duts)
    heading = f"{exhibit.name.capitalize()}: {exhibit.title}"
    tables = [_table(exhibit, found, rows, labels)]
    if exhibit.marks is not None:
        header, *marks = exhibit.marks(found)
        tables.append(Table(header[0], header, marks))
    lacks = [[lack.name, lack.why] for lack in exhibit.lacks]
    missing = [dut for dut in exhibit.duts if not found.labels(dut)]
    lacks += [[LABELS[dut], f"not measured here: {_why(found, dut)}"] for dut in missing]
    if lacks:
        tables.append(Table("What the paper had and this machine lacks", ["", "Why"], lacks))
    plot = _plot(exhibit, found, rows, labels) if exhibit.axis else ""
    return Part(exhibit, heading, tables, plot, f"{exhibit.name.replace(' ', '-')}.svg")


def _why(found: Found, dut: Dut) -> str:
    """Why there is no figure of a device at all."""
    said = [one for one in found.results.problems if one.startswith((LABELS[dut], f"{dut} "))]
    return said[0] if said else "it was not asked for"


def _table(exhibit: Exhibit, found: Found, rows: list[Row], labels: list[str]) -> Table:
    header = [head.title for head in exhibit.heads]
    for column in exhibit.columns:
        header += [f"{column.title}: paper", *(labels if column.key else [])]
    body = []
    for row in rows:
        cells = [head.text(row.at) if head.text else row.name for head in exhibit.heads]
        for column, said in zip(exhibit.columns, row.paper, strict=True):
            cells.append(said if isinstance(said, str) else number(said))
            if column.key:
                cells += [_cell(exhibit, found, row, column, label) for label in labels]
        body.append(cells)
    return Table(f"{exhibit.name.capitalize()}, with the paper's figures", header, body)


def _cell(exhibit: Exhibit, found: Found, row: Row, column: Column, label: str) -> str:
    """The figure, or why there is none."""
    if row.only and device_of(label) not in row.only:
        return row.otherwise
    at, key = {**row.at, **column.at}, row.key + column.key
    samples = found.samples(exhibit.test, label, at)
    if not samples:
        load = {name: value for name, value in at.items() if name != exhibit.part}
        return found.problem(exhibit.test, label, load) or "not measured"
    if column.net:
        value = found.net(exhibit.test, label, key, at)
        return column.lost if value is None else number(value * column.factor)
    values = [one.values[key] for one in samples if key in one.values]
    return cell(summary([one * column.factor for one in values])) if values else column.lost


def _plot(exhibit: Exhibit, found: Found, rows: list[Row], labels: list[str]) -> str:
    """The first column's figures against the axis, a curve a device and value of `split`."""
    column = next(one for one in exhibit.columns if one.key)
    curves: dict[tuple[str, float], dict[float, float]] = {}
    for row in rows:
        split, at = row.at.get(exhibit.split, 0.0), row.at[exhibit.axis]
        if not isinstance(row.paper[0], str):
            curves.setdefault(("paper", split), {})[at] = row.paper[0]
        for label in labels:
            value = found.value(exhibit.test, label, column.key, row.at)
            if value is not None:
                curves.setdefault((label, split), {})[at] = value * column.factor
    lines = [
        Line(f"{device}, {exhibit.split} {split:g}" if split else device, device, values)
        for (device, split), values in curves.items()
    ]
    return figure(exhibit.title, lines, (exhibit.axis, column.title))
