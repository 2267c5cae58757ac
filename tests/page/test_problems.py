"""The first view: what is wrong is read without a click, and is acknowledged or ends there."""

from __future__ import annotations

import pytest

from tests.page.browser import PHONE, WIDE, Browser, until
from tests.page.site import GUARDED, Site
from tests.page.test_reader import findings
from tests.support import frames

BR1 = f"{1:016x}"
CLOSED = "br1: port br1p2 (2) is closed by BPDU guard"


@pytest.fixture
def guarded(site: Site) -> None:
    """BPDU guard closes a port, until it is freed."""
    site.bridges[0].inject(GUARDED, frames.bpdu(frames.host(0x98)))


def recover(site: Site) -> None:
    path = f"/v1/bridges/{BR1}/stp/ports/{GUARDED}/recover"
    assert site.controller.api("POST", path).status == 200


def test_without_problems_it_says_so_with_the_size_of_the_network(
    page: Browser, site: Site
) -> None:
    until(lambda: not site.controller.get("/v1/problems")["problems"], "all problems to end")
    page.driver.get(site.url)  # without a fragment
    page.reads("No problems", "4 switches, 3 links", "last change", "Changes of the last hour")
    assert page.find(".standing").text == "● no problems"


def test_a_problem_is_listed_acknowledged_and_ends(
    page: Browser, site: Site, guarded: None
) -> None:
    page.open("#/problems")
    page.reads("1 problem", CLOSED, "See which switch is connected there")
    page.reads("ofapp stp recover br1 br1p2", "since")
    assert page.find(".standing").text == "✖ 1 error"
    page.click("button", "Copy")
    until(lambda: page.find(".notice").text, "an answer to the copy")
    page.click("button", "Acknowledge…")
    page.type("dialog input", "on purpose")
    page.click("dialog button.primary", "Acknowledge")
    page.reads("No problems", "1 acknowledged problem")
    page.click("summary", "1 acknowledged problem")
    page.reads("on purpose", CLOSED)
    page.click("button", "Take the acknowledgement back")
    page.reads("1 problem")
    recover(site)
    page.reads("No problems")
    assert CLOSED not in page.find("main").text


def test_every_view_counts_the_problems_and_its_count_leads_to_them(
    page: Browser, site: Site, guarded: None
) -> None:
    try:
        for view in ("map", "switches", "hosts", "events", "config", f"bridge/{BR1}/ports"):
            page.open(f"#/{view}")
            page.find(".standing", "1 error")
        page.click(".standing")
        page.reads(CLOSED)
        page.click(".standing-item a", "br1p2")
        page.find(".detail h2", "br1p2")
    finally:
        recover(site)


def test_a_problem_is_read_in_the_dark_and_on_a_phone(
    page: Browser, site: Site, guarded: None
) -> None:
    try:
        page.size(*PHONE)
        page.dark(True)
        page.open("#/problems")
        page.reads(CLOSED)
        assert page.js("return document.scrollingElement.scrollWidth") <= PHONE[0]
        assert findings(page) == []
    finally:
        page.dark(False)
        page.size(*WIDE)
        recover(site)
