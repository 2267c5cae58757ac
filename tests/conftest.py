"""What holds for every tier: some variants take long and run only when they are asked for.

`@pytest.mark.thorough` (or as a mark of one parameter) is for a variant of a test whose kind runs
always; `OFAPP_THOROUGH=1 tests/run` runs them too.

Tiers run side by side.  `@pytest.mark.alone` is for a test that keeps the machine, or its Open
vSwitch, so busy that others would lose frames: no other test of the same machine runs meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TURN, RUNNING = (
    Path(tempfile.gettempdir()) / f"ofapp-tests.{name}" for name in ("turn", "running")
)
REAL_TIME = {"mininet", "interop"}
"""Lock files, and the tiers that heed them.  Who waits for everybody to end holds the turn, so that
nobody begins meanwhile."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: a long variant, run with OFAPP_THOROUGH=1")
    config.addinivalue_line("markers", "alone: no other test of this machine runs meanwhile")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("OFAPP_THOROUGH"):
        return
    long = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(autouse=True)
def turn(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test marked `alone` be alone."""
    if request.path.parent.name not in REAL_TIME:
        yield
        return
    how = fcntl.LOCK_EX if request.node.get_closest_marker("alone") else fcntl.LOCK_SH
    with RUNNING.open("a") as running:
        with TURN.open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(running, how)
        yield
