"""First-hop security on a real switch: what hosts of guarded ports may send, and what they may not.

Each kind of port has a host with bindings.  All that it may send comes out by the uplink, and of
what it may not send nothing comes out anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import claims
from tests.support import dhcp_frames as dhcp
from tests.support.claims import Host
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

DPID = 0xF1557
PLAIN, ACCESS, TRUNK, ONE, TWO, UPLINK = range(1, 7)
NAMES = ("plain", "access", "trunk", "one", "two", "uplink")
VID = 10


def host(number: int, vid: int = 0) -> Host:
    return Host(0x02_0F_00_00_00_00 | number, f"10.0.0.{number}", f"2001:db8::{number:x}", vid)


HOSTS = {"plain": host(11), "access": host(12), "trunk": host(13, VID), "lag0": host(14)}
NAMES_OF = {PLAIN: "plain", ACCESS: "access", TRUNK: "trunk", ONE: "lag0", TWO: "lag0"}
PLACES = {"plain": PLAIN, "access": ACCESS, "trunk": TRUNK, "lag0": TWO}
"""By which port of the switch each host sends."""


def file(**bridge: object) -> str:
    bindings = [
        {"mac": dhcp_mac(one.mac), "port": port, "address": address}
        | ({} if port == "plain" else {"vlan": VID})
        for port, one in HOSTS.items()
        for address in (one.four, one.six)
    ]
    # The host that attackers claim to be: else what it does not use is free to be claimed.
    bindings += [
        {"mac": dhcp_mac(claims.OTHER), "port": "uplink", "address": claims.OTHER4, "vlan": vid}
        for vid in (0, VID)
    ]
    own = {
        "multicast": {"mcast_snooping": False},
        "mac_move": {"moves": 0},
        "ports": {
            "plain": {"trust": "guest"},
            "access": {"trust": "guest", "vlan": VID},
            "trunk": {"trust": "guest", "vlan": {"trunk": [VID]}},
            "lag0": {"trust": "guest", "vlan": VID},
        },
        "lags": {"lag0": {"members": ["one", "two"], "lacp": "off"}},
        "bindings": bindings,
        **bridge,
    }
    return repr({"bridges": {f"{DPID:016x}": own}})


def dhcp_mac(mac: int) -> str:
    return mac.to_bytes(6, "big").hex(":")


pytestmark = pytest.mark.controller(file())


@pytest.fixture(scope="module")
def switch(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    return controller.connect(vswitchd.add_bridge(dpid=DPID, ports=NAMES))


@pytest.fixture
def bridge(switch: Bridge, controller: Controller) -> Iterator[Bridge]:
    yield switch
    if not switch.connected:
        switch.set_controller(controller.target)
        controller.wait_ready(switch)
    configure(controller, switch, file())


def bindings(bridge: Bridge) -> dict[str, int]:
    """Flows of bindings by their match, and how many frames each has met."""
    flows = (flow for flow in bridge.flows() if flow.table == TableId.GUARD)
    return {flow.match: flow.packets for flow in flows if "in_port" in flow.match}


def configure(controller: Controller, bridge: Bridge, text: str) -> None:
    controller.configure(text)
    reply = controller.api("POST", "/v1/config/reload", force=True)
    assert reply.status == 200, reply.body
    controller.wait_ready(bridge)


def leaves(bridge: Bridge, port: int, frame: bytes, by: int) -> bytes:
    """The frame that leaves by a port when this one arrives; the controller may forward it."""
    bridge.forget_sent()
    bridge.inject(port, frame)
    (sent,) = wait_for(lambda: bridge.sent(by), f"the frame {frame.hex()}")
    return sent


def check_all(bridge: Bridge) -> None:
    """All that hosts may send passes, and nothing else.

    Duplicate address detection the controller forwards, if there is one.
    """
    lost, passed = [], []
    for port, one in HOSTS.items():
        for name, frame in claims.legitimate(one):
            if name.startswith("DAD"):
                leaves(bridge, PLACES[port], frame, UPLINK)
            elif UPLINK not in bridge.deliver(PLACES[port], frame):
                lost.append((port, name))
        for name, frame in claims.attacks(one):
            # The controller also sends frames: it asks which host has a refused address.
            out = bridge.deliver(PLACES[port], frame).values()
            if any(frame[18:] in left for sent in out for left in sent):
                passed.append((port, name))
    assert (lost, passed) == ([], [])


@pytest.mark.parametrize("limit", [1, 0, 2])
def test_hosts_send_what_they_may_and_nothing_else(bridge: Bridge, limit: int) -> None:
    """However many VLAN tags Open vSwitch reads; 0 means two."""
    bridge.switch.vsctl("set", "Open_vSwitch", ".", f"other_config:vlan-limit={limit}")
    try:
        check_all(bridge)
    finally:
        bridge.switch.vsctl("remove", "Open_vSwitch", ".", "other_config", "vlan-limit")


def test_ports_without_trust_are_not_restricted(bridge: Bridge) -> None:
    stranger = host(77)
    for name, frame in (*claims.legitimate(stranger), *claims.attacks(stranger)):
        assert leaves(bridge, UPLINK, frame, PLAIN) == frame, name


DHCP = {"DHCP": dhcp.discover, "DHCPv6": lambda mac, vid: dhcp.request6(mac, vid=vid)}


@pytest.mark.parametrize("port", HOSTS)
def test_what_the_controller_holds_goes_on_as_if_the_switch_had_forwarded_it(
    bridge: Bridge, port: str
) -> None:
    """By ports of any kind: with the tag of its VLAN, and to other members' ports of that."""
    one = HOSTS[port]
    for name, make in DHCP.items():
        sent = make(one.mac, vid=one.vid)
        vlan = 0 if port == "plain" else VID
        assert leaves(bridge, PLACES[port], sent, UPLINK) == make(one.mac, vid=vlan), name
        reached = {number for number in (PLAIN, ACCESS, TRUNK, ONE, TWO) if bridge.sent(number)}
        wanted = set() if port == "plain" else set(HOSTS) - {port}
        assert {NAMES_OF[number] for number in reached} == wanted, name
        assert len(reached) == len(wanted), name


