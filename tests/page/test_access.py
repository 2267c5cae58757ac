"""The tab about who may use a port: hosts, their rights, refusals, ports held for a loop, and ports
whose links are one-way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import yaml

from tests.page.browser import PHONE, WIDE, Browser, browser, until
from tests.page.site import Ticking
from tests.page.test_actions import confirm
from tests.page.test_reader import findings
from tests.support import frames
from tests.support.accepting import Accepting
from tests.support.controller import Controller
from tests.support.ovs import Bridge, missing

DOOR, GATE = 1, 2
"""Controlled ports."""
CABLE = (5, 6)
"""Edge ports with a cable between them."""
ENDS = ("left", "right")
"""Ports of the first and of the second bridge, with a link that passes frames to the second."""
FIBRE = 7
"""Their number."""
ADMITTED, REFUSED = frames.host(0x21), frames.host(0x22)
WORDS = "<img src=x> call 4711"
"""What the server says of the refused host."""


class Office:
    """A switch with hosts on controlled ports, a loop, and a one-way link to another switch."""

    def __init__(self, stack: ExitStack) -> None:
        server = stack.enter_context(Accepting("printers", {REFUSED: WORDS}))
        access = {"authentication": "mab", "quiet_period": 3600, "reauth_period": 0}
        lldp = {"enabled": True, "tx_interval": 1}
        hold = {name: {"lldp": {"one_way": "hold"}} for name in ENDS}
        settings = {
            "stp": {"enabled": False},
            "loop_protect": {"enabled": True, "hold": 300},
            "port_access": {
                "enabled": True,
                "servers": f"127.0.0.1:{server.port}",
                "secret_file": server.secret_file,
            },
            "ports": {f"br1p{port}": {"vlan": 10, "port_access": access} for port in (DOOR, GATE)}
            | hold,
            "lldp": lldp,
            "acls": {"printers": [{"name": "all", "match": {}, "action": "allow"}]},
        }
        self.controller = Controller(
            yaml.safe_dump({"bridges": {"br1": settings, "br2": {"lldp": lldp, "ports": hold}}})
        )
        stack.callback(self.controller.close)
        self.controller.start()
        self.switch = Ticking()
        stack.callback(self.switch.close)
        self.switch.start()
        self.bridge = self.switch.add_bridge()
        for port in (DOOR, GATE):
            self.bridge.add_port(port)
        self._plug()
        self._join()
        for bridge in (self.bridge, self.other):
            bridge.set_controller(self.controller.target)
            self.controller.wait_ready(bridge)

    def _plug(self) -> None:
        names = [f"cable{number}" for number in CABLE]
        for name, peer, number in zip(names, names[::-1], CABLE, strict=True):
            self._patch(self.bridge, name, peer, number)

    def _join(self) -> None:
        """Make the second bridge, and a link by a third bridge, which drops one direction."""
        self.other, between = self.switch.add_bridge(), self.switch.add_bridge()
        for number, (name, bridge) in enumerate(zip(ENDS, (self.bridge, self.other), strict=True)):
            self._patch(bridge, name, f"to-{name}", FIBRE)
            self._patch(between, f"to-{name}", name, 1 + number)
        path = f"unix:{self.switch.dir}/{between.name}.mgmt"
        self.switch.ofctl("add-flow", path, "in_port=1,actions=output:2")

    def _patch(self, bridge: Bridge, name: str, peer: str, number: int) -> None:
        self.switch.vsctl(
            *("add-port", bridge.name, name, "--", "set", "Interface", name),
            *("type=patch", f"options:peer={peer}", f"ofport_request={number}"),
        )

    def say(self) -> None:
        """Both hosts send a frame."""
        for port, mac in ((DOOR, ADMITTED), (GATE, REFUSED)):
            self.bridge.inject(port, frames.ethernet(frames.BROADCAST, mac))

    def phases(self) -> dict[str, str]:
        """The phase of each host, by MAC address."""
        hosts = self._get("port-access")["hosts"]
        return {host["mac"]: host["phase"] for host in hosts}

    def held(self) -> list[str]:
        """The ports that loop protection holds."""
        return [port["name"] for port in self._get("loop-protect")["ports"] if port["held"]]

    def one_way(self) -> dict[str, str]:
        """The ports whose links are one-way, each with its state."""
        faults = ((port["name"], port["one_way"]) for port in self._get("lldp")["ports"])
        return {name: fault["state"] for name, fault in faults if fault}

    def _get(self, resource: str) -> Any:
        return self.controller.get(f"/v1/bridges/{self.bridge.dpid16}/{resource}")


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    if reason := missing():
        pytest.skip(reason)
    with ExitStack() as stack:
        office = Office(stack)

        def there() -> bool:
            office.say()
            return office.phases() == {ADMITTED: "authorised", REFUSED: "held"}

        until(there, "the hosts to be decided on")
        until(office.held, "a port to be held")
        until(office.one_way, "the one-way link to be found")
        yield office


@pytest.fixture
def page(office: Office) -> Iterator[Browser]:
    with browser(f"http://127.0.0.1:{office.controller.api_port}/") as window:
        window.open(f"#/bridge/{office.bridge.dpid16}/access")
        window.reads(ADMITTED)
        yield window
        assert window.complaints() == []


def row(page: Browser, mac: str) -> str:
    """The text of a host's row."""
    return str(page.find("tbody tr", mac).text)


