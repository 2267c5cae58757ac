"""The switch answers neighbour solicitations for bound hosts by itself, and floods all others."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support import dhcp_frames as nd
from tests.support.claims import extension
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

DPID = 0xAC56
PLAIN, ACCESS, LONE, ROUTER, UPLINK, TRUNK, OUTSIDE = range(1, 8)
NAMES = ("plain", "access", "lone", "router", "uplink", "trunk", "outside")
VID, OTHER = 10, 20
BOUND = {"plain": 0, "access": VID, "lone": 0, "router": 0}
ADDRESS = {name: f"2001:db8::a:{number}" for number, name in enumerate(BOUND, 11)}
MAC = {name: 0x020F_0000_0000 + number for number, name in enumerate(BOUND, 11)}
ASKER, ASKER6, NOBODY = 0x020F_0000_0063, "2001:db8::63", "2001:db8::a:99"
GUARDED = {"nd_inspection": True, "router": False}
CONFIG = repr(
    {
        "bridges": {
            f"{DPID:016x}": {
                "ageing_time": 50,  # so that the controller looks at the counters each 5 s
                "stp": {"enabled": False},
                "multicast": {"mcast_snooping": False},
                "vlans": {vid: {"nd_suppress": True} for vid in (0, VID)},
                "ports": {
                    "plain": {"first_hop": GUARDED},
                    "access": {"trust": "guest", "vlan": VID},
                    "lone": {"first_hop": GUARDED, "isolated": True},
                    "router": {"first_hop": {"nd_inspection": True}},
                    "trunk": {"vlan": {"trunk": [VID, OTHER]}},
                    "outside": {"isolated": True},
                },
                "bindings": [
                    {
                        "mac": MAC[name].to_bytes(6, "big").hex(":"),
                        "port": name,
                        "vlan": vid,
                        "address": ADDRESS[name],
                    }
                    for name, vid in BOUND.items()
                ],
            }
        }
    }
)


pytestmark = pytest.mark.controller(CONFIG, speed=5)


@pytest.fixture(scope="module")
def bridge(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    return controller.connect(vswitchd.add_bridge(dpid=DPID, ports=NAMES))


def ask(name: str, vid: int = 0) -> nd.Nd:
    return nd.solicitation(ASKER, ASKER6, ADDRESS[name], vid=vid)


def answer(name: str, vid: int = 0, mac: int | None = None, more: bytes = b"") -> bytes:
    """The advertisement: solicited, without the flags of routers and of overriding."""
    holder = MAC[name] if mac is None else mac
    body = struct.pack("!I", 0x4000_0000) + nd.ip(ADDRESS[name]) + nd.link_layer(2, holder) + more
    source = ADDRESS[name]
    made = nd.Nd(kind=136, mac=holder, source=source, dest=ASKER6, body=body, vid=vid)
    return ASKER.to_bytes(6, "big") + made.frame[6:]


@pytest.mark.parametrize(
    ("port", "name", "vid"), [(UPLINK, "plain", 0), (UPLINK, "access", VID), (TRUNK, "access", VID)]
)
def test_the_answer_is_whole_and_no_other_port_has_the_solicitation(
    bridge: Bridge, port: int, name: str, vid: int
) -> None:
    bridge.send(port, nd.solicitation(ASKER, ASKER6, NOBODY, vid=vid).frame)  # known there

    def answered() -> bool:
        return bridge.deliver(port, ask(name, vid).frame) == {port: [answer(name, vid)]}

    wait_for(answered, f"the answer for {name} by port {port}")


def test_an_option_before_the_link_layer_address_or_behind_it(bridge: Bridge) -> None:
    nonce = bytes((14, 1)) + b"nonce!"
    head, option = ask("plain").body[:20], ask("plain").body[20:]
    wait_for(lambda: bridge.send(UPLINK, ask("plain").frame) == set(), "answers")
    behind = ask("plain").but(body=head + option + nonce).frame
    assert bridge.deliver(UPLINK, behind) == {UPLINK: [answer("plain", more=nonce)]}
    before = ask("plain").but(body=head + nonce + option).frame
    assert bridge.deliver(UPLINK, before) == {UPLINK: [answer("plain", more=option)]}


PLAIN_ASK = ask("plain")
FLOODED = {
    "the address asks for itself": PLAIN_ASK.but(source=ADDRESS["plain"]),
    "not bound": nd.solicitation(ASKER, ASKER6, NOBODY),
    "bound in another VLAN": ask("access"),
    "a port where a router may be": ask("router"),
    "from behind a router": PLAIN_ASK.but(hops=254),
    "no link-layer address": PLAIN_ASK.but(body=PLAIN_ASK.body[:20]),
    "two link-layer addresses": PLAIN_ASK.but(body=PLAIN_ASK.body + nd.link_layer(1, ASKER)),
    "an empty link-layer address": PLAIN_ASK.but(body=PLAIN_ASK.body[:22] + bytes(6)),
    "cut off": PLAIN_ASK.but(body=PLAIN_ASK.body[:12]),
    "an unknown code": PLAIN_ASK.but(code=1),
    "an advertisement": PLAIN_ASK.but(kind=136),
}


@pytest.mark.parametrize("frame", [pytest.param(each, id=name) for name, each in FLOODED.items()])
def test_all_other_solicitations_flood(bridge: Bridge, frame: nd.Nd) -> None:
    sent = bridge.deliver(UPLINK, frame.frame)
    assert {PLAIN, OUTSIDE} <= sent.keys()
    assert all(each == frame.frame for copies in sent.values() for each in copies)


def test_duplicate_address_detection_floods(bridge: Bridge) -> None:
    """By way of the controller, as a trusted host's claim is stronger than that of a guest."""
    frame = nd.dad(ASKER, ADDRESS["plain"]).frame
    bridge.forget_sent()
    bridge.inject(UPLINK, frame)
    heard: dict[int, list[bytes]] = {port: [] for port in bridge.ports}

    def flooded() -> bool:
        for port in bridge.ports:
            heard[port] += bridge.sent(port)
        return all(heard[port] for port in (PLAIN, LONE, OUTSIDE))

    wait_for(flooded, "it to flood", tick=bridge.switch.step)
    assert not heard[UPLINK]
    assert all(each == frame for copies in heard.values() for each in copies), heard


