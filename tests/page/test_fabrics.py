"""The view of fabrics: members, links with their state and load, and a drawing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.page.browser import PHONE, WIDE, Browser, browser, until
from tests.page.test_reader import findings
from tests.unit.api import live


@pytest.fixture(scope="module")
def fabric_page() -> Iterator[Browser]:
    """The page of a network without switches; see `fabric_network`."""
    with live.served("fabric") as url, browser(f"{url}/") as window:
        yield window


def test_members_and_links_are_listed_and_drawn(fabric_page: Browser) -> None:
    page = fabric_page
    page.open("#/map")
    page.click("nav a", "Fabrics")
    page.reads("mesh", "members ready", "3 of 3", "all members use the newest one")
    rows = [row.text for row in page.all(".lists tbody tr")]
    assert any("s1/eth1" in row and "s2/eth2" in row and "carries" in row for row in rows)
    assert any("held" in row and "waits for 8 s" in row for row in rows)
    assert any("wrong" in row and "it leads to another fabric" in row for row in rows)
    assert any("ready" in row and "3, 4" in row for row in rows)
    assert {each.text for each in page.all(".lists a")} == {
        "What if it is cut?",
        "What if it loses its power?",
    }
    until(lambda: "0 bit/s" in page.text, "the load of a link")
    painted = """
        const seen = new Set();
        for (const canvas of document.querySelectorAll(".canvas canvas")) {
          const {width, height} = canvas;
          if (!width || !height) continue;
          const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] > 200) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
        }
        return seen.size;
    """
    until(lambda: page.js(painted) > 3, "the fabric to be drawn")
    page.size(*PHONE)
    fits = """
        const canvas = document.querySelector(".canvas canvas");
        return canvas.clientWidth > 0 && canvas.clientWidth <= innerWidth;
    """
    until(lambda: page.js(fits) and page.js(painted) > 3, "the drawing on a phone")
    page.size(*WIDE)
    assert findings(page) == []
    assert page.complaints() == []


def test_a_fabric_that_is_not_there_is_a_problem(fabric_page: Browser) -> None:
    fabric_page.open("#/fabrics/gone")
    fabric_page.reads("there is no fabric gone")
    fabric_page.complaints()  # the browser reports the 404
