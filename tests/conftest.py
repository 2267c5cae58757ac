"""What holds for every tier: some variants take long and run only when they are asked for.

`@pytest.mark.thorough` (or as a mark of one parameter) is for a variant of a test whose kind runs
always; `OFAPP_THOROUGH=1 tests/run` runs them too.
"""

from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: a long variant, run with OFAPP_THOROUGH=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("OFAPP_THOROUGH"):
        return
    long = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
