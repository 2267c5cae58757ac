"""A second VLAN tag means the same however many tags Open vSwitch reads (`vlan-limit`).

It reads one by default.  OVN sets the limit to 0, which means two, and guides for 802.1ad set 2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest

from ofapp.host_setup.ovsdb import observe_switch
from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.multicast_entries import hear_querier, wait_entry
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd.ring import Ring

LIMITS = (1, 0, 2)
VLANS, PLAIN, LISTS = 0x711, 0x712, 0x713
ACCESS, TRUNK, NATIVE = 1, 3, 4
WEB, NO_DHCP, NO_TAGS, BY_MAC = 1, 2, 3, 4
"""Trunks with access lists: what has an Ethernet type passes, is dropped, passes unless it has a
second tag; and one that looks at addresses alone."""
OUT = 5
CONFIG = f"""
defaults: {{mac_move: {{moves: 0}}}}
bridges:
  "{VLANS:016x}":
    ports:
      1: {{vlan: 10}}
      2: {{vlan: 10}}
      3: {{vlan: {{trunk: [10, 20]}}}}
      4: {{vlan: {{trunk: all, native: 10}}}}
      5: {{vlan: 20}}
  "{LISTS:016x}":
    acls:
      web: [{{name: web, match: {{tcp_dst: 80}}, action: allow}}]
      no-dhcp:
      - {{name: dhcp, match: {{udp_src: 67}}, action: drop}}
      - {{name: rest, match: {{}}, action: allow}}
      no-tags:
      - {{name: c-tags, match: {{eth_type: 0x8100}}, action: drop}}
      - {{name: s-tags, match: {{eth_type: 0x88a8}}, action: drop}}
      - {{name: rest, match: {{}}, action: allow}}
      by-mac: [{{name: one, match: {{eth_src: "{frames.host(1)}"}}, action: allow}}]
    ports:
      1: {{vlan: {{trunk: [10, 20]}}, acl: web}}
      2: {{vlan: {{trunk: [10, 20]}}, acl: no-dhcp}}
      3: {{vlan: {{trunk: [10, 20]}}, acl: no-tags}}
      4: {{vlan: {{trunk: [10, 20]}}, acl: by-mac}}
      5: {{vlan: {{trunk: [10, 20]}}}}
