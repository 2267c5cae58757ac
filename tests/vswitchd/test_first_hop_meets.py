"""Guarded ports and the other features of a port, on a real switch.

Each test has a bridge with two guests, an uplink and further ports, and one feature beside
first-hop security.  Frames that a guest may send are treated as the other feature has it, also
those of DHCP, which the controller forwards; forged frames are dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from ofapp.bridge.lag.lacp import Information, State, System
from ofapp.bridge.lag.lacp.slow import encode_lacpdu
from ofapp.bridge.lldp.tlv import Type, tlv
from ofapp.openflow.pipeline.away import PRESENT
from tests.support import claims, frames
from tests.support import dhcp_frames as dhcp
from tests.support import multicast_frames as mcframes
from tests.support.claims import Host
from tests.support.controller import Controller
from tests.support.hosts import wait_learned
from tests.support.multicast_entries import QUICK, entries, wait_entry, wait_restricted
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for
from tests.unit.bridge.lldp.lab import pdu

G1, G2, UP, FOURTH, FIFTH = 1, 2, 3, 4, 5
NAMES = {G1: "g1", G2: "g2", UP: "up", FOURTH: "fourth", FIFTH: "fifth"}


def host(number: int, vid: int = 0) -> Host:
    mac = int(frames.host(number).replace(":", ""), 16)
    return Host(mac, f"10.0.0.{number}", f"2001:db8::{number:x}", vid)


ONE, SECOND, TWO, STRANGER = host(1), host(2), host(3), host(9)
"""Two hosts of the first guest, the host of the other, and one without bindings."""


def mac_of(one: Host) -> str:
    return one.mac.to_bytes(6, "big").hex(":")


def bindings(port: str, *hosts: Host, vlan: int = 0) -> list[dict[str, Any]]:
    return [
        {"mac": mac_of(one), "port": port, "address": address} | ({"vlan": vlan} if vlan else {})
        for one in hosts
        for address in (one.four, one.six)
    ]


BOUND = bindings("g1", ONE, SECOND) + bindings("g2", TWO)
GUESTS: dict[str, dict[str, Any]] = {"g1": {"trust": "guest"}, "g2": {"trust": "guest"}}


def guests(g1: dict[str, Any], g2: dict[str, Any] | None = None, **other: Any) -> dict[str, Any]:
    """Both guests' ports with more parameters, and other ports."""
    return {"g1": GUESTS["g1"] | g1, "g2": GUESTS["g2"] | (g2 or {}), **other}


NO_SNOOPING = {"mcast_snooping": False}
QUICK_TREE = {"enabled": True, "hello_time": 1, "max_age": 6, "forward_delay": 4}
LIST = [
    {"name": "no-dhcp", "match": {"udp_dst": 67}, "action": "drop"},
    {"name": "no-telnet", "match": {"tcp_dst": 23}, "action": "drop"},
    {"name": "rest", "action": "allow"},
]
BRIDGES: dict[str, dict[str, Any]] = {
    "acl": {"acls": {"few": LIST}, "ports": guests({"acl": "few"})},
    "isolated": {"ports": guests({"isolated": True}, {"isolated": True})},
    "mirror": {
        "mirrors": {
            "in": {"to": "fourth", "ingress": ["g1"]},
            "out": {"to": "fifth", "egress": ["up"]},
        },
    },
    "multicast": {
        "multicast": QUICK | {"mcast_querier": True, "mcast_querier_address4": "10.0.0.240"},
        "bindings": [
            *BOUND,
            {"mac": mac_of(ONE), "port": "g1", "address": mcframes.link_local(1)},
        ],
    },
    "querier": {
        "multicast": QUICK | {"mcast_querier": True, "mcast_querier_address4": "10.0.0.240"},
        "bindings": [
            *BOUND,
            *(
                {"mac": mac_of(one), "port": name, "address": mcframes.link_local(number)}
                for name, one, number in (("g1", ONE, 1), ("g2", TWO, 3))
            ),
        ],
    },
    "locked": {"ports": guests({"locked": True})},
    "sticky": {"ports": GUESTS | {"fourth": {"sticky": True}}},
    "full": {"ports": guests({"fdb_max_learned": 1, "over_limit": "drop"})},
    "static": {},
    "storm": {"ports": guests({"storm": {"broadcast": 10}})},
    "lag": {
        "lags": {"lag0": {"members": ["g1", "g2"], "lacp": "off"}},
        "ports": {"lag0": {"trust": "guest"}},
        "bindings": [],
    },
    "lacp": {
        "lags": {"lag0": {"members": ["g1", "g2"], "lacp": "active"}},
        "ports": {"lag0": {"trust": "guest"}},
        "bindings": [],
    },
    "vlans": {
        "ports": guests(
            {"vlan": {"trunk": [10, 20]}}, {"vlan": 20}, up={"vlan": {"trunk": [10, 20]}}
        ),
        "vlans": {10: {}, 20: {}},
        "bindings": bindings("g1", ONE, vlan=10),
    },
    "guard": {"stp": QUICK_TREE, "ports": GUESTS | {"up": {"stp": {"admin_edge": True}}}},
    "tree": {
        "stp": QUICK_TREE,
        "ports": guests(
            {"stp": {"admin_edge": False, "auto_edge": False}}, up={"stp": {"admin_edge": True}}
        ),
    },
    "lldp": {"lldp": {"enabled": True}},
    "router": {},
    "local": {"bindings": []},
}
DPIDS = {kind: 0xF15600 + number for number, kind in enumerate(BRIDGES)}


