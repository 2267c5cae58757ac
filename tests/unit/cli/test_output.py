"""How tables and spans look."""

from __future__ import annotations

import pytest

from ofapp.cli.output import age, print_table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.9, "0s"),
        (99, "99s"),
        (100, "1m40s"),
        (3599, "59m59s"),
        (3600, "1h00m"),
        (359_999, "99h59m"),
        (360_000, "4d"),
        (10**8, "1157d"),
    ],
)
def test_ages_take_six_characters(seconds: float | None, text: str) -> None:
    assert age(seconds) == text
    assert len(text) <= 6


def test_the_widest_table_of_addresses_fits(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x" * 15  # as long as Linux lets an interface's name be
    row = ["52:54:00:12:34:56", "4094", name, "learned", "59m59s", "99h59m", "0" * 16]
    print_table(["MAC", "VLAN", "PORT", "TYPE", "UPDATED", "USED", "BRIDGE"], [row])
    lines = capsys.readouterr().out.splitlines()
    assert all(cell in lines[1] for cell in row)
    assert max(map(len, lines)) <= 80
