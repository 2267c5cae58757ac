"""Every view in Firefox, and a prediction: what differs between browsers is seen there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.page.browser import Browser, firefox, until
from tests.page.site import Site
from tests.page.test_pictures import DRAWN
from tests.page.test_reader import VIEWS


@pytest.fixture(scope="module")
def other(site: Site) -> Iterator[Browser]:
    """A Firefox, where it and its driver are installed."""
    with firefox(site.url) as other:
        yield other


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_in_firefox(other: Browser, view: str) -> None:
    fragment, says = VIEWS[view]
    other.open(fragment)
    other.reads(says)
    until(lambda: other.js(DRAWN), f"{view} to be drawn")
    assert other.js("return document.scrollingElement.scrollWidth <= innerWidth")


def test_a_prediction_in_firefox(other: Browser) -> None:
    other.open("#/map?ask=" + "%7B%22fail%22%3A%5B%22br2%22%5D%7D")
    other.find(".time-line [role=status]", "the switch is off")
    other.click(".time-line button", "Now")
    other.reads("3 links, 1 blocked")
