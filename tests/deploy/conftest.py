"""One host for all tests; each finds it, and has to leave it, without a bridge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deploy.runner import Runner
from tests.deploy.site import Site

_sites: list[Site] = []


@pytest.fixture(scope="session")
def house() -> Iterator[Site]:
    """The host, running."""
    site = Site()
    _sites.append(site)
    try:
        site.start()
        yield site
    finally:
        _sites.remove(site)
        site.close()


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    report = yield
    if report.failed:
        for site in _sites:
            for name in ("controller", "ovs-vswitchd"):
                report.sections.append((name, site.log_tail(name)))
            for log in site.journal.glob("*.log"):
                report.sections.append(("the watcher", log.read_text()))
    return report
