"""Every view shows all objects, also where a name is markup."""

from __future__ import annotations

import pytest

from tests.page.browser import PHONE, WIDE, Browser, until
from tests.page.site import (
    BOUND,
    BOUND_ADDRESS,
    EVIL_BRIDGE,
    EVIL_PORT,
    FILTERED,
    GUEST,
    GUEST_PORT,
    OFFICE,
    PLAIN,
    Site,
)
from tests.page.test_actions import confirm
from tests.support import frames

BR1, BR2, BR3 = (f"{number:016x}" for number in (1, 2, 3))
HOST, FAR, EVIL_HOST = 0x11, 0x22, 0x33


@pytest.fixture(scope="module", autouse=True)
def hosts(site: Site) -> None:
    """Some that have spoken."""
    first, second, third = site.bridges
    places = ((first, OFFICE, HOST), (second, PLAIN, FAR), (third, 2, EVIL_HOST))

    def known() -> bool:
        for bridge, port, host in places:
            site.say(bridge, port, host)
        return all(
            site.controller.get("/v1/fdb", mac=frames.host(host))["entries"]
            for _, _, host in places
        )

    until(known, "hosts to be learned")


def test_the_map_tells_switches_links_roles_and_states(page: Browser) -> None:
    page.open("#/switches")
    page.open("#/map")  # where no switch is selected
    page.reads("4 switches", "3 links, 1 blocked", "root", EVIL_BRIDGE)
    page.reads("alternate", "discarding", "designated", "forwarding", "br1-to-br2")
    assert "1 of them blocked" in page.find(".canvas-box").get_attribute("aria-label")
    page.click(".panel .row", "br1")
    page.reads("bridge id", "this switch")
    page.click(".panel a.button", "Open this switch")
    page.reads("connected", "br1p1")


def test_the_map_is_drawn(page: Browser) -> None:
    """Something is painted on its canvas, of more than one colour."""
    page.open("#/map")
    page.reads("3 links")
    colours = """
        const seen = new Set();
        for (const canvas of document.querySelectorAll(".canvas canvas")) {
          const {width, height} = canvas;
          const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] > 200) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
        }
        return seen.size;
    """
    until(lambda: page.js(colours) > 5, "the map to be painted")


def test_all_switches(page: Browser) -> None:
    page.open("#/switches")
    page.reads("br1", "br2", "br3", EVIL_BRIDGE, "connected", "root")


def test_ports_with_live_rates_and_one_in_full(page: Browser, site: Site) -> None:
    page.open(f"#/bridge/{BR1}/ports")
    page.click("button.name", "br1p4")
    page.reads("Take down…", "What differs from the defaults")

    def rate() -> bool:
        site.say(site.bridges[0], FILTERED, 0x44)
        row = page.find("tr.row", "br1p4").text
        return any(f" {unit}bit/s" in row and "0 bit/s 0 bit/s" not in row for unit in ("", "k"))

    until(rate, "a rate to be shown")
    assert page.find(".chart canvas")
    page.click(".chart button", "Errors and drops")
    page.find(".chart .u-legend", "errors")


def test_the_front_panel_shows_ports_by_number_and_selects_them(page: Browser) -> None:
    page.open(f"#/bridge/{BR1}/ports")
    page.find(".front .jack.forwarding")
    numbers = [int(jack.text.split("\n")[0]) for jack in page.all(".front .jack")]
    assert numbers == sorted(numbers)
    assert set(numbers) == {1, 2, 3, 4, 11, 12}
    page.click(".front .jack", "2")
    page.find(".detail h2", "br1p2")
    assert page.find(".front .jack[aria-pressed=true]").text.startswith("2")


@pytest.mark.parametrize(
    ("tab", "says"),
    [
        ("fdb", (frames.host(HOST), "VLAN 10", "br1p1", "learned")),
        ("bindings", ("Nothing was refused lately", "No port has a trust", "0 bindings shown")),
        ("access", ("Each host may use each port", "Loop protection is off", "LLDP finds links")),
        ("stp", ("bridge id", "this switch", "designated", "edge port", "the neighbour agreed")),
        ("vlans", ("office", "access", "transparent", "VLAN 10")),
        ("mdb", ("there is no querier", "No host has joined a group")),
        ("acls", ("guests", "no-rogue-dhcp", "udp_src=67", "drop", "allow")),
        ("lags", ("has no aggregations",)),
        ("limits", ("VLAN 10", "50", "the bridge")),
        ("events", ("stp.state", "Each event")),
    ],
)
def test_every_tab_of_a_switch(page: Browser, tab: str, says: tuple[str, ...]) -> None:
    page.open(f"#/bridge/{BR1}/{tab}")
    page.reads("br1", *says)