def _config() -> str:
    common = {"multicast": NO_SNOOPING, "ports": GUESTS, "bindings": BOUND}
    return repr({"bridges": {f"{DPIDS[kind]:016x}": common | own for kind, own in BRIDGES.items()}})


pytestmark = pytest.mark.controller(_config())


@pytest.fixture
def make(bridge_factory: Callable[..., Bridge]) -> Callable[[str], Bridge]:
    """Makes the connected bridge of that kind."""
    return lambda kind: bridge_factory(ports=NAMES.values(), dpid=DPIDS[kind])


def tcp(one: Host, port: int = 80) -> bytes:
    """A segment to the gateway."""
    return one.ipv4(claims.TCP[:2] + port.to_bytes(2, "big") + claims.TCP[4:])


def discover(one: Host, xid: int = 1) -> bytes:
    return dhcp.discover(one.mac, xid, vid=one.vid)


def comes(bridge: Bridge, port: int, frame: bytes) -> set[int]:
    """The ports that a frame of DHCP leaves by; the controller forwards it, so it is waited for."""
    wait_present(bridge)
    bridge.forget_sent()
    bridge.inject(port, frame)
    out: dict[int, int] = {}

    def left() -> bool:
        for number in bridge.ports:
            out[number] = out.get(number, 0) + bridge.sent(number).count(frame)
        return any(out.values())

    wait_for(left, "the frame that the controller forwards")
    left()
    assert max(out.values()) == 1, out
    return {number for number, count in out.items() if count}


def wait_present(bridge: Bridge, since: float = math.inf) -> None:
    """Wait until the switch has `PRESENT`, renewed in the last *since* seconds.

    The controller renews this flow by its own clock, and the switch's may be faster in a test.
    Without it the switch forwards DHCP as well.
    """
    match = f"cookie={PRESENT.cookie:#x}/-1,table={PRESENT.table:d}"

    def renewed() -> bool:
        flow = bridge.switch.ofctl("dump-flows", bridge.name, match)
        found = re.search(rf"duration=([\d.]+)s.*priority={PRESENT.priority}", flow)
        return found is not None and float(found[1]) < since

    wait_for(renewed, "the controller to renew its presence")


def warp(bridge: Bridge, seconds: int) -> None:
    """Let the switch's time pass, and wait until the controller has renewed `PRESENT` since."""
    bridge.switch.warp(seconds)
    wait_present(bridge, 1)


def held_back(bridge: Bridge, frame: bytes, port: int = G1) -> bool:
    """Whether a frame of DHCP leaves nowhere, while another guest's that comes later does."""
    wait_present(bridge)
    bridge.forget_sent()
    bridge.inject(port, frame)
    bridge.inject(G2, after := discover(TWO, 99))
    seen: list[bytes] = []

    def left() -> bool:
        seen.extend(bridge.sent(UP))
        return after in seen

    wait_for(left, "the other guest's frame")
    return frame not in seen and not any(frame in bridge.sent(out) for out in bridge.ports)


