"""What a change would lead to, asked on the page, and the map at another time."""

from __future__ import annotations

import pytest

from tests.page.browser import PHONE, WIDE, Browser, Keys, until
from tests.page.site import ACROSS, FILTERED, OFFICE, Site
from tests.page.test_reader import findings
from tests.support import frames

BR1, BR2 = f"{1:016x}", f"{2:016x}"
DOWN, UP = ACROSS
STATUS = ".time-line [role=status]"
SLIDER = ".time-line input"


def open_link(page: Browser) -> None:
    """The port of the first bridge that leads to the second one."""
    page.open(f"#/bridge/{BR1}/ports?port={UP}")
    page.find(".detail", "leads to")


def test_before_a_port_goes_down_the_page_says_who_is_cut_off(page: Browser, site: Site) -> None:
    open_link(page)
    page.click(".detail button", "Take down…")
    page.click("dialog button", "What if it is taken down?")
    answer = page.find("dialog .what-if [role=status]", "Step through it on the map").text
    assert "do not reach each other" in answer or "No host is cut off" in answer
    assert "Other roles: " in answer
    assert findings(page) == []
    settings = site.controller.get(f"/v1/bridges/{BR1}/ports/{UP}")["settings"]
    assert "shutdown" not in settings, "asking changes nothing"
    page.click("dialog .what-if a", "Step through it on the map")
    until(lambda: not page.all("dialog[open]"), "the dialog to close")
    page.find(STATUS, "predicted")


def test_an_isolated_host_port_is_said_before_its_vlan_changes(page: Browser, site: Site) -> None:
    """The form asks about what is typed, and forgets the answer with the next letter."""
    page.open(f"#/bridge/{BR1}/ports?port={OFFICE}")
    page.click(".detail button", "Change…")
    page.click("dialog button", "What if this is applied?")
    page.find("dialog .what-if [role=status]", "Nothing is entered yet")
    page.click("dialog input[name=shutdown]")
    page.click("dialog button", "What if this is applied?")
    page.find("dialog .what-if .bad", "br1p1")
    page.type("dialog input[name=description]", "a")
    until(lambda: not page.all("dialog .what-if .bad"), "the answer to go")
    page.keys(Keys.ESCAPE)


def test_a_port_has_questions_about_its_cable_and_cost(page: Browser) -> None:
    open_link(page)
    page.click(".detail .what-if button", "Ask")
    page.find(".detail .what-if [role=status]", "Step through it on the map")
    page.click(".detail .what-if option", "its path cost is 200")
    page.click(".detail .what-if button", "Ask")
    page.find(".detail .what-if [role=status]", "No host is cut off")


def answered(page: Browser, place: str, choice: str, *says: str) -> None:
    """Choose a question, ask it, and wait for the answer."""
    page.click(f"{place} .what-if option", choice)
    page.click(f"{place} .what-if button", "Ask")
    answer = page.find(f"{place} .what-if [role=status]", "Step through it on the map").text
    assert [text for text in says if text not in answer] == []


def test_a_port_has_questions_about_what_may_be_behind_it(page: Browser) -> None:
    page.open(f"#/bridge/{BR1}/ports?port={OFFICE}")
    page.click(".detail .what-if option", "broadcasts come in without end")
    page.type(".detail .what-if input", "500")
    answered(page, ".detail", "broadcasts", "The broadcasts leave by", "br1 br1p2 500 a second")
    page.click(".detail .what-if option", "its host moves to")
    page.find(".detail .what-if .port option", "br1p2")
    assert f"br1p{OFFICE}" not in [each.text for each in page.all(".detail .port option")]
    answered(page, ".detail", "a foreign bridge with priority 0", "becomes the root of br1")
    answered(page, ".detail", "cut while all switches are without", "forward as they did last")
    assert findings(page) == []


def test_a_host_that_would_move_is_asked_about_by_keyboard(page: Browser, site: Site) -> None:
    """From a port of the first bridge to one of the second, whose tree delays it."""
    mac = frames.host(0x55)

    def known() -> bool:
        site.say(site.bridges[0], FILTERED, 0x55)
        return bool(site.controller.get("/v1/fdb", mac=mac)["entries"])

    until(known, "the host to be learned")
    page.open(f"#/search?q={mac}")
    page.find(".what-if option", "br1p1")
    page.js("document.querySelector('.what-if select').focus()")
    page.keys("br2")
    page.find(".what-if option", "br2p1")
    page.keys(Keys.TAB)
    page.keys("br2p1")
    page.keys(Keys.TAB)
    page.keys(Keys.ENTER)
    page.find(".what-if [role=status]", "the host that moves sends at once")
    assert "it is at br2/br2p1" in page.find(".what-if [role=status]").text
    assert findings(page) == []
    page.click(".what-if a", "Step through it on the map")
    page.find(STATUS, "predicted")