"""

C, S = 0x8100, 0x88A8
ONE = [((kind, tci),) for kind, tci in product((C, S), (0, 0x6000, 10, 20))]
TWO = [
    ((one, outer), (two, inner))
    for one, two in product((C, S), repeat=2)
    for outer, inner in ((0, 20), (0, 10), (0x6000, 0), (10, 20), (10, 0), (20, 10))
]
THREE = [((C, 10), (C, 20), (C, 30)), ((C, 0), (C, 20), (C, 30)), ((S, 0), (S, 0), (C, 10))]
"""Tags of frames, (type, TCI) each, the outermost first."""


UNKNOWN = frames.host(77)
UDP = struct.pack("!HHHH", 67, 68, 8, 0)
TCP = struct.pack("!HHIIBBHHH", 1234, 80, 1, 0, 0x50, 2, 1024, 0, 0)
PAYLOADS = {
    "arp": frames.arp_request(frames.host(1)),
    "tcp": frames.mac(UNKNOWN) + mcframes.ip4(1, "10.0.0.2", 6, TCP)[6:],
    "dhcp": frames.mac(frames.BROADCAST) + mcframes.ip4(1, "255.255.255.255", 17, UDP)[6:],
    "stream": mcframes.stream(1, "239.1.1.1"),
    "other": frames.ethernet(UNKNOWN, frames.host(1)),
}


pytestmark = pytest.mark.controller(CONFIG, speed=5)


@pytest.fixture
def make(
    vswitchd: VSwitchd, bridge_factory: Callable[..., Bridge]
) -> Iterator[Callable[[int], Bridge]]:
    yield lambda dpid: bridge_factory(dpid=dpid, ports=5)
    set_limit(vswitchd, 1)


def set_limit(switch: VSwitchd, limit: int | str) -> None:
    switch.vsctl("set", "Open_vSwitch", ".", f"other_config:vlan-limit={limit}")


def tagged(frame: bytes, tags: tuple[tuple[int, int], ...]) -> bytes:
    return frame[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + frame[12:]


Results = dict[tuple[int, str, Any], dict[int, list[bytes]]]


def results(bridge: Bridge, ports: tuple[int, ...], *, limit: int) -> Results:
    """What becomes of each frame at each port: what leaves by which ports."""
    set_limit(bridge.switch, limit)
    return {
        (port, name, tags): bridge.deliver(port, tagged(frame, tags))
        for port in ports
        for name, frame in PAYLOADS.items()
        for tags in (*ONE, *TWO, *THREE)
    }


@pytest.mark.parametrize(
    ("dpid", "ports"),
    [(VLANS, (ACCESS, TRUNK, NATIVE)), (PLAIN, (1,))],
    ids=["VLANs", "no VLANs"],
)
def test_a_frame_fares_the_same_with_each_limit(
    make: Callable[[int], Bridge], dpid: int, ports: tuple[int, ...]
) -> None:
    bridge = make(dpid)
    one = results(bridge, ports, limit=1)
    assert any(one.values())
    for limit in (0, 2):
        assert results(bridge, ports, limit=limit) == one


def test_the_doctor_sees_the_limit(vswitchd: VSwitchd) -> None:
    vswitchd.vsctl("clear", "Open_vSwitch", ".", "other_config")
    for text, limit in (("", 1), ("0", 0), ("2", 2), ("none", 1)):
        if text:
            set_limit(vswitchd, text)
        seen = observe_switch(f"unix:{vswitchd.dir}/db.sock", kernel_module=False)
        assert (seen.problem, seen.vlan_limit) == (None, limit)
    set_limit(vswitchd, 1)


@pytest.mark.parametrize("limit", LIMITS)
def test_no_second_tag_hops_to_its_vlan(
    make: Callable[[int], Bridge], controller: Controller, limit: int
) -> None:
    """It left other access ports as a frame of VLAN 20, and is counted now."""
    bridge = make(VLANS)
    set_limit(bridge.switch, limit)
    frame = tagged(PAYLOADS["arp"], ((C, 0), (C, 20)))
    assert bridge.deliver(ACCESS, frame) == bridge.deliver(NATIVE, frame) == {}
    bridge.switch.settle()
    rule = (TableId.VLAN, 120) if limit == 1 else (TableId.NESTED, 20)
    flows = [flow for flow in bridge.flows() if (flow.table, flow.priority) == rule]
    assert sum(flow.packets for flow in flows) == 2
    if limit == 2:
        drops = partial(controller.bridge, bridge)
        wait_for(lambda: drops()["drops"].get("nested") == 2, "the API to count", seconds=40)


@pytest.mark.parametrize("limit", [0, 2])
def test_access_lists_let_nothing_more_pass(make: Callable[[int], Bridge], limit: int) -> None:
    """A frame is dropped, or fares as with one tag."""
    bridge = make(LISTS)
    ports = (WEB, NO_DHCP, NO_TAGS, BY_MAC)
    one, more = results(bridge, ports, limit=1), results(bridge, ports, limit=limit)
    assert {key: out for key, out in more.items() if out and out != one[key]} == {}
    single = {key: out for key, out in one.items() if len(key[2]) == 1}
    assert {key: more[key] for key in single} == single
    nested = ((C, 10), (C, 20))
    assert more[WEB, "tcp", nested] == more[NO_TAGS, "tcp", nested] == {}
    assert more[BY_MAC, "tcp", nested] == one[BY_MAC, "tcp", nested] != {}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", [C, S], ids=["802.1Q", "802.1ad"])
def test_reports_and_queries_behind_a_second_tag_are_content(
    make: Callable[[int], Bridge], controller: Controller, limit: int, kind: int
) -> None:
    bridge = make(PLAIN)
    set_limit(bridge.switch, limit)
    query = mcframes.query(1)
    for frame in (mcframes.join(1, "239.1.1.1"), mcframes.join(1, "ff1e::1"), query):
        nested = tagged(frame, ((kind, 10), (C, 20)))
        bridge.forget_sent()
        bridge.inject(1, nested)
        for port in range(2, 6):
            wait_for(lambda: nested in bridge.sent(port), f"the frame at port {port}")  # noqa: B023
    status = controller.get(f"/v1/bridges/{bridge.dpid16}/multicast")
    assert "10.0.0.1" not in str(status)
    assert "239.1.1.1" not in str(controller.get(f"/v1/bridges/{bridge.dpid16}/mdb"))


def test_a_stream_behind_a_second_tag_reaches_no_more_than_with_one(
    make: Callable[[int], Bridge],
) -> None:
    """Where more tags are read, its group's members alone get it: it looks like their stream."""
    bridge = make(PLAIN)
    hear_querier(bridge, 3, vid=10)
    bridge.inject(2, mcframes.join(2, "239.1.1.1", vlan=10))
    wait_entry(bridge, "239.1.1.1", {2, 3}, vid=10)
    frame = tagged(PAYLOADS["stream"], ((C, 10), (C, 20)))
    got = {}
    for limit in LIMITS:
        set_limit(bridge.switch, limit)
        got[limit] = bridge.send(1, frame)
    assert got[1] > got[0] == got[2] == {2, 3}


def test_a_fabric_carries_them_alike(ring: Ring) -> None:
    got: dict[int, Any] = {}
    for limit in LIMITS:
        set_limit(ring.switch, limit)
        got[limit] = {
            (name, tags): ring.send(1, 1, tagged(frame, tags))
            for name, frame in PAYLOADS.items()
            for tags in (*ONE, *TWO, *THREE)
        }
    set_limit(ring.switch, 1)
    assert any(got[1].values())
    for limit in (0, 2):
        for (name, tags), out in got[limit].items():
            # Open vSwitch knows two tags, so that none can be put back on a frame with two.
            assert out == got[1][name, tags] or (len(tags) > 2 and not out.keys() - {(1, 2)})