def check_forged(bridge: Bridge, port: int = G1, one: Host = ONE) -> None:
    """What the host may not send leaves nowhere, and nothing of a stranger does."""
    stranger = Host(STRANGER.mac, STRANGER.four, STRANGER.six, one.vid)
    for frame in (
        one.ipv4(source=claims.OTHER4),
        one.ipv6(source=claims.OTHER6),
        dhcp.Arp(one.mac, claims.OTHER4, "10.0.0.1").frame(vid=one.vid),
        one.nd(dhcp.router_advertisement(one.mac)),
        dhcp.offer(claims.VICTIM, "10.0.0.55", vid=one.vid),
        stranger.ipv4(),
    ):
        assert bridge.send(port, frame) == set(), frame.hex()


def is_bound(controller: Controller, bridge: Bridge) -> set[tuple[str, int, str]]:
    """Port, VID and address of all bindings."""
    found = controller.get(f"/v1/bridges/{bridge.dpid16}/bindings")["entries"]
    return {(each["port"]["name"], each["vlan"], each["address"]) for each in found}


def test_an_access_list_decides_what_the_guard_has_passed(make: Callable[[str], Bridge]) -> None:
    bridge = make("acl")
    assert UP in bridge.send(G1, tcp(ONE))
    assert bridge.send(G1, tcp(ONE, 23)) == set()
    assert UP in bridge.send(G2, tcp(TWO, 23))
    packet = dhcp.ipv4(ONE.four, "10.0.0.1", tcp(ONE, 23)[34:54], 6)
    for offset, more, passes in ((0, True, False), (2, False, True)):
        part = ONE.frame(0x0800, claims.fragmented4(packet, offset, more))
        assert (UP in bridge.send(G1, part)) == passes
    other = claims.fragmented4(dhcp.ipv4(ONE.four, "10.0.0.1", claims.TCP, 6), 0, True)
    assert UP in bridge.send(G1, ONE.frame(0x0800, other)), "a list sees ports of first fragments"
    check_forged(bridge)
    assert held_back(bridge, discover(ONE))
    assert UP in comes(bridge, G1, dhcp.request6(ONE.mac))


def test_isolated_guests_do_not_reach_each_other_by_dhcp_either(
    make: Callable[[str], Bridge],
) -> None:
    bridge = make("isolated")
    others = {UP, FOURTH, FIFTH, LOCAL}
    assert bridge.send(G1, ONE.frame(0x8035, bytes(46), claims.BROADCAST)) == others
    assert bridge.send(G2, tcp(TWO)) == others
    assert comes(bridge, G1, discover(ONE)) == others
    assert comes(bridge, G2, dhcp.request6(TWO.mac)) == others
    assert bridge.send(G1, ONE.frame(0x8035, bytes(46), TWO.mac)) == set(), "known now"
    assert comes(bridge, UP, dhcp.ack(TWO.mac, TWO.four)) == {G2}
    check_forged(bridge)


def test_a_mirror_gets_one_copy_of_what_is_held_and_of_what_is_refused(
    make: Callable[[str], Bridge],
) -> None:
    bridge = make("mirror")
    for frame in (discover(ONE), dhcp.request6(ONE.mac)):
        bridge.forget_sent()
        bridge.inject(G1, frame)
        wait_for(lambda: frame in bridge.sent(UP), "the frame")  # noqa: B023
        assert bridge.sent(FOURTH).count(frame) == 1
        assert bridge.sent(FIFTH).count(frame) == 1
    assert bridge.send(G1, tcp(ONE)) == {G2, UP, FOURTH, FIFTH, LOCAL}
    assert bridge.send(G1, ONE.ipv4(source=claims.OTHER4)) == {FOURTH}
    assert bridge.send(G2, TWO.ipv4(source=claims.OTHER4)) == set()


@pytest.mark.parametrize("group", ["239.1.1.1", "ff1e::1:1"], ids=["ipv4", "ipv6"])
def test_reports_of_guests_are_snooped_and_forged_ones_are_not(
    make: Callable[[str], Bridge], group: str
) -> None:
    bridge = make("multicast")
    six = ":" in group
    wait_restricted(bridge, set(), family=6 if six else 4)
    forged = group[:-1] + "7"
    bridge.inject(G2, mcframes.join(1, forged), mcframes.join(9, forged))
    body = bytes((0x22, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0)) + mcframes.packed("239.1.1.7")
    bridge.inject(G1, mcframes.igmp(1, "224.0.0.22", body, source=claims.OTHER4))
    bridge.inject(G1, mcframes.join(1, group))
    wait_entry(bridge, group, {G1})
    assert (0, forged, None) not in entries(bridge)
    assert bridge.send(UP, mcframes.stream(200, group)) == {G1}
    check_forged(bridge)
    assert UP in comes(bridge, G1, discover(ONE))
    bridge.inject(UP, mcframes.join(200, dhcp.ALL_AGENTS))
    wait_entry(bridge, dhcp.ALL_AGENTS, {UP})
    assert comes(bridge, G1, dhcp.request6(ONE.mac)) == {UP}, "where a server has joined"


