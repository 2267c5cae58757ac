"""Fixtures: an Open vSwitch and a controller for each module, a bridge for each test.

Whatever is started is ended by its own process id, and its directory removed, also when a test
fails; the failure report then carries the end of the logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.vswitchd.controller import Controller
from tests.vswitchd.ovs import Bridge, VSwitchd, missing

_running: list[VSwitchd | Controller] = []


@pytest.fixture(scope="module")
def vswitchd_factory() -> Iterator[Callable[[], VSwitchd]]:
    """Makes further switches: a datapath id can be had twice only in two of them."""
    if reason := missing():
        pytest.skip(reason)
    made: list[VSwitchd] = []

    def make() -> VSwitchd:
        switch = VSwitchd()
        made.append(switch)
        _running.append(switch)
        switch.start()
        return switch

    yield make
    for switch in made:
        _running.remove(switch)
        switch.close()


@pytest.fixture(scope="module")
def vswitchd(vswitchd_factory: Callable[[], VSwitchd]) -> VSwitchd:
    """The module's switch."""
    return vswitchd_factory()


@pytest.fixture(scope="module")
def controller_factory() -> Iterator[Callable[..., Controller]]:
    """Makes controllers with a configuration of their own."""
    made: list[Controller] = []

    def make(config: str = "", *, options: tuple[str, ...] = ()) -> Controller:
        controller = Controller(config, options=options)
        made.append(controller)
        _running.append(controller)
        controller.start()
        return controller

    yield make
    for controller in made:
        _running.remove(controller)
        controller.close()


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[..., Controller]) -> Controller:
    """The module's controller, with the default configuration."""
    return controller_factory()


@pytest.fixture
def bridge_factory(vswitchd: VSwitchd, controller: Controller) -> Iterator[Callable[..., Bridge]]:
    """Makes connected bridges."""
    made: list[Bridge] = []

    def make(*, ports: int = 3) -> Bridge:
        bridge = vswitchd.add_bridge(ports=ports)
        made.append(bridge)
        controller.connect(bridge)
        return bridge

    yield make
    for bridge in made:
        bridge.destroy()


@pytest.fixture
def bridge(bridge_factory: Callable[..., Bridge]) -> Bridge:
    """A connected bridge with ports 1, 2, 3 (and LOCAL)."""
    return bridge_factory()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report = yield
    if report.failed:
        for process in _running:
            title = f"{type(process).__name__} in {process.dir}"
            report.sections.append((title, process.log_tail()))
    return report
