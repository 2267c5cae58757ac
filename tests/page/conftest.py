"""One network and one browser for all that leaves them as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.page.browser import Browser, browser
from tests.page.site import Site
from tests.support.controller import Controller
from tests.support.ovs import missing

Controller.preloaded = True


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A ring of three bridges and one with a hostile name."""
    if reason := missing():
        pytest.skip(reason)
    with closing(Site()) as site:
        site.settle()
        yield site


@pytest.fixture(scope="session")
def window(site: Site) -> Iterator[Browser]:
    """The window, with the page open: it takes a second to begin."""
    with browser(site.url) as window:
        window.open()
        window.reads("br1")
        yield window


@pytest.fixture
def page(window: Browser) -> Iterator[Browser]:
    """The same, from which nothing of the test before is left; it may not have complained."""
    window.forget()
    yield window
    assert window.complaints() == []
