"""The table of supported versions keeps what earlier runs have shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix import table
from tests.matrix.table import Row

LINES = ("before", table.BEGIN, table.END, "after")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "page.md"
    path.write_text("\n".join(LINES))
    monkeypatch.setattr(table, "PAGES", [path])
    return path


def _row(version: str, source: str, result: str = "1 passed", part: str = "Python") -> Row:
    return Row(part, version, source, "unit", result, "2026-11-25")


def _versions(page: Path) -> list[str]:
    return [line.split(" | ")[1] for line in page.read_text().splitlines() if "passed" in line]


def test_runs_of_a_part_of_the_matrix_add_up(page: Path) -> None:
    table.write([_row("3.14.7", "Debian sid")])
    table.write([_row("3.9.2", "pyenv"), _row("3.6.1", "its source", part="etcd")])
    assert _versions(page) == ["3.9.2", "3.14.7", "3.6.1"]
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter")


def test_a_later_run_replaces_what_the_same_place_had_before(page: Path) -> None:
    table.write([_row("3.14.7", "Debian sid", "2 passed"), _row("3.13.5", "Debian trixie")])
    table.write([_row("3.15.0", "Debian sid", "3 passed")])
    assert _versions(page) == ["3.13.5", "3.15.0"]
    assert "3 passed" in page.read_text()


def test_a_page_without_the_markers_stays_as_it_is(page: Path) -> None:
    page.write_text("no table\n")
    table.write([_row("3.14.7", "Debian sid")])
    assert page.read_text() == "no table\n"


@pytest.mark.parametrize("path", table.PAGES, ids=lambda path: path.name)
def test_the_pages_have_the_markers(path: Path) -> None:
    text = path.read_text()
    assert text.index(table.BEGIN) < text.index(table.END)