@pytest.mark.parametrize("family", [4, 6])
def test_a_guest_is_neither_querier_nor_router(
    make: Callable[[str], Bridge], controller: Controller, family: int
) -> None:
    """What a guest sends as a multicast router goes nowhere, and changes nothing."""
    bridge, group = make("querier"), "239.1.1.1" if family == 4 else "ff1e::1:1"
    wait_restricted(bridge, set(), family=family)
    bridge.inject(G2, mcframes.join(3, group))
    wait_entry(bridge, group, {G2})
    # The lowest address of the LAN: it would win the election.
    mine = {"source": "10.0.0.1"} if family == 4 else {}
    lies = {
        "query": mcframes.query(1, family=family, **mine),
        "query of the group": mcframes.query(1, family=family, group=group, **mine),
        "query of a proxy": mcframes.query(1, family=family, source="0.0.0.0" if mine else "::"),
        "PIM": mcframes.pim_hello(1, family=family),
        "MRD": mcframes.router_advertisement(1, family=family),
        "end of MRD": mcframes.router_termination(1, family=family),
    }
    for name, frame in lies.items():
        assert bridge.send(G1, frame) == set(), name
    # What was sent before has been handled when a later report of the port has been.
    bridge.inject(G1, mcframes.join(1, group))
    wait_entry(bridge, group, {G1, G2})
    where = f"/v1/bridges/{bridge.dpid16}/multicast"
    answer = controller.get(where)
    assert "g1" not in repr(answer["vlans"]), answer["vlans"]
    assert bridge.send(UP, mcframes.stream(200, group[:-1] + "9")) == set(), "it has all groups"

    def claimed() -> set[str]:
        events = controller.events("bindings.refused")
        return {each["data"]["claim"] for each in events if each["data"]["port_name"] == "g1"}

    wait_for(lambda: "multicast-router" in claimed(), "the event", tick=bridge.switch.step)


