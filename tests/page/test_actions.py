"""What operators change by the page: each asks first, says what will happen, and does it."""

from __future__ import annotations

from tests.page.browser import Browser, Keys, until
from tests.page.site import FILTERED, GUARDED, OFFICE, STICKY, Site
from tests.support import frames

BR1 = f"{1:016x}"
NAMES = {OFFICE: "br1p1", GUARDED: "br1p2", STICKY: "br1p3", FILTERED: "br1p4"}


def confirm(page: Browser, verb: str, *says: str) -> None:
    """The dialog says this; it is agreed to, and goes away."""
    dialog = page.find("dialog[open]")
    until(lambda: all(text in dialog.text for text in says), f"the dialog to say {says}")
    page.click("dialog button.primary", verb)
    until(lambda: not page.all("dialog[open]"), "the dialog to go")


def choose(page: Browser, number: int) -> None:
    page.open(f"#/bridge/{BR1}/ports?port={number}")
    page.find(".detail h2", NAMES[number])


def port(site: Site, number: int) -> dict[str, object]:
    return dict(site.controller.get(f"/v1/bridges/{BR1}/ports/{number}"))


def learn(site: Site, number: int, host: int) -> None:
    def known() -> bool:
        site.say(site.bridges[0], number, host)
        return bool(site.controller.fdb(site.bridges[0], mac=frames.host(host)))

    until(known, "the host to be learned")


def test_a_port_down_and_up(page: Browser, site: Site) -> None:
    # Other modules' hosts are on this port, if these ran before.
    assert site.controller.api("DELETE", f"/v1/bridges/{BR1}/fdb?port={OFFICE}").status == 200
    learn(site, OFFICE, 0x51)
    choose(page, OFFICE)
    page.click(".detail button", "Take down…")
    confirm(
        page,
        "Take down",
        "takes no frames and sends none",
        "1 learned address",
        "a restart changes nothing",
    )
    page.reads("br1p1 of br1 is down.")
    assert port(site, OFFICE)["settings"]["shutdown"] is True  # type: ignore[index]
    page.click(".detail button", "Bring up…")
    confirm(page, "Bring up", "is enabled again")
    page.reads("br1p1 of br1 is up again.")
    assert "shutdown" not in port(site, OFFICE)["settings"]  # type: ignore[operator]


def test_a_port_gets_another_vlan_after_a_trial_and_back_again(page: Browser, site: Site) -> None:
    """The form says what would change in the network before it is applied."""
    choose(page, FILTERED)
    page.click(".detail button", "Change…")
    assert not page.find("dialog button.primary").is_enabled()
    page.click("dialog select[name=mode] option", "access")
    page.type("dialog input[name=access]", "office")
    page.click("dialog select[name=trust] option", "uplink")
    until(lambda: "port br1p4: VLAN all -> 10" in page.find("dialog").text, "the trial")
    assert "vlan" not in port(site, FILTERED)["settings"]  # type: ignore[operator]
    page.click("dialog button.primary", "Apply")
    page.reads("br1p4 of br1 is changed.")
    settings = port(site, FILTERED)["settings"]
    assert (settings["vlan"], settings["trust"]) == ("office", "uplink")  # type: ignore[index]
    page.click(".notice button", "Undo")
    page.reads("br1p4 of br1 is as before.")
    settings = port(site, FILTERED)["settings"]
    assert settings == {"acl": "guests", "stp": {"admin_edge": True}}


def test_what_a_trial_refuses_is_said_in_the_form(page: Browser) -> None:
    choose(page, FILTERED)
    page.click(".detail button", "Change…")
    page.click("dialog select[name=mode] option", "access")
    page.type("dialog input[name=access]", "nosuch")
    until(lambda: "nosuch" in page.find("dialog .plan").text, "the refusal")
    assert not page.find("dialog button.primary").is_enabled()
    page.keys(Keys.ESCAPE)
    assert any("409" in complaint for complaint in page.complaints())


def test_what_is_not_confirmed_is_not_done(page: Browser, site: Site) -> None:
    choose(page, FILTERED)
    page.click(".detail button", "Take down…")
    page.find("dialog[open]")
    page.keys(Keys.ESCAPE)
    until(lambda: not page.all("dialog[open]"), "the dialog to go")
    assert "shutdown" not in port(site, FILTERED)["settings"]  # type: ignore[operator]
    page.click(".detail button", "Take down…")
    page.click("dialog button", "Cancel")
    until(lambda: not page.all("dialog[open]"), "the dialog to go")
    assert "shutdown" not in port(site, FILTERED)["settings"]  # type: ignore[operator]


