"""One host for a module's tests; each finds it, and has to leave it, without a bridge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deploy.killer import Killer
from tests.deploy.site import Site

_sites: list[Site] = []


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def killer(house: Site) -> Iterator[Killer]:
    """Deployments of `house` that are killed."""
    with Killer(house) as killer:
        yield killer


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