def test_hosts_and_their_rights_refusals_and_held_ports_are_shown(
    page: Browser, office: Office
) -> None:
    admitted, refused = row(page, ADMITTED), row(page, REFUSED)
    for said in ("br1p1", "authorised", "MAC address", "of the port", "access list printers"):
        assert said in admitted
    for said in ("br1p2", "not authorised", f"RADIUS refused the MAC address: '{WORDS}'"):
        assert said in refused
    page.reads("1 of 2 authorised", "is held: its frames come back by", "Controlled ports")
    assert page.js("return document.querySelectorAll('main img').length") == 0
    rows = [each.text for each in page.all("[aria-label^=Hosts] tbody tr")]
    assert REFUSED in rows[0], "refused hosts come first"
    assert findings(page) == []
    page.dark(True)
    assert findings(page, "['color-contrast']") == []
    page.dark(False)
    page.size(*PHONE)
    page.open(f"#/bridge/{office.bridge.dpid16}/access")
    page.reads(ADMITTED)
    assert page.js(
        "return [document.documentElement, document.querySelector('main')].every((each) =>"
        " each.scrollWidth <= each.clientWidth)"
    )
    page.size(*WIDE)


def test_an_operator_clears_a_host_and_has_another_one_authenticated_again(
    page: Browser, office: Office
) -> None:
    asked = office.controller.get(f"/v1/bridges/{office.bridge.dpid16}/port-access")["servers"]
    page.find("tbody tr", ADMITTED)
    page.click("tbody button", "Authenticate again…")
    confirm(page, "Authenticate again", "keeps its rights")
    page.reads("is authenticated again on br1")

    def again() -> bool:
        now = office.controller.get(f"/v1/bridges/{office.bridge.dpid16}/port-access")["servers"]
        return bool(now["accept"] > asked["accept"])

    until(again, "the server to be asked again")
    page.click("tbody tr:first-child button", "Clear…")
    confirm(page, "Clear", "may try again at once")
    page.reads("was cleared on br1")
    until(lambda: REFUSED not in office.phases(), "the host to be forgotten")


def test_an_operator_opens_a_held_port(page: Browser, office: Office) -> None:
    path = f"/v1/bridges/{office.bridge.dpid16}/loop-protect"
    before = office.controller.get(path)["counters"]["held"]
    page.click("button", "Open now…")
    confirm(page, "Open the port", "broadcasts circle")
    page.reads("is open.")
    until(lambda: office.controller.get(path)["counters"]["held"] > before, "it to be held again")


def test_an_operator_opens_a_port_whose_link_is_one_way(page: Browser, office: Office) -> None:
    port, far = ENDS
    page.reads(f"{port} is closed: it does not hear port {far} of br2", "Replace the cable")

    def freed() -> int:
        return len(office.controller.events("one_way.freed"))

    before = freed()
    page.click("section:last-of-type li button", "Open now…")
    confirm(page, "Open the port", "closes again within seconds")
    page.reads(f"{port} of br1 is open.")
    assert freed() > before
    until(office.one_way, "it to be closed again")