def test_the_map_has_the_question_about_the_controller(page: Browser) -> None:
    page.open("#/switches")
    page.open("#/map")  # where no switch is selected
    page.type(".panel .what-if input", "20")
    page.click(".panel .what-if button", "Ask")
    page.find(".panel .what-if [role=status]", "No host is cut off")


def test_before_the_file_is_read_again_the_page_says_what_follows(
    page: Browser, site: Site
) -> None:
    file = site.controller.config_file
    before = file.read_text()
    try:
        file.write_text(before.replace("priority: 4096", "priority: 61440"))
        page.open("#/config")
        page.click("button", "Reload…")
        page.click("dialog button", "What if it is read?")
        page.find("dialog .what-if [role=status]", "becomes the root of")
        page.keys(Keys.ESCAPE)
    finally:
        file.write_text(before)
        until(
            lambda: site.controller.get("/v1/config/versions")["disk"]["state"] == "applied",
            "the file to be as it is in force",
        )


def test_before_a_file_is_rolled_back_the_page_says_what_follows(page: Browser, site: Site) -> None:
    file = site.controller.config_file
    before = file.read_text()
    try:
        file.write_text(before.replace("priority: 4096", "priority: 8192"))
        assert site.controller.api("POST", "/v1/config/reload").status == 200
        page.open("#/config")
        page.click("td button:not([disabled])", "Roll back…")
        page.click("dialog button", "What if it is rolled back?")
        page.find("dialog .what-if [role=status]", "Step through it on the map")
        page.keys(Keys.ESCAPE)
    finally:
        file.write_text(before)
        assert site.controller.api("POST", "/v1/config/reload").status == 200


def test_a_prediction_is_stepped_through_by_keyboard(page: Browser) -> None:
    """A cut cable of the ring: its link is down at once, and the blocked one takes over."""
    page.open("#/map")
    page.click(".panel .row", "br1")
    page.click(".panel .card a", "What if it is cut?")
    page.find(STATUS, "predicted, 0 ms after the change")
    page.js("document.querySelector(arguments[0]).focus()", SLIDER)
    said = page.find(STATUS).text
    end = int(page.find(SLIDER).get_attribute("max") or 0)
    while int(page.find(SLIDER).get_attribute("value") or 0) < end:
        page.keys(Keys.ARROW_RIGHT)
        said += page.find(STATUS).text
        assert "predicted" in str(page.find(SLIDER).get_attribute("aria-valuetext"))
    assert "alternate -> " in said, "the port that was blocked takes over"
    page.reads("3 links, 1 down")
    assert findings(page) == []
    page.click(".time-line button", "Now")
    page.find(STATUS, "now")
    page.reads("3 links, 1 blocked")


def test_the_last_minutes_are_shown_from_the_log(page: Browser, site: Site) -> None:
    """A cable that was down for a moment is down again at that time."""
    first = site.bridges[0]

    def is_up() -> bool:
        return bool(site.controller.get(f"/v1/bridges/{BR1}/ports/{OFFICE}")["up"])

    page.open("#/map")
    page.reads("3 links, 1 blocked")
    first.link(OFFICE, up=False)
    until(lambda: not is_up(), "the link to be down")
    first.link(OFFICE, up=True)
    until(is_up, "the link to be up again")
    page.click("button.open-time")
    page.find(STATUS, "now")
    said = ""
    while "port br1p1" not in said or "down" not in said:
        page.click(".time-line button", "Earlier")
        said = page.find(STATUS).text
        assert "ago" in said
    assert "Numbers of hosts are not kept." in said
    page.click("button.open-time")
    until(lambda: not page.all(".time-line"), "the slider to go")


def test_a_question_of_an_address_that_is_no_question_does_no_harm(page: Browser) -> None:
    page.open("#/map?ask=%7Bx")
    page.reads("3 links")
    page.open("#/map?ask=%7B%22cut%22%3A%5B%22no%2Fport%22%5D%7D")
    page.find(".time [role=alert]", "there is no bridge no")
    assert any("404" in complaint for complaint in page.complaints())


@pytest.mark.parametrize("dark", [False, True])
def test_the_slider_on_a_phone_and_in_the_dark(page: Browser, dark: bool) -> None:
    page.size(*PHONE)
    page.dark(dark)
    try:
        page.open("#/map?ask=" + "%7B%22fail%22%3A%5B%22br2%22%5D%7D")
        page.find(STATUS, "predicted")
        assert page.js("return document.scrollingElement.scrollWidth") <= PHONE[0]
        assert findings(page) == []
    finally:
        page.size(*WIDE)
        page.dark(False)
