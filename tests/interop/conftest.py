"""Fixtures: a controller with the peers' timers, an empty network, and the matrix at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.network import Network
from tests.support.stp_peers import TIMERS

Controller.preloaded = True

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


@pytest.fixture
def controller() -> Iterator[Controller]:
    """One for each test, with the peers' timers."""
    with closing(Controller(yaml.safe_dump(CONFIG))) as controller:
        controller.start()
        yield controller


@pytest.fixture
def network() -> Iterator[Network]:
    """An empty network."""
    with closing(Network("si")) as network:
        yield network


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The measured combinations: the port that blocks, and the seconds until all hosts hear all."""
    if not matrix:
        return
    terminalreporter.section("interoperability of spanning tree")
    for (peer, role), events in matrix.items():
        said = "; ".join(f"{event}: {result}" for event, result in events.items())
        terminalreporter.line(f"{peer:10} {role:28} {said}")
