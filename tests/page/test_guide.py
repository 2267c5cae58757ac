"""The documentation in a browser: its search, from the controller and from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.docs import site as guide
from tests.page.browser import PHONE, WIDE, Browser, Keys, until
from tests.page.site import Site
from tests.page.test_reader import findings


@pytest.fixture(params=["served", "files"])
def start(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> str:
    """The address of the site."""
    if request.param == "served":
        return f"{site.url}guide/"
    guide.build(tmp_path)
    return f"file://{tmp_path}/index.html"


def test_a_search_leads_to_the_section(page: Browser, start: str) -> None:
    page.driver.get(start)
    page.keys("/")
    page.type("#query", "flaps adress")  # one word is spelled wrong
    page.find("#found a", "An address flaps")
    page.keys(Keys.ARROW_DOWN)
    page.keys(Keys.ENTER)
    until(lambda: "#an-address-flaps" in page.driver.current_url, "the section to be shown")
    page.reads("An address flaps")


def test_nothing_serious_stands_in_a_readers_way(page: Browser, site: Site) -> None:
    try:
        for size in (WIDE, PHONE):
            page.size(*size)
            page.driver.get(f"{site.url}guide/first-bridge.html")
            page.reads("First bridge")
            assert page.js("return document.documentElement.scrollWidth - innerWidth") <= 0
        assert findings(page) == []
        page.dark(True)
        assert findings(page, "['color-contrast']") == []
    finally:
        page.dark(False)
        page.size(*WIDE)


def test_the_guide_and_the_api_lead_back_to_the_network(page: Browser, site: Site) -> None:
    for place in ("guide/vlans.html", "docs"):
        page.driver.get(f"{site.url}{place}")
        page.click("header a", "Problems")
        page.reads("Changes of the last hour", "4 switches")


def test_the_guide_from_a_disk_has_no_links_to_a_network(page: Browser, tmp_path: Path) -> None:
    guide.build(tmp_path)
    page.driver.get(f"file://{tmp_path}/index.html")
    assert not page.find("header").text.count("Problems")