def test_a_locked_port_wants_a_static_entry_also_for_dhcp(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("locked")
    assert controller.put_static(bridge, mac_of(ONE), G1).status == 201
    assert UP in bridge.send(G1, tcp(ONE))
    assert UP in comes(bridge, G1, discover(ONE))
    assert bridge.send(G1, tcp(SECOND)) == set()
    assert held_back(bridge, discover(SECOND))
    check_forged(bridge)


def test_a_sticky_address_stays_where_it_is_also_by_dhcp(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("sticky")
    assert UP in bridge.send(G1, tcp(SECOND))
    assert UP in bridge.send(FOURTH, tcp(ONE))
    wait_learned(controller, bridge, mac_of(ONE), FOURTH)
    wait_for(lambda: not bridge.send(G1, tcp(ONE)), "the address to be held down")
    assert held_back(bridge, discover(ONE))
    assert controller.where(bridge, mac_of(ONE)) == FOURTH
    assert UP in comes(bridge, G1, discover(SECOND))
    check_forged(bridge)


def test_a_full_port_drops_a_further_host_also_its_dhcp(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("full")
    assert UP in comes(bridge, G1, discover(ONE))
    wait_learned(controller, bridge, mac_of(ONE), G1)
    wait_for(lambda: not bridge.send(G1, tcp(SECOND)), "the port to be full")
    assert held_back(bridge, discover(SECOND))
    assert UP in bridge.send(G1, tcp(ONE))
    assert UP in comes(bridge, G1, discover(ONE, 2))
    check_forged(bridge)


def test_a_static_entry_elsewhere_decides_where_frames_go_also_those_of_dhcp(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("static")
    assert controller.put_static(bridge, mac_of(ONE), FOURTH).status == 201
    assert UP in bridge.send(G1, tcp(ONE))
    assert UP in comes(bridge, G1, dhcp.request(ONE.mac, ONE.four))
    assert comes(bridge, UP, dhcp.ack(ONE.mac, ONE.four)) == {FOURTH}
    assert controller.where(bridge, mac_of(ONE)) == FOURTH
    check_forged(bridge)


def test_dhcp_counts_as_broadcast_in_storm_control(make: Callable[[str], Bridge]) -> None:
    bridge = make("storm")
    warp(bridge, 2)
    bridge.forget_sent()
    bridge.inject(G1, *[discover(ONE, xid) for xid in range(30)])  # the clock stands
    seen: list[bytes] = []

    def left() -> bool:
        seen.extend(bridge.sent(UP))
        return len(seen) >= 10

    wait_for(left, "the frames within the rate")
    assert comes(bridge, G2, discover(TWO)) >= {UP}
    assert len(seen) == 10
    broadcast = ONE.frame(0x8035, bytes(46), claims.BROADCAST)
    assert bridge.send(G1, broadcast) == set(), "the rate is used up"
    check_forged(bridge)
    warp(bridge, 2)
    assert UP in bridge.send(G1, broadcast)


def test_an_aggregation_has_one_binding_for_all_its_members(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("lag")
    for member in (G1, G2):
        assert bridge.send(member, tcp(ONE)) == set()
    assert comes(bridge, G1, dhcp.request(ONE.mac, ONE.four)) >= {UP}
    (member,) = comes(bridge, UP, dhcp.ack(ONE.mac, ONE.four))
    assert member in (G1, G2)
    assert is_bound(controller, bridge) == {("lag0", 0, ONE.four)}
    for member in (G1, G2):
        assert UP in bridge.send(member, tcp(ONE))
        check_forged(bridge, member)


def test_lacpdus_of_a_guest_are_not_checked(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("lacp")
    partner = Information(System(0x8000, STRANGER.mac), 7, 0x8000, 1, State(0x3D))
    frame = encode_lacpdu(partner, partner, STRANGER.mac)

    def member() -> Any:
        (lag,) = controller.get(f"/v1/bridges/{bridge.dpid16}/lags")["lags"]
        return next(each for each in lag["members"] if each["name"] == "g1")

    assert bridge.send(G1, frame) == set()
    wait_for(lambda: mac_of(STRANGER) in repr(member()), f"the partner: {member()}")


def test_a_binding_holds_in_its_vlan_alone(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("vlans")
    ten, twenty = host(1, 10), host(1, 20)
    assert UP in bridge.send(G1, tcp(ten))
    for frame in (tcp(twenty), tcp(ONE), dhcp.Arp(ONE.mac, ONE.four, "10.0.0.1").frame(vid=20)):
        assert bridge.deliver(G1, frame) == {}
    for kind in (0x8100, 0x88A8):
        for inner in (tcp(ten), tcp(ONE)):
            assert bridge.deliver(G1, claims.tagged(claims.tagged(inner, 20), 10, kind)) == {}
    check_forged(bridge, G1, ten)
    asked = dhcp.request(ONE.mac, "10.0.0.21", vid=20)
    bridge.forget_sent()
    bridge.inject(G1, asked)
    wait_for(lambda: asked in bridge.sent(UP), "the request in its VLAN")
    assert dhcp.request(ONE.mac, "10.0.0.21") in bridge.sent(G2), "an access port of that VLAN"
    answer = dhcp.ack(ONE.mac, "10.0.0.21", vid=20)
    assert comes(bridge, UP, answer) == {G1}
    assert ("g1", 20, "10.0.0.21") in is_bound(controller, bridge)
    renewed = Host(ONE.mac, "10.0.0.21", ONE.six, 20)
    assert UP in bridge.send(G1, tcp(renewed))
    assert bridge.deliver(G1, tcp(Host(ONE.mac, "10.0.0.21", ONE.six, 10))) == {}


def test_bpdu_guard_closes_a_guest_for_dhcp_too(make: Callable[[str], Bridge]) -> None:
    bridge = make("guard")
    tick = bridge.switch.in_pace()
    wait_for(lambda: UP in bridge.send(G1, tcp(ONE)), "the port to open", tick=tick)
    assert UP in comes(bridge, G1, discover(ONE))
    check_forged(bridge)

    def closed() -> bool:
        bridge.inject(G1, frames.bpdu(mac_of(STRANGER)))
        return not bridge.send(G1, tcp(ONE))

    wait_for(closed, "BPDU guard", tick=tick)
    assert held_back(bridge, discover(ONE, 2))


def test_a_guest_that_spanning_tree_has_not_opened_yet_gets_no_lease(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("tree")
    tick = bridge.switch.in_pace()

    def state() -> Any:
        ports = controller.get(f"/v1/bridges/{bridge.dpid16}/ports")["ports"]
        return next(port["state"] for port in ports if port["name"] == "g1")

    for closed in ("discarding", "learning"):
        wait_for(lambda: state() == closed, closed, tick=tick, seconds=20)  # noqa: B023
        assert bridge.send(G1, tcp(ONE)) == set()
        assert held_back(bridge, discover(ONE)), closed
        check_forged(bridge)
        assert state() == closed
    wait_for(lambda: state() == "forwarding", "the port to open", tick=tick, seconds=20)
    wait_for(lambda: UP in bridge.send(G1, tcp(ONE)), "its frames", tick=tick)
    assert UP in comes(bridge, G1, discover(ONE, 2))
    check_forged(bridge)


def test_lldp_of_a_guest_is_heard_and_goes_nowhere(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("lldp")

    def neighbours() -> Any:
        ports = controller.get(f"/v1/bridges/{bridge.dpid16}/lldp")["ports"]
        return next(port["neighbours"] for port in ports if port["name"] == "g1")

    assert bridge.send(G1, pdu(tlv(Type.SYSTEM_NAME, b"guest"))) == set()
    wait_for(neighbours, "the neighbour", tick=bridge.switch.step)
    assert neighbours()[0]["system_name"] == "guest"
    assert UP in bridge.send(G1, tcp(ONE))
    assert UP in comes(bridge, G1, discover(ONE))
    check_forged(bridge)


def test_a_dhcp_server_on_the_host_itself_makes_bindings(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("local")
    assert bridge.send(G1, tcp(ONE)) == set()
    assert LOCAL in comes(bridge, G1, discover(ONE))
    assert LOCAL in comes(bridge, G1, dhcp.request(ONE.mac, ONE.four))
    assert comes(bridge, LOCAL, dhcp.ack(ONE.mac, ONE.four)) == {G1}
    assert is_bound(controller, bridge) == {("g1", 0, ONE.four)}
    assert LOCAL in bridge.send(G1, tcp(ONE))
    check_forged(bridge)
    assert bridge.send(G2, tcp(ONE)) == set()


@pytest.mark.parametrize("by", ["detection", "announcement", "advertisement"])
def test_a_router_gets_its_address_back_from_a_guest(
    make: Callable[[str], Bridge], controller: Controller, by: str
) -> None:
    """The guest has taken it while the router was down, and defends it."""
    bridge, taken = make("router"), f"fe80::{len(by):x}"
    tick = bridge.switch.in_pace()  # faster, and the switch takes the controller for absent

    def owners() -> set[str]:
        return {port for port, _, address in is_bound(controller, bridge) if address == taken}

    bridge.inject(G1, ONE.nd(dhcp.dad(ONE.mac, taken)))
    wait_for(lambda: owners() == {"g1"}, "the guest's binding", tick=tick)
    defends = ONE.nd(dhcp.advertisement(ONE.mac, taken))
    assert UP in bridge.send(G1, defends)
    router = 0x02_0F_00_00_00_F0
    frame = {
        "detection": dhcp.dad(router, taken),
        "announcement": dhcp.advertisement(router, taken),
        "advertisement": dhcp.router_advertisement(router).but(source=taken),
    }[by].frame
    bridge.forget_sent()
    bridge.inject(UP, frame)
    wait_for(lambda: frame in bridge.sent(G1), "the router's frame", tick=tick)
    if by != "advertisement":  # of which the switch sends a copy to the controller
        bridge.switch.settle()
        assert bridge.send(G1, defends) == set(), "the guest still has it"
    wait_for(lambda: not owners(), "the binding to go", tick=tick)
    assert bridge.send(G1, defends) == set()


def test_claims_of_trusted_hosts_pass_while_no_controller_is_there(
    make: Callable[[str], Bridge],
) -> None:
    bridge = make("router")
    bridge.disconnect()
    wait_for(lambda: not bridge.connected, "the connection to end", tick=bridge.switch.step)
    bridge.switch.warp(5)
    router = 0x02_0F_00_00_00_F0
    for frame in (dhcp.dad(router, "fe80::1").frame, dhcp.advertisement(router, "fe80::1").frame):
        assert G1 in bridge.send(UP, frame)