def test_bindings_filtered_and_what_was_refused(page: Browser, site: Site) -> None:
    bridge, liar = site.bridges[2], frames.host(0x66)
    page.open(f"#/bridge/{BR3}/bindings")
    page.reads(BOUND, BOUND_ADDRESS, EVIL_PORT, "api", "for good", "trust: guest", GUEST)
    try:
        bridge.inject(GUEST_PORT, frames.arp_request(liar, BOUND_ADDRESS))
        page.reads(liar, "claims by ARP", "which is bound to", BOUND)
        assert page.js("return document.querySelectorAll('main img, main b[id]').length") == 0
    finally:  # else it stays a problem of the network for five minutes
        path = f"/v1/bridges/{BR3}/bindings/refused"
        assert site.controller.api("DELETE", path).status in (200, 204)
    page.type(".filters input[name=address]", "192.0.2.1")
    page.click(".filters button", "Filter")
    page.reads("0 bindings shown", "No binding fits.")
    page.open(f"#/bridge/{BR3}/bindings?mac={BOUND}")
    page.reads("1 binding shown", BOUND_ADDRESS)


def test_a_port_shows_its_trust(page: Browser) -> None:
    page.open(f"#/bridge/{BR3}/ports?port={GUEST_PORT}")
    page.reads("guest: its hosts may be hostile")
    page.click(".detail a", "guest: its hosts may be hostile")
    page.reads("Bindings", "0 bindings shown")


def test_aggregations(page: Browser) -> None:
    page.open(f"#/bridge/{BR2}/lags")
    page.reads("lag0", "br2p5", "br2p6", "distributing")
    page.open(f"#/bridge/{BR2}/ports")
    page.reads("⇉ br2p5, br2p6")


def test_hits_of_an_access_list(page: Browser, site: Site) -> None:
    page.open(f"#/bridge/{BR1}/acls")

    def hits() -> int:
        site.say(site.bridges[0], FILTERED, 0x44)
        return int(page.find("tbody tr", "rest").find_elements("css selector", "td")[2].text)

    before = hits()
    until(lambda: hits() > before, "the hits to count")


def test_hosts_once_where_they_are_attached_and_filtered(page: Browser) -> None:
    page.open("#/hosts")
    page.reads(frames.host(HOST), frames.host(FAR))
    page.type(".filters input[name=q]", frames.host(FAR))
    page.click(".filters button", "Filter")
    until(lambda: frames.host(HOST) not in page.text, "the others to go")
    page.reads(frames.host(FAR), "1 host shown")
    (row,) = [row.text for row in page.all("tr.row")]
    assert "br2p1" in row
    assert "br1" not in row
    page.click("tr.row button", "Label…")
    page.type("dialog input[name=label]", "<i>Printer</i>")
    confirm(page, "Save", "before the names that the host gives itself")
    page.reads("<i>Printer</i>", "1 host shown")
    page.open("#/search?q=printer")
    page.reads(frames.host(FAR), "at br2 br2p1")
    page.click("li a", frames.host(FAR))
    page.reads("It is behind port", "of br2", "<i>Printer</i>")


def test_the_way_to_a_host(page: Browser) -> None:
    page.open("#/map")
    page.type("#search", frames.host(EVIL_HOST))
    page.keys("\n")
    page.reads("It is behind port", EVIL_PORT, "of br3", "untagged")
    page.click("select option", "br1")
    until(lambda: "br1by br1-to-br3" in way(page), "the way from br1")
    assert way(page).endswith(frames.host(EVIL_HOST))
    page.click("a.button", "Show it on the map")
    page.reads("4 switches", "Path from br1 to", "2 hops", "Hide")
    assert "br1-to-br3" in page.find(".path-caption").text


def way(page: Browser) -> str:
    return page.find(".path-hops").text.replace("\n", "").replace(" by", "by")


def test_search_by_part_of_a_mac_a_port_and_a_switch(page: Browser) -> None:
    page.open("#/search?q=00:00:33")
    page.reads(frames.host(EVIL_HOST), f"at br3 {EVIL_PORT}")
    page.open("#/search?q=img")
    page.reads(EVIL_PORT, "of br3")
    page.open("#/search?q=evil")
    page.reads(EVIL_BRIDGE)
    page.open("#/search?q=nosuchthing")
    page.reads("Nothing has this name or address")


def test_events_as_they_come_and_filtered(page: Browser, site: Site) -> None:
    page.open("#/events")
    page.reads("Events", "stp.state", "live")
    path = f"/v1/bridges/{BR3}/ports/1"
    site.controller.api("PATCH", path, {"isolated": True})
    page.reads("isolated")
    site.controller.api("PATCH", path, {"isolated": False})
    page.type(".filters input[name=kind]", "port.set")
    until(lambda: "stp.state" not in page.find(".rows").text, "the others to go")
    page.reads("port.set")


def test_events_that_are_alike_are_one_row_that_opens(page: Browser) -> None:
    page.open("#/events?kind=port.added")
    page.reads("times")
    together = len(page.all("tr.row"))
    page.click("tr.row button", "times")
    until(lambda: len(page.all("tr.row")) > together, "the group to open")
    page.click("button", "Each event")
    until(lambda: "times" not in page.find(".rows").text, "each event to have a row")
    page.open(f"#/events?kind=port&bridge={BR1}&port=br1p1")
    page.reads("br1p1")
    assert "br1p2" not in page.find(".rows").text


