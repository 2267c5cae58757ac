"""The report: one of any number of runs, as Markdown with plots beside it and as one HTML file.

Needs Jinja2 and matplotlib, which nothing else of ofapp needs: the extra `bench`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ofapp.bench import BenchError
from ofapp.bench.model import Results, read, writable
from ofapp.bench.report import occupancy, paper, profile
from ofapp.bench.report.plots import plots
from ofapp.bench.report.tables import PEERS, Filled, Table, chapters, comparison, devices, remarks


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report of one run; plots: file name and SVG by the plot's name."""

    results: Results
    devices: list[str]
    remarks: list[str]
    chapters: list[Filled]
    plots: dict[str, tuple[str, str]]


def _section(results: Results, prefix: str) -> RunReport:
    drawn = {name: (f"{prefix}{name}.svg", svg) for name, svg in plots(results).items()}
    filled = [*profile.chapter(results), *chapters(results), *occupancy.chapter(results)]
    return RunReport(results, devices(results), remarks(results), filled, drawn)


def _comparisons(runs: Sequence[Results]) -> list[Table]:
    return [table for peer in PEERS if (table := comparison(runs, peer)) is not None]


def write(folders: Sequence[Path], out: Path) -> list[str]:
    """Write report.md, report.html and the plots; lines to tell the person who asked.

    BenchError when a folder holds no results, or a paper's among others, or `out` is refused.
    """
    runs = [read(folder) for folder in folders]
    if any(run.plan.paper for run in runs):
        return _write_paper(runs, out)
    prefixes = [""] if len(runs) == 1 else [f"{number}-" for number in range(1, len(runs) + 1)]
    sections = [_section(run, prefix) for run, prefix in zip(runs, prefixes, strict=True)]
    title = runs[0].title if len(runs) == 1 else "Bridges measured"
    context = {"sections": sections, "comparisons": _comparisons(runs), "title": title}
    drawn = [plot for section in sections for plot in section.plots.values()]
    return _render("report", context, drawn, out)


def _write_paper(runs: Sequence[Results], out: Path) -> list[str]:
    if len(runs) > 1:
        raise BenchError("a run of `ofapp bench paper` has a separate report: give it alone")
    context = paper.context(runs[0])
    drawn = [(part.file, part.plot) for part in context.parts if part.plot]
    said = _render("paper", {"it": context}, drawn, out)
    return [*paper.verdicts(context), *said]


def _render(
    name: str, context: Mapping[str, object], drawn: Sequence[tuple[str, str]], out: Path
) -> list[str]:
    """Write report.md, report.html and these plots; the paths of the reports."""
    environment = Environment(
        loader=PackageLoader("ofapp.bench.report"),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    writable(out)
    for kind in ("md", "html"):
        text = environment.get_template(f"{name}.{kind}.j2").render(context)
        (out / f"report.{kind}").write_text(text)
    for file, svg in drawn:
        (out / file).write_text(svg)
    return [str(out / "report.md"), str(out / "report.html")]
