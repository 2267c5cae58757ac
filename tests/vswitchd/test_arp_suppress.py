"""The switch answers ARP requests for bound hosts by itself, and floods all others."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

DPID = 0xAC55
PLAIN, ACCESS, LONE, UPLINK, TRUNK, OUTSIDE = range(1, 7)
NAMES = ("plain", "access", "lone", "uplink", "trunk", "outside")
VID, OTHER = 10, 20
BOUND = {"plain": 0, "access": VID, "lone": 0}
ADDRESS = {name: f"10.0.0.{number}" for number, name in enumerate(BOUND, 11)}
MAC = {name: f"02:0f:00:00:00:{number:02x}" for number, name in enumerate(BOUND, 11)}
ASKER, ASKER4 = "02:0f:00:00:00:63", "10.0.0.99"
CONFIG = repr(
    {
        "bridges": {
            f"{DPID:016x}": {
                "ageing_time": 50,  # so that the controller looks at the counters each 5 s
                "stp": {"enabled": False},
                "multicast": {"mcast_snooping": False},
                "vlans": {0: {"arp_suppress": True}, VID: {"arp_suppress": True}},
                "ports": {
                    "plain": {"first_hop": {"arp_inspection": True}},
                    "access": {"trust": "guest", "vlan": VID},
                    "lone": {"first_hop": {"arp_inspection": True}, "isolated": True},
                    "trunk": {"vlan": {"trunk": [VID, OTHER]}},
                    "outside": {"isolated": True},
                },
                "bindings": [
                    {"mac": MAC[name], "port": name, "vlan": vid, "address": ADDRESS[name]}
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


def request(target: str, sender: str = ASKER4, mac: str = ASKER, vid: int | None = None) -> bytes:
    plain = frames.arp_request(mac, sender, target)
    tag = b"" if vid is None else b"\x81\x00" + vid.to_bytes(2, "big")
    return plain[:12] + tag + plain[12:]


def answer(name: str, vid: int | None = None) -> bytes:
    """The frame that the host would answer."""
    asker, holder = (bytes.fromhex(mac.replace(":", "")) for mac in (ASKER, MAC[name]))
    tag = b"" if vid is None else b"\x81\x00" + vid.to_bytes(2, "big")
    fixed = b"\x08\x06\x00\x01\x08\x00\x06\x04\x00\x02"
    addresses = holder + IPv4Address(ADDRESS[name]).packed + asker + IPv4Address(ASKER4).packed
    return asker + holder + tag + fixed + addresses


def test_the_answer_is_the_hosts_and_no_other_port_has_the_request(bridge: Bridge) -> None:
    for port, name, vid in (
        (UPLINK, "plain", None),
        (UPLINK, "access", VID),
        (TRUNK, "access", VID),
    ):
        bridge.send(port, request("10.0.0.200", vid=vid))  # so that it is known there

        def answered(port: int = port, name: str = name, vid: int | None = vid) -> bool:
            sent = bridge.deliver(port, request(ADDRESS[name], vid=vid))
            return [*sent] == [port] and sent[port][0].startswith(answer(name, vid))

        wait_for(answered, f"the answer for {name} by port {port}")


def test_an_unknown_asker_is_answered_all_the_same(bridge: Bridge) -> None:
    mac, sender = "02:0f:00:00:00:64", "10.0.0.100"
    sent = bridge.deliver(UPLINK, request(ADDRESS["plain"], sender, mac))
    (reply, *_) = sent[UPLINK]
    assert reply[20:22] == b"\0\x02"
    assert reply[22:32] == answer("plain")[22:32]


@pytest.mark.parametrize(
    ("port", "frame"),
    [
        pytest.param(UPLINK, request(ADDRESS["plain"], "0.0.0.0"), id="a probe"),
        pytest.param(UPLINK, request(ADDRESS["plain"], ADDRESS["plain"]), id="gratuitous"),
        pytest.param(UPLINK, request("10.0.0.200"), id="not bound"),
        pytest.param(UPLINK, request(ADDRESS["access"]), id="bound in another VLAN"),
        pytest.param(
            PLAIN,
            request(ADDRESS["plain"], ADDRESS["plain"], MAC["plain"]),
            id="an announcement of the host itself",
        ),
    ],
)
def test_all_other_requests_flood(bridge: Bridge, port: int, frame: bytes) -> None:
    sent = bridge.deliver(port, frame)
    assert {PLAIN, UPLINK, OUTSIDE} - {port} <= sent.keys()
    assert all(each == frame for copies in sent.values() for each in copies)


def test_no_answer_for_a_host_that_the_asker_may_not_reach(bridge: Bridge) -> None:
    frame = request(ADDRESS["lone"], mac="02:0f:00:00:00:65", sender="10.0.0.101")
    sent = bridge.deliver(OUTSIDE, frame)
    assert UPLINK in sent
    assert not {LONE, OUTSIDE} & sent.keys()


def test_no_answer_for_a_host_whose_port_is_down(bridge: Bridge) -> None:
    frame = request(ADDRESS["plain"])
    bridge.link(PLAIN, up=False)
    try:
        wait_for(lambda: OUTSIDE in bridge.send(UPLINK, frame), "the request to flood")
    finally:
        bridge.link(PLAIN, up=True)
    wait_for(lambda: OUTSIDE not in bridge.send(UPLINK, frame), "the switch to answer again")


def test_answers_are_counted(bridge: Bridge, controller: Controller) -> None:
    def answered() -> float:
        lines = controller.get("/metrics").splitlines()
        found = [line for line in lines if line.startswith("ofapp_arp_answered_total{")]
        return float(found[0].split()[-1]) if found else 0.0

    before = answered()
    for _ in range(50):
        bridge.inject(UPLINK, request(ADDRESS["plain"]))
    bridge.switch.settle()
    wait_for(lambda: answered() >= before + 50, "them to be counted", seconds=30)
