"""Fixtures: a controller for each module, a network for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.mininet.lab import Lab
from tests.vswitchd.controller import Controller

_running: list[Controller] = []


@pytest.fixture(scope="module")
def controller() -> Iterator[Controller]:
    """`ofapp-manager` on free ports, with the default configuration."""
    controller = Controller()
    _running.append(controller)
    try:
        controller.start()
        yield controller
    finally:
        _running.remove(controller)
        controller.close()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An empty network: the test makes what it needs."""
    lab = Lab()
    try:
        yield lab
    finally:
        lab.close()


@pytest.fixture
def network(lab: Lab, controller: Controller) -> Callable[..., Lab]:
    """Builds a topology whose switches are set up and forward: `network(Lab.linear, 3)`."""

    def build(topology: Callable[..., None], *sizes: int) -> Lab:
        topology(lab, *sizes)
        for switch in lab.switches:
            controller.connect(switch)
        lab.settle()
        return lab

    return build


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report = yield
    if report.failed:
        for controller in _running:
            report.sections.append(("the controller's log", controller.log_tail()))
    return report
