"""Fixtures of all guest tests.

Figures that tests measure are shown at the end of the run, and kept in its report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.guest.image import Image, build
from tests.guest.site import MACHINE, Pair, Site, local_address
from tests.support.controller import Controller
from tests.support.lab import Lab

_figures: list[str] = []


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Call it with a line that says what was measured."""

    def say(line: str) -> None:
        _figures.append(line)
        record_property("figure", line)

    return say


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What guests boot."""
    return build(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="session")
def pair(image: Image) -> Iterator[Pair]:
    """Two guests on one bridge, which has no controller: a module gives it one of its own."""
    site = Site(Lab(), image)
    try:
        switch = site.lab.switch()
        guests = (site.guest(switch), site.guest(switch))
        uplink = site.lab.host(switch)
        local_address(switch, MACHINE)
        for guest in guests:
            guest.ready()
        yield Pair(switch, guests, uplink)
    finally:
        site.close()


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[..., Controller]) -> Controller:
    """With spanning tree as everyone has it."""
    return controller_factory("defaults: {stp: {enabled: true}}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("figures")
    for line in _figures:
        terminalreporter.write_line(line)
