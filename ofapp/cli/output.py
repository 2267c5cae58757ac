"""Tables for terminals that stay readable in a pipe: plain columns, a bold header on a terminal.

Not rich's tables: those take ten seconds for a hundred thousand rows.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import itemgetter
from typing import Any

import typer

from ofapp.common.printable import printable

WIDTH = 80
CLEAR = "\033[2J\033[H"
"""Clears a terminal, and moves its cursor to the upper left corner (ECMA-48 ED and CUP)."""

BAD, ATTENTION = typer.colors.RED, typer.colors.YELLOW
_COLOURS = {
    **dict.fromkeys(("absent", "disconnected", "down", "refusing", "error"), BAD),
    **dict.fromkeys(("connected", "discarding", "learning", "standby", "warning"), ATTENTION),
}
"""Colours of states and severities, by their first word; what is as it should be has none."""
_STATE = "STATE"
"""Heading of the column whose words have colours."""

Field = str | Callable[[Any], object]
"""Name of a field (`fdb.learned` in another one), or a function that gives the value."""
Column = str | tuple[str, Field]
"""A column: its heading and its field, or a field alone, whose name is the heading."""


def say(
    text: str = "", *, bold: bool = False, err: bool = False, colour: str | None = None
) -> None:
    """Print one line; control characters are escaped.  colour: on a terminal."""
    typer.secho(printable(text), bold=bold or None, err=err, fg=colour, color=_styled())


def severity_colour(severity: str) -> str | None:
    """The colour of a severity of events and problems."""
    return _COLOURS.get(severity)


def _styled() -> bool | None:
    """Whether output is coloured: None is on a terminal alone (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def print_json(value: object) -> None:
    """Print one line of JSON, as `bridge -j` does."""
    typer.echo(json.dumps(value, separators=(",", ":")))


def show_table(columns: Iterable[Column], items: Iterable[Any], json: bool = False) -> None:
    """Print a table with a row for each item; with `json`, the items as JSON."""
    if json:
        print_json([*items])
        return
    pairs = [(_heading(one), one) if isinstance(one, str) else one for one in columns]
    fields = [_getter(field) if isinstance(field, str) else field for _, field in pairs]
    rows = [[_cell(field(item)) for field in fields] for item in items]
    print_table([heading for heading, _ in pairs], rows)


def _heading(field: str) -> str:
    return field.rpartition(".")[2].replace("_", " ").upper()


def _getter(field: str) -> Callable[[Any], object]:
    first, *below = map(itemgetter, field.split("."))
    if not below:
        return first
    return lambda item: reduce(lambda at, get: None if at is None else get(at), below, first(item))


def _cell(value: object) -> str:
    """The text of a value: a port's name, a list with commas, `-` for none."""
    if isinstance(value, dict):
        value = value["name"]
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    return "-" if value is None or value == "" else str(value)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print left-aligned columns.  On a narrow terminal, lists continue in the next line."""
    cells = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    columns = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= columns else " "
    excess = sum(widths) + len(gap) * (len(widths) - 1) - columns
    if excess > 0 and sys.stdout.isatty():
        cells, widths = _folded(header, cells, widths, excess)
    styled = _styled()
    typer.secho(_line(header, widths, gap), bold=True, color=styled)
    if not cells:
        return
    coloured = _STATE in header and sys.stdout.isatty() and styled is None
    at = [header.index(_STATE)] if coloured else []
    typer.echo("\n".join(_line(row, widths, gap, at) for row in cells))


def _folded(
    header: Sequence[str], rows: list[list[str]], widths: list[int], excess: int
) -> tuple[list[list[str]], list[int]]:
    """Wrap the cells of the widest column into further rows; gives rows and widths."""
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
    """Wrap a list: as many items on a line as fit; no item is cut."""
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
    """Show something once, or every `seconds`, on a terminal in the same place."""
    try:
        while True:
            if seconds is not None and not json:
                typer.echo(CLEAR, nl=False) if sys.stdout.isatty() else typer.echo()
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


def local_time(moment: str | None, form: str = "%Y-%m-%d %H:%M:%S") -> str | None:
    """A time of the API in the local time zone."""
    return None if moment is None else f"{datetime.fromisoformat(moment).astimezone():{form}}"


def tagged(entry: Any) -> int | None:
    """The VLAN of an entry; None for untagged frames, which the API has as 0."""
    return entry["vlan"] or None


def _line(
    cells: Sequence[str], widths: Sequence[int], gap: str, coloured: Sequence[int] = ()
) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    for at in coloured:
        if colour := _COLOURS.get(re.split("[ :]", cells[at], maxsplit=1)[0]):
            padded[at] = typer.style(padded[at], fg=colour)
    return gap.join(padded).rstrip()