def test_bindings_work_while_there_is_no_controller(bridge: Bridge, controller: Controller) -> None:
    bridge.disconnect()
    wait_for(lambda: not bridge.connected, "the connection to end", tick=bridge.switch.step)
    bridge.switch.warp(5)
    check_all(bridge)
    # A host without an address may ask for one, and one that asks may not forge its source.
    for port, one in HOSTS.items():
        stranger = replace(one, mac=one.mac | 0x8000)
        for name, make in DHCP.items():
            frame = make(stranger.mac, vid=one.vid)
            passes = UPLINK in bridge.deliver(PLACES[port], frame)
            assert passes == (name == "DHCP"), (port, name)  # DHCPv6 has a source
        renewal = dhcp.renewal(one.mac, one.four, vid=one.vid)
        assert UPLINK in bridge.deliver(PLACES[port], renewal), port
        forged = dhcp.renewal(one.mac, claims.OTHER4, vid=one.vid)
        assert not bridge.deliver(PLACES[port], forged), port
        free = dhcp.dad(one.mac, "2001:db8::beef", vid=one.vid).frame
        assert UPLINK in bridge.deliver(PLACES[port], free), port


def test_new_claims_may_be_held_while_there_is_no_controller(
    bridge: Bridge, controller: Controller
) -> None:
    configure(controller, bridge, file(first_hop={"when_away": "hold"}))
    bridge.disconnect()
    wait_for(lambda: not bridge.connected, "the connection to end", tick=bridge.switch.step)
    bridge.switch.warp(5)
    check_all(bridge)
    for port, one in HOSTS.items():
        for frame in (
            dhcp.discover(one.mac, vid=one.vid),
            dhcp.renewal(one.mac, one.four, vid=one.vid),
            dhcp.dad(one.mac, "2001:db8::beef", vid=one.vid).frame,
        ):
            assert not bridge.deliver(PLACES[port], frame), port
    # Servers still reach the hosts of other ports.
    assert PLAIN in bridge.deliver(UPLINK, dhcp.offer(0x02_0F_00_00_00_55, "10.0.0.55"))


@pytest.mark.parametrize("end", ["restart", "disconnect"])
def test_a_switch_that_comes_back_is_in_line_as_it_is(
    bridge: Bridge, controller: Controller, end: str
) -> None:
    for port, one in HOSTS.items():
        assert UPLINK in bridge.deliver(PLACES[port], one.ipv4())
        assert UPLINK in bridge.deliver(PLACES[port], one.ipv6())
    bridge.switch.settle()
    before = bindings(bridge)
    assert len(before) == len(HOSTS) * 4
    assert sum(map(bool, before.values())) >= len(HOSTS) * 2
    if end == "restart":
        controller.restart()
    else:
        bridge.disconnect()
        wait_for(lambda: not bridge.connected, "the connection to end", tick=bridge.switch.step)
        bridge.set_controller(controller.target)
    controller.wait_ready(bridge)
    after = bindings(bridge)
    assert all(after[match] >= frames for match, frames in before.items())
    assert after.keys() == before.keys()
    check_all(bridge)


def test_a_port_that_only_reports_forwards_what_it_reports(
    bridge: Bridge, controller: Controller
) -> None:
    configure(controller, bridge, file(ports={"plain": {"trust": "learn"}}))
    one = HOSTS["plain"]
    for name, frame in (*claims.legitimate(one), *claims.attacks(one)):
        assert leaves(bridge, PLAIN, frame, UPLINK) == frame, name