def test_a_probe_of_one_host_goes_to_that_host(bridge: Bridge) -> None:
    """Neighbour unreachability detection (RFC 4861 7.3.3)."""
    bridge.send(PLAIN, nd.advertisement(MAC["plain"], ADDRESS["plain"]).frame)
    frame = PLAIN_ASK.but(dest=ADDRESS["plain"]).frame
    frame = MAC["plain"].to_bytes(6, "big") + frame[6:]
    wait_for(lambda: bridge.deliver(UPLINK, frame) == {PLAIN: [frame]}, "it to arrive")


def test_an_extension_header_is_no_way_around(bridge: Bridge) -> None:
    """The answer has the header, too, and is addressed to the one who has sent it."""
    frame = PLAIN_ASK.but(chain=extension(58), first=60).frame
    for port, frames in bridge.deliver(UPLINK, frame).items():
        assert port == UPLINK
        assert all(each[38:54] == nd.ip(ASKER6) for each in frames)


def test_no_answer_for_a_host_that_the_asker_may_not_reach(bridge: Bridge) -> None:
    source = "2001:db8::65"
    sent = bridge.send(OUTSIDE, nd.solicitation(0x020F_0000_0065, source, ADDRESS["lone"]).frame)
    assert UPLINK in sent
    assert not {LONE, OUTSIDE} & sent


def test_no_answer_for_a_host_whose_port_is_down(bridge: Bridge) -> None:
    bridge.link(PLAIN, up=False)
    try:
        wait_for(lambda: OUTSIDE in bridge.send(UPLINK, PLAIN_ASK.frame), "it to flood")
    finally:
        bridge.link(PLAIN, up=True)
    wait_for(lambda: OUTSIDE not in bridge.send(UPLINK, PLAIN_ASK.frame), "answers again")


def test_an_address_that_moves_is_answered_for_its_new_host_and_one_without_binding_is_not(
    bridge: Bridge, controller: Controller
) -> None:
    path, body = f"/v1/bridges/{bridge.dpid16}/bindings", {"address": ADDRESS["plain"]}

    @contextmanager
    def binding(port: str, mac: int) -> Iterator[None]:
        host = {"port": port, "mac": mac.to_bytes(6, "big").hex(":")}
        assert controller.api("POST", path, body | host).status in (200, 201)
        yield
        assert controller.api("DELETE", f"{path}/0/{ADDRESS['plain']}").status == 204

    assert controller.api("DELETE", f"{path}/0/{ADDRESS['plain']}").status == 204
    assert OUTSIDE in bridge.send(UPLINK, PLAIN_ASK.frame)
    new = 0x020F_0000_0077
    with binding("lone", new):
        assert bridge.deliver(UPLINK, PLAIN_ASK.frame) == {UPLINK: [answer("plain", mac=new)]}
    assert OUTSIDE in bridge.send(UPLINK, PLAIN_ASK.frame)
    assert controller.api("POST", path, body | {"port": "plain", "mac": _text("plain")}).status
    assert bridge.deliver(UPLINK, PLAIN_ASK.frame) == {UPLINK: [answer("plain")]}


def _text(name: str) -> str:
    return MAC[name].to_bytes(6, "big").hex(":")


def test_answers_are_counted(bridge: Bridge, controller: Controller) -> None:
    def answered() -> float:
        lines = controller.get("/metrics").splitlines()
        found = [line for line in lines if line.startswith("ofapp_nd_answered_total{")]
        return float(found[0].split()[-1]) if found else 0.0

    before = answered()
    for _ in range(50):
        bridge.inject(UPLINK, PLAIN_ASK.frame)
    bridge.switch.settle()
    wait_for(lambda: answered() >= before + 50, "them to be counted", seconds=30)
