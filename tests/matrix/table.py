"""The table of what was tested, in the page about supported versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

CLONE = Path(__file__).parents[2]
PAGES = [CLONE / "ofapp/docs/pages/support.md", CLONE / "README.md"]
BEGIN, END = "<!-- support table: begin -->", "<!-- support table: end -->"
HEAD = ("Part", "Version", "From", "Tests", "Result", "Date")


class Row(NamedTuple):
    """What a run with one version of one part has shown."""

    part: str
    version: str
    source: str
    tests: str
    result: str
    date: str

    @classmethod
    def of_today(cls, part: str, version: str, source: str, tests: str, result: str) -> Row:
        return cls(part, version, source, tests, result, f"{datetime.now(UTC):%Y-%m-%d}")

    @property
    def key(self) -> tuple[str, ...]:
        """A later run replaces the row of the same key."""
        return self.part, self.source, self.tests

    @property
    def place(self) -> tuple[object, ...]:
        """Rows are sorted by this: a part's versions in their order, so 3.9 before 3.14."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return self.part, numbers, self.source, self.tests


def write(rows: Iterable[Row]) -> None:
    """Merge the rows into the table of each page that has the markers."""
    new = list(rows)
    for page in PAGES:
        text = page.read_text() if page.exists() else ""
        if BEGIN in text:
            before, _, rest = text.partition(BEGIN)
            old, _, after = rest.partition(END)
            page.write_text(before + BEGIN + "\n\n" + _table([*_rows(old), *new]) + END + after)


def _rows(table: str) -> list[Row]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines[2:]]


def _table(rows: list[Row]) -> str:
    kept = {row.key: row for row in rows}
    lines = [HEAD, ["---"] * len(HEAD), *sorted(kept.values(), key=lambda row: row.place)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"
