"""Tables for terminals that stay readable in a pipe: plain columns, a bold header on a terminal.

Not rich's tables: those take ten seconds for a hundred thousand rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence

import click
import typer

from ofapp.common.printable import printable

WIDTH = 80


def say(text: str = "", *, bold: bool = False, err: bool = False) -> None:
    """One line, whatever is in it."""
    typer.secho(printable(text), bold=bold or None, err=err)


def print_json(value: object) -> None:
    """One line of JSON, as `bridge -j` prints it."""
    typer.echo(json.dumps(value, separators=(",", ":")))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Left-aligned columns, two spaces apart where that fits a terminal of 80 columns."""
    rows = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    wide = sum(widths) + 2 * (len(widths) - 1) <= WIDTH
    gap = "  " if wide else " "
    typer.secho(_line(header, widths, gap), bold=True)
    if rows:
        typer.echo("\n".join(_line(row, widths, gap) for row in rows))


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
