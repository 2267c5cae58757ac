"""The page for every reader: by keyboard, with a screen reader, in the dark, on a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page.browser import PHONE, WIDE, Browser, Keys, until

AXE = Path(__file__).with_name("vendor") / "axe.min.js"
BR1 = f"{1:016x}"
VIEWS = {
    "problems": ("#/problems", "Changes of the last hour"),
    "map": ("#/map", "3 links"),
    "switches": ("#/switches", "connected"),
    "hosts": ("#/hosts", "shown"),
    "events": ("#/events", "discarding -> forwarding"),
    "config": ("#/config", "In force"),
    "search": ("#/search?q=br1", "Switches"),
    "ports": (f"#/bridge/{BR1}/ports?port=1", "What differs"),
    "fdb": (f"#/bridge/{BR1}/fdb", "shown"),
    "stp": (f"#/bridge/{BR1}/stp", "the neighbour agreed"),
    "vlans": (f"#/bridge/{BR1}/vlans", "office"),
    "mdb": (f"#/bridge/{BR1}/mdb", "no querier"),
    "acls": (f"#/bridge/{BR1}/acls", "no-rogue-dhcp"),
    "lags": ("#/bridge/0000000000000002/lags", "distributing"),
    "limits": (f"#/bridge/{BR1}/limits", "the bridge"),
}


def findings(page: Browser, rules: str = "undefined") -> list[str]:
    """What axe-core calls serious or critical: the rule, and where.  rules: only these."""
    if not page.js("return !!window.axe"):
        page.js(AXE.read_text())
    found = page.driver.execute_async_script(
        f"const done = arguments[0]; axe.run(document, {{runOnly: {rules},"
        " resultTypes: ['violations']}).then((all) => done(all.violations))"
    )
    return [
        f"{own['id']}: {[node['html'] for node in own['nodes']][:3]}"
        for own in found
        if own["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious_stands_in_a_readers_way(window: Browser, view: str) -> None:
    """In light and in dark, which is a matter of colours alone."""
    fragment, says = VIEWS[view]
    window.forget()
    window.open(fragment)
    window.reads(says)
    assert findings(window) == []
    window.dark(True)
    try:
        assert findings(window, "['color-contrast']") == []
    finally:
        window.dark(False)


def test_nor_in_a_dialog(window: Browser) -> None:
    window.open(f"#/bridge/{BR1}/fdb")
    window.click("button", "Add a static entry…")
    window.find("dialog[open]")
    assert findings(window) == []
    window.keys(Keys.ESCAPE)


def test_by_keyboard_alone(page: Browser) -> None:
    """To a switch, into its ports, to the question whether one shall go down, and back out."""
    page.open("#/map")
    page.reads("3 links")
    page.js("document.activeElement.blur()")
    page.keys("/")
    assert page.js("return document.activeElement.id") == "search"
    page.keys("br1", "\n")
    page.reads("Switches", "0000000000000001")
    tab_to(page, "br1", within="main")
    page.keys("\n")
    page.reads("datapath id")
    tab_to(page, "br1p1", within="main")
    page.keys("\n")
    page.find(".detail h2", "br1p1")
    tab_to(page, "Take down…", within="main")
    page.keys("\n")
    page.find("dialog[open]")
    assert page.js("return document.activeElement.textContent") == "Cancel"
    page.keys("\n")
    until(lambda: not page.all("dialog[open]"), "the dialog to go")
    assert page.js("return document.activeElement.textContent") == "Take down…"


def test_a_slash_begins_another_search(page: Browser) -> None:
    page.open("#/map")
    page.type("#search", "left from before")
    page.js("document.activeElement.blur()")
    page.keys("/")
    page.keys("br2", "\n")
    page.reads("Switches", "0000000000000002")
    page.type("#search", "")


def tab_to(page: Browser, text: str, within: str) -> None:
    """Press Tab until the focus is on what is called so; it is always somewhere that is seen."""
    for _ in range(60):
        page.keys(Keys.TAB)
        name, seen, inside = page.js(
            "const e = document.activeElement; const r = e.getBoundingClientRect();"
            "return [e.textContent.trim(), r.width > 0 && r.height > 0, !!e.closest(arguments[0])]",
            within,
        )
        assert seen, f"the focus is on something that is not seen: {name}"
        if inside and name == text:
            return
    raise AssertionError(f"Tab does not come to {text}")


def test_the_map_moves_by_keys(page: Browser) -> None:
    page.open("#/map")
    page.reads("3 links")
    page.js("document.querySelector('.canvas-box').focus()")
    paint = "return document.querySelectorAll('.canvas canvas')[2].toDataURL()"
    before = page.js(paint)
    page.keys(Keys.ARROW_LEFT, "+")
    until(lambda: page.js(paint) != before, "the map to move")


def test_the_first_stop_skips_to_the_content(page: Browser) -> None:
    page.driver.get("about:blank")
    page.open("#/map")
    page.reads("3 links")
    page.keys(Keys.TAB, "\n")
    assert page.js("return document.activeElement.id") == "main"
    assert page.driver.current_url.endswith("#/map")


@pytest.mark.parametrize("view", VIEWS)
def test_on_a_phone_nothing_is_wider_than_the_screen(page: Browser, view: str) -> None:
    page.size(*PHONE)
    try:
        fragment, says = VIEWS[view]
        page.open(fragment)
        page.reads(says)
        width = page.js("return document.scrollingElement.scrollWidth")
        inner = page.js("const m = document.querySelector('main'); return m.scrollWidth")
        assert width <= PHONE[0]
        assert inner <= PHONE[0]
    finally:
        page.size(*WIDE)


WRONG = ("halt", "heard", "away", "in line", "mend", "everybody", "Nothing is called so")
"""Words of earlier versions, for which there are terms of the field."""


@pytest.mark.parametrize("view", [view for view in VIEWS if view not in ("events", "problems")])
def test_no_view_has_a_word_of_the_wrong_ones(page: Browser, view: str) -> None:
    """Views with messages of the API are left out."""
    fragment, says = VIEWS[view]
    page.open(fragment)
    page.reads(says)
    shown = page.text
    assert [word for word in WRONG if re.search(rf"\b{word}\b", shown, re.IGNORECASE)] == []
