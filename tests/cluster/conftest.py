"""The site that most tests share, and the figures that they measure, which the report ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.cluster.site import Site, clustered
from tests.support.waiting import wait_for

_figures: list[str] = []


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Two switches and three members; each test leaves it whole."""
    with closing(clustered()) as site:
        for switch in site.switches:
            wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=60)
            wait_for(switch.forwards, "the hosts to meet", seconds=60)
        wait_for(site.whole, "all members to know all switches", seconds=60)
        yield site


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
