"""One host for all tests; each finds it, and has to leave it, without a bridge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deploy.runner import Runner
from tests.deploy.site import Site, running


@pytest.fixture(scope="session")
def house() -> Iterator[Site]:
    """The host, running."""
    with running(Site()) as site:
        yield site


@pytest.fixture
def site(house: Site) -> Iterator[Site]:
    """The host; what a test leaves behind fails it, and is cleaned up for the next one."""
    before = house.layout()
    assert house.bridges() == []
    yield house
    left = house.bridges()
    if left:
        house.deploy("recover")
        house.deploy("revert")
    assert house.layout() == before
    assert left == []


@pytest.fixture(scope="session")
def runner(house: Site) -> Runner:
    """Runs deployments of the host, and kills them if told to."""
    assert house.runner is not None
    return house.runner
