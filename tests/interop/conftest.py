"""Fixtures: a controller with the peers' timers, an empty network, and the matrix at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import yaml

from tests.interop.network import Network
from tests.interop.peers import TIMERS
from tests.mininet.lab import Lab
from tests.vswitchd.controller import Controller

A, B = 0x51A1, 0x51B2
"""Datapath ids of the two bridges of `ofapp`; A is the better root."""

CONFIG = {
    "defaults": {"stp": {"enabled": True, **TIMERS}},
    "bridges": {
        f"{A:016x}": {"stp": {"priority": 16384}},
        f"{B:016x}": {"stp": {"priority": 32768}},
    },
}

matrix: dict[tuple[str, str], dict[str, str]] = {}
"""(peer, its role) -> event -> what came of it."""

_running: list[Controller] = []


@pytest.fixture
def controller() -> Iterator[Controller]:
    """`ofapp-manager` on free ports."""
    controller = Controller(yaml.safe_dump(CONFIG))
    _running.append(controller)
    try:
        controller.start()
        yield controller
    finally:
        _running.remove(controller)
        controller.close()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An empty network without loops."""
    with closing(Lab()) as lab:
        yield lab


@pytest.fixture
def network() -> Iterator[Network]:
    """An empty network."""
    network = Network("si")
    try:
        yield network
    finally:
        network.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report = yield
    if report.failed:
        for controller in _running:
            report.sections.append(("the controller's log", controller.log_tail(80)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was tried with whom: the port that blocks, and the seconds until all hosts hear all."""
    if not matrix:
        return
    terminalreporter.section("interoperability of spanning tree")
    for (peer, role), events in matrix.items():
        said = "; ".join(f"{event}: {result}" for event, result in events.items())
        terminalreporter.line(f"{peer:10} {role:28} {said}")
