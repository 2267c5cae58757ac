"""Tables for terminals that stay readable in a pipe: plain columns, a bold header on a terminal.

Not rich's tables: those take ten seconds for a hundred thousand rows.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence

import click
import typer

from ofapp.common.printable import printable

WIDTH = 80


def say(text: str = "", *, bold: bool = False, err: bool = False) -> None:
    """Print one line; control characters are escaped."""
    typer.secho(printable(text), bold=bold or None, err=err)


def print_json(value: object) -> None:
    """One line of JSON, as `bridge -j` prints it."""
    typer.echo(json.dumps(value, separators=(",", ":")))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Left-aligned columns.  On a terminal that is too narrow, lists go on in the next line."""
    cells = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    columns = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= columns else " "
    excess = sum(widths) + len(gap) * (len(widths) - 1) - columns
    if excess > 0 and sys.stdout.isatty():
        cells, widths = _folded(header, cells, widths, excess)
    typer.secho(_line(header, widths, gap), bold=True)
    if cells:
        typer.echo("\n".join(_line(row, widths, gap) for row in cells))


def _folded(
    header: Sequence[str], rows: list[list[str]], widths: list[int], excess: int
) -> tuple[list[list[str]], list[int]]:
    """Rows of which the widest column's cells go on in further rows, and the widths then."""
    at = widths.index(max(widths))
    width = max(len(header[at]), widths[at] - excess)
    folded = []
    for row in rows:
        first, *more = _pieces(row[at], width)
        folded.append([*row[:at], first, *row[at + 1 :]])
        folded += [[*[""] * at, piece, *[""] * (len(row) - at - 1)] for piece in more]
    width = max(len(header[at]), *(len(row[at]) for row in folded))
    return folded, [*widths[:at], width, *widths[at + 1 :]]


def _pieces(cell: str, width: int) -> list[str]:
    """The parts of a list, as many on a line as fit; one part is never cut."""
    lines = [""]
    for part in re.split(r"(?<=[, ])", cell):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return lines


def short(number: int) -> str:
    """A count in at most six characters: exact below 100,000, then 123k, 4.56M, 7.89G."""
    if number < 100_000:
        return str(number)
    value, unit = float(number), ""
    for larger in "kMGTPE":
        value, unit = value / 1000, larger
        if value < 999.5:
            break
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f}{unit}"


def repeat(show: Callable[[], None], seconds: float | None, json: bool = False) -> None:
    """Show something: once, or (seconds) again and again, on a terminal in the same place."""
    try:
        while True:
            if seconds is not None and not json:
                click.clear() if sys.stdout.isatty() else typer.echo()
            show()
            if seconds is None:
                return
            time.sleep(seconds)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def age(seconds: float | None) -> str:
    """A time span in at most six characters."""
    if seconds is None:
        return "-"
    whole = int(seconds)
    if whole < 100:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 100 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d"


def _line(cells: Sequence[str], widths: Sequence[int], gap: str) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return gap.join(padded).rstrip()