def test_the_link_that_would_go_is_named(page: Browser) -> None:
    page.open(f"#/bridge/{BR1}/ports?port=12")
    page.find(".detail", "leads to")
    page.click(".detail button", "Take down…")
    dialog = page.find("dialog[open]").text
    assert "It leads to br2 br2-to-br1" in dialog
    page.keys(Keys.ESCAPE)


def test_addresses_of_a_port_flushed(page: Browser, site: Site) -> None:
    learn(site, FILTERED, 0x52)
    choose(page, FILTERED)
    until(lambda: page.find(".detail button", "Flush").is_enabled(), "addresses to be shown")
    page.click(".detail button", "Flush addresses…")
    confirm(page, "Flush", "flooded until each has sent a frame again", "Static entries stay")
    page.reads("forgotten on br1")
    assert not site.controller.fdb(site.bridges[0], port="br1p4")


def test_a_static_entry_added_and_removed(page: Browser, site: Site) -> None:
    mac = "52:54:00:00:00:aa"
    page.open(f"#/bridge/{BR1}/fdb")
    page.click("button", "Add a static entry…")
    page.type("dialog input[name=mac]", mac)
    page.type("dialog input[name=vlan]", "7")
    page.click("dialog select option", "br1p4")
    confirm(page, "Add", "does not age", "kept on disk")
    page.reads(f"{mac} is fixed to br1p4 of br1.")
    (entry,) = site.controller.fdb(site.bridges[0], mac=mac)
    assert (entry["vlan"], entry["type"], entry["port"]["name"]) == (7, "static", "br1p4")
    page.click("td button", "Remove…")
    confirm(page, "Remove", mac, "flooded until it has sent a frame")
    page.reads("is no static entry of br1 any more")
    assert not site.controller.fdb(site.bridges[0], mac=mac)


def test_what_the_api_refuses_is_said_in_the_dialog(page: Browser) -> None:
    page.open(f"#/bridge/{BR1}/fdb")
    page.click("button", "Add a static entry…")
    page.type("dialog input[name=mac]", "01:00:5e:00:00:01")
    page.click("dialog button.primary", "Add")
    until(lambda: "not the address of one host" in page.find("dialog").text, "the problem")
    page.keys(Keys.ESCAPE)
    assert any("422" in complaint for complaint in page.complaints())


def test_a_held_address_released(page: Browser, site: Site) -> None:
    first = site.bridges[0]
    learn(site, STICKY, 0x53)
    held = f"/v1/bridges/{BR1}/fdb/held"

    def moves() -> bool:
        site.say(first, FILTERED, 0x53)
        return bool(site.controller.get(held)["held"])

    until(moves, "the address to be held down")
    page.open(f"#/bridge/{BR1}/fdb")
    page.reads("Held down", frames.host(0x53), "that port is sticky")
    page.click(".held button", "Release…")
    confirm(page, "Release", "It may move again", "br1p3", "br1p4")
    page.reads(f"{frames.host(0x53)} may move again on br1.")
    assert not site.controller.get(held)["held"]


def test_a_port_freed_from_its_guard(page: Browser, site: Site) -> None:
    site.bridges[0].inject(GUARDED, frames.bpdu(frames.host(0x99)))
    stp = f"/v1/bridges/{BR1}/stp"

    def guards() -> list[str]:
        (own,) = [p for p in site.controller.get(stp)["ports"] if p["number"] == GUARDED]
        return list(own["guards"])

    until(lambda: guards() == ["bpdu-guard"], "the guard to strike")
    page.open(f"#/bridge/{BR1}/stp")
    page.reads("bpdu-guard")
    page.click("td button", "Free…")
    confirm(page, "Free the port", "BPDU guard closed it", "it closes again with the next BPDU")
    page.reads("br1p2 of br1 was freed.")
    assert guards() == []


def test_who_changed_what_is_in_the_audit_trail(site: Site) -> None:
    """Runs after those that change something."""
    messages = [event["message"] for event in site.controller.events("audit.change")]
    assert any("PATCH" in message and "br1p1" in message for message in messages)