@pytest.mark.parametrize("trust", ["guest", "none"])
def test_a_port_admits_the_ethertypes_of_its_list(
    bridge: Bridge, controller: Controller, trust: str
) -> None:
    """Behind a tag as well, and also on a port where nothing else is checked."""
    own = {"trust": trust, "first_hop": {"ethertypes": ["ip", "pppoe", 0x88B5]}}
    vlans: dict[str, object] = {"plain": "transparent", "access": VID, "trunk": {"trunk": [VID]}}
    ports = {port: own | {"vlan": vlan} for port, vlan in vlans.items()}
    configure(controller, bridge, file(ports=ports))
    for port in ports:
        one, at = HOSTS[port], PLACES[port]
        for name, frame in claims.legitimate(one):
            assert name.startswith("DAD") or UPLINK in bridge.deliver(at, frame), (port, name)
        for kind, passes in ((0x8863, True), (0x8864, True), (0x88B5, True), (0x88B6, False)):
            frame = one.frame(kind, b"x" * 46, claims.BROADCAST)
            assert (UPLINK in bridge.deliver(at, frame)) == passes, (port, kind)
            if port != "trunk":
                tagged = claims.tagged(frame, 0)
                assert (UPLINK in bridge.deliver(at, tagged)) == passes, (port, kind, "VID 0")

    def reported() -> set[str]:
        bridge.switch.warp(1)  # the meter of samples has room again
        for port in ports:
            frame = HOSTS[port].frame(0x88B6, b"x" * 46, claims.BROADCAST)
            bridge.inject(PLACES[port], frame)
        refused = controller.get(f"/v1/bridges/{DPID:016x}/bindings/refused")["refused"]
        return {each["port"]["name"] for each in refused if each["ethertype"] == "0x88b6"}

    wait_for(lambda: reported() == set(ports), "the claim of each port")


def test_flows_of_a_host_follow_its_bindings(bridge: Bridge, controller: Controller) -> None:
    one = HOSTS["plain"]
    configure(controller, bridge, file(bindings=[]))
    assert bindings(bridge) == {}
    assert not bridge.deliver(PLAIN, one.ipv4())
    assert not bridge.deliver(PLAIN, one.frame(0x8035, b"x" * 46, claims.BROADCAST))
    configure(controller, bridge, file())
    assert len(bindings(bridge)) == len(HOSTS) * 4
    assert UPLINK in bridge.deliver(PLAIN, one.ipv4())


def test_without_guarded_ports_nothing_of_it_is_there(
    bridge: Bridge, controller: Controller
) -> None:
    configure(controller, bridge, file(ports={}, lags={}, bindings=[]))
    tables = {TableId.TYPES, TableId.CLAIMS, TableId.TRAPS, TableId.AWAY}
    tables |= {TableId.GUARD, TableId.REFUSED, TableId.CHECKED}

    def left() -> list[str]:
        flows = bridge.flows()
        return [flow.match for flow in flows if flow.table in tables or "reg5" in flow.actions]

    wait_for(lambda: not left(), "the flows to go")
    assert "normal" in bridge.switch.ofctl("get-frags", bridge.name)


@pytest.mark.parametrize("end", ["controller", "connection", "switch"])
def test_nothing_forged_passes_while_a_switch_comes_back(
    bridge: Bridge, controller: Controller, end: str
) -> None:
    passed = set[tuple[str, str]]()

    def attack() -> None:
        for port, one in HOSTS.items():
            forged = dict(claims.attacks(one))
            bridge.forget_sent()
            interface = bridge.port_name(PLACES[port])
            sent = [frame.hex() for frame in forged.values()]
            bridge.switch.appctl("netdev-dummy/receive", interface, *sent)
            left = [frame for number in bridge.ports for frame in bridge.sent(number)]
            for name, frame in forged.items():
                if any(frame[18:] in each for each in left):
                    passed.add((port, name))
        bridge.switch.step()

    if end == "controller":
        controller.kill9()
        attack()
        controller.start()
    elif end == "connection":
        bridge.disconnect()
        wait_for(lambda: not bridge.connected, "the connection to end", tick=attack)
        bridge.set_controller(controller.target)
    else:
        bridge.switch.restart_switch()

    def ready() -> bool:
        reply = controller.api("GET", f"/v1/bridges/{bridge.dpid16}")
        in_line = reply.status == 200 and bool(reply.body["connected"] and reply.body["in_line"])
        return in_line and bridge.connected and bool(bindings(bridge))

    wait_for(ready, "the switch to be in line", tick=attack, seconds=60)
    attack()
    assert passed == set()
    for port, one in HOSTS.items():
        assert UPLINK in bridge.deliver(PLACES[port], one.ipv4())


def test_a_name_in_a_dhcp_request_is_shown_with_its_source_below_a_label(
    bridge: Bridge, controller: Controller
) -> None:
    mac = dhcp_mac(HOSTS["plain"].mac)

    def names() -> list[tuple[str, str]]:
        (shown,) = controller.get("/v1/hosts", q=mac)["hosts"] or [{"names": []}]
        return [(name["name"], name["source"]) for name in shown["names"]]

    request = dhcp.Bootp(mac=HOSTS["plain"].mac, options=((12, b"guest-pc"),))
    bridge.deliver(PLAIN, dhcp.from_client4(request))
    wait_for(lambda: names() == [("guest-pc", "dhcp")], "the name of the host")
    path = f"/v1/hosts/{mac}/label"
    assert controller.api("PUT", path, {"label": "Room 7"}).status == 204
    controller.restart()
    assert names() == [("Room 7", "label")], "a label outlives the controller"
    assert controller.api("DELETE", path).status == 204
