"""Figures that tests measure are shown at the end of the run, and kept in its report."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_figures: list[str] = []


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Call it with a line that says what was measured."""

    def say(line: str) -> None:
        _figures.append(line)
        record_property("figure", line)

    return say


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("the cluster under faults")
        for line in _figures:
            terminalreporter.line(line)
