"""Fixtures of all guest tests.

Figures that tests measure are shown at the end of the run, and kept in its report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.guest.image import Image, build
from tests.guest.site import MACHINE, Pair, Site, local_address
from tests.mininet.lab import Lab
from tests.vswitchd.controller import Controller

_figures: list[str] = []
_running: list[Controller] = []


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
def controller() -> Iterator[Controller]:
    """`ofapp-manager` on free ports, with spanning tree as everyone has it."""
    controller = Controller("defaults: {stp: {enabled: true}}")
    _running.append(controller)
    try:
        controller.start()
        yield controller
    finally:
        _running.remove(controller)
        controller.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report = yield
    if report.failed:
        for controller in _running:
            report.sections.append(("the controller's log", controller.log_tail()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("figures")
    for line in _figures:
        terminalreporter.write_line(line)
