"""The report: one of any number of runs, as Markdown with plots beside it and as one HTML file.

Needs Jinja2 and matplotlib, which nothing else of ofapp needs: the extra `bench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ofapp.bench.model import Results, read
from ofapp.bench.report import occupancy, profile
from ofapp.bench.report.plots import plots
from ofapp.bench.report.tables import PEERS, Filled, Table, chapters, comparison, devices, remarks


@dataclass(frozen=True, slots=True)
class Section:
    """The report of one run; plots: file name and SVG by the plot's name."""

    results: Results
    devices: list[str]
    remarks: list[str]
    chapters: list[Filled]
    plots: dict[str, tuple[str, str]]


def _section(results: Results, prefix: str) -> Section:
    drawn = {name: (f"{prefix}{name}.svg", svg) for name, svg in plots(results).items()}
    filled = [*profile.chapter(results), *chapters(results), *occupancy.chapter(results)]
    return Section(results, devices(results), remarks(results), filled, drawn)


def _comparisons(runs: Sequence[Results]) -> list[Table]:
    return [table for peer in PEERS if (table := comparison(runs, peer)) is not None]


def write(folders: Sequence[Path], out: Path) -> str:
    """Write report.md, report.html and the plots; what to tell the person who asked.

    BenchError when a folder holds no results.
    """
    runs = [read(folder) for folder in folders]
    prefixes = [""] if len(runs) == 1 else [f"{number}-" for number in range(1, len(runs) + 1)]
    sections = [_section(run, prefix) for run, prefix in zip(runs, prefixes, strict=True)]
    environment = Environment(
        loader=PackageLoader("ofapp.bench.report"),
        autoescape=select_autoescape(("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    title = runs[0].title if len(runs) == 1 else "Bridges measured"
    context = {"sections": sections, "comparisons": _comparisons(runs), "title": title}
    out.mkdir(parents=True, exist_ok=True)
    for name in ("report.md", "report.html"):
        (out / name).write_text(environment.get_template(f"{name}.j2").render(context))
    for section in sections:
        for file, svg in section.plots.values():
            (out / file).write_text(svg)
    return f"{out / 'report.md'}\n{out / 'report.html'}"