def test_what_an_event_means(page: Browser, site: Site) -> None:
    kinds = site.controller.get("/v1/events/kinds?kind=stp.state")["kinds"]
    page.open("#/events?kind=stp.state")
    page.click(".rows button", "stp.state")
    page.reads(kinds[0]["meaning"], kinds[0]["remedy"] or "Nothing has to be done.")
    page.click(".about button", "Close")
    until(lambda: kinds[0]["meaning"] not in page.text, "the explanation to close")


def test_what_runs_beside_the_file(page: Browser, site: Site) -> None:
    path = f"/v1/bridges/{BR3}/ports/1"
    site.controller.api("PATCH", path, {"isolated": True})
    try:
        page.open("#/config")
        page.reads("ports.br3p1.isolated", "br3p1:", "isolated: true")
        assert [line.text for line in page.all(".diff .more")]
        page.click("button", "What would a reload change?")
        page.reads("nothing")
    finally:
        site.controller.api("PATCH", path, {"isolated": False})


def test_versions_of_the_file_their_difference_and_the_way_back(page: Browser, site: Site) -> None:
    file = site.controller.config_file
    before = file.read_text()
    try:
        file.write_text(before.replace("fdb_max_learned: 4000", "fdb_max_learned: 3999"))
        page.open("#/config")  # where it is open already, it follows the change by itself
        page.reads("The file on disk was changed and is not applied.")
        page.click("button", "Compare with the file on disk")
        page.reads("br1: fdb_max_learned: 4000 -> 3999")
        assert site.controller.api("POST", "/v1/config/reload").status == 200
        page.reads("2 in force")
        page.click("td button:not([disabled])", "Roll back…")
        confirm(page, "Roll back", "br1: fdb_max_learned: 3999 -> 4000")
        page.reads("The file on disk is not in force", "rollback to version")
        vlans = site.controller.get("/v1/config")["bridges"]
        assert {own["config"].get("fdb_max_learned") for own in vlans} >= {4000}
    finally:
        file.write_text(before)
        assert site.controller.api("POST", "/v1/config/reload").status == 200


def test_a_place_that_is_not_there_says_so(page: Browser) -> None:
    page.open("#/bridge/00000000000000ff")
    page.reads("there is no bridge 00000000000000ff")
    assert any("404" in complaint for complaint in page.complaints())


def test_the_list_of_ports_tells_their_rules(page: Browser, site: Site) -> None:
    path = f"/v1/bridges/{BR1}/ports/{FILTERED}"
    site.controller.api("PATCH", path, {"isolated": True, "shutdown": True})
    try:
        page.open(f"#/bridge/{BR1}/ports")
        page.find("tr.row", "shut down, isolated, list guests")
        assert "bpdu guard" in page.find("tr.row", "br1p2").text
    finally:
        site.controller.api("PATCH", path, {"isolated": False, "shutdown": False})


def test_a_name_that_turns_the_direction_of_text_turns_nothing_else(
    page: Browser, site: Site
) -> None:
    name = "\u202etrialse"
    site.introduce(site.bridges[2], PLAIN, name, name)
    page.open(f"#/bridge/{BR3}/ports?port={PLAIN}")
    page.find(".detail dt", "neighbour")
    turned = "return [...document.querySelectorAll('.detail bdi')].map((one) => one.textContent)"
    until(lambda: name in page.js(turned), "the name to be kept apart")
    loose = """
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const found = [];
        while (walk.nextNode()) {
          const {data, parentNode} = walk.currentNode;
          if (data.includes("\\u202e") && !parentNode.closest("bdi")) found.push(data);
        }
        return found;
    """
    assert page.js(loose) == []


@pytest.mark.parametrize("view", ["hosts", "switches", f"bridge/{BR1}/ports", f"bridge/{BR1}/fdb"])
def test_on_a_phone_a_row_has_two_lines_that_fit(page: Browser, view: str) -> None:
    page.size(*PHONE)
    try:
        page.open(f"#/{view}")
        page.find("tr.lines")
        wide = """
            const box = document.querySelector(".rows .scroll");
            return box.scrollWidth > box.clientWidth;
        """
        assert not page.js(wide)
        lines = "return document.querySelector('tr.lines td').children.length"
        assert page.js(lines) == 2
    finally:
        page.size(*WIDE)


def test_the_port_table_beside_an_open_port_is_not_cut_off(page: Browser) -> None:
    page.open(f"#/bridge/{BR3}/ports?port={PLAIN}")
    page.find(".detail h2")
    cut_off = "const box = document.querySelector('.rows .scroll');"
    cut_off += "return !box || box.scrollWidth > box.clientWidth"
    until(lambda: not page.js(cut_off), "the table to fit beside the details")
    page.find(".rows th", "Settings")
