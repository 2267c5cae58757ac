"""VLANs on a real switch: who is a member, what is tagged where, and what is not let in."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.hosts import learned_flows, wait_learned
from tests.support.ovs import LOCAL, OWNER, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B, C = (frames.host(number) for number in (1, 2, 3))
DPID = 0x5A
ACCESS, ACCESS_TOO, TRUNK, NATIVE, OTHER = 1, 2, 3, 4, 5
"""Two access ports of VLAN 10, a trunk of 10 and 20, one of all with 10 untagged, one of 20."""

CONFIG = f"""
defaults: {{mac_move: {{moves: 0}}}}
bridges:
  "{DPID:016x}":
    ports:
      1: {{vlan: 10}}
      2: {{vlan: 10}}
      3: {{vlan: {{trunk: [10, 20]}}}}
      4: {{vlan: {{trunk: all, native: 10}}}}
      5: {{vlan: 20}}
      LOCAL: {{vlan: 10}}
"""


pytestmark = pytest.mark.controller(CONFIG)


@pytest.fixture(scope="module")
def switch(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    return controller.connect(vswitchd.add_bridge(ports=5, dpid=DPID))


@pytest.fixture(scope="module")
def switched_by_normal(vswitchd: VSwitchd) -> Bridge:
    """The same VLANs by Open vSwitch's own means."""
    made = vswitchd.add_bridge(ports=5)
    for port, vlans in (
        (ACCESS, ["tag=10"]),
        (ACCESS_TOO, ["tag=10"]),
        (TRUNK, ["vlan_mode=trunk", "trunks=10,20"]),
        (NATIVE, ["vlan_mode=native-untagged", "tag=10"]),
        (OTHER, ["tag=20"]),
    ):
        vswitchd.vsctl("set", "Port", made.port_name(port), *vlans)
    vswitchd.ofctl("add-flow", made.name, "actions=NORMAL")
    return made


@pytest.fixture
def bridge(vswitchd: VSwitchd, switch: Bridge, controller: Controller) -> Bridge:
    """As if new: no host is known there, also not to the datapath's cache."""
    controller.flush(switch)
    wait_for(lambda: not learned_flows(switch), "no host to be known")
    vswitchd.settle()
    return switch


def untagged(dst: str, src: str) -> bytes:
    return frames.ethernet(dst, src)


def tagged(dst: str, src: str, vlan: int, pcp: int = 0) -> bytes:
    """As a switch makes it of an untagged frame of 60 bytes: 4 more."""
    bare = frames.ethernet(dst, src)
    tag = frames.ethernet(dst, src, vlan=vlan, pcp=pcp)[12:16]
    return bare[:12] + tag + bare[12:]


def stack(dst: str, src: str, *tags: tuple[int, int]) -> bytes:
    """A frame with these tags, (type, VID) each, the outermost first."""
    bare = untagged(dst, src)
    return bare[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + bare[12:]


C_TAG, S_TAG = 0x8100, 0x88A8


@pytest.mark.parametrize("inner", [(), ((C_TAG, 20),), ((C_TAG, 10),)], ids=["one", "20", "10"])
@pytest.mark.parametrize("vid", [10, 20, 30])
def test_no_tag_of_either_kind_gets_in_by_an_access_port(
    bridge: Bridge, vid: int, inner: tuple[tuple[int, int], ...]
) -> None:
    for kind in (C_TAG, S_TAG):
        assert bridge.deliver(ACCESS, stack(frames.BROADCAST, A, (kind, vid), *inner)) == {}


@pytest.mark.parametrize("kind", [C_TAG, S_TAG])
def test_a_priority_tag_gets_nothing_in_that_is_tagged_behind_it(bridge: Bridge, kind: int) -> None:
    """It would leave the trunk that has VLAN 10 untagged as a frame of VLAN 20."""
    bare = untagged(frames.BROADCAST, A)
    got = bridge.deliver(ACCESS, stack(frames.BROADCAST, A, (kind, 0)))
    assert {port: got[port] for port in (ACCESS_TOO, NATIVE)} == {
        ACCESS_TOO: [bare],
        NATIVE: [bare],
    }
    for port in (ACCESS, NATIVE):
        for inner in (C_TAG, S_TAG):
            twice = stack(frames.BROADCAST, A, (kind, 0), (inner, 20))
            assert bridge.deliver(port, twice) == {}


@pytest.mark.parametrize("tci", [0, 0x6000, 0x7000], ids=["0", "PCP 3", "PCP 3, DEI"])
@pytest.mark.parametrize("kind", [C_TAG, S_TAG])
@pytest.mark.parametrize("port", [ACCESS, NATIVE])
def test_a_priority_tag_leaves_a_trunk_as_open_vswitchs_own_vlans_send_it(
    bridge: Bridge, switched_by_normal: Bridge, port: int, kind: int, tci: int
) -> None:
    """As a tag of the same kind and priority, with the VID of the port's own VLAN."""
    frame = stack(frames.BROADCAST, A, (kind, tci))
    got, normal = bridge.deliver(port, frame), switched_by_normal.deliver(port, frame)
    assert got[TRUNK] == [stack(frames.BROADCAST, A, (kind, tci & 0xE000 | 10))]
    members = {ACCESS, ACCESS_TOO, TRUNK, NATIVE} - {port}
    assert {to: got.get(to) for to in members} == {to: normal.get(to) for to in members}
    assert got.keys() - {LOCAL} == members == normal.keys() - {LOCAL}


def test_on_a_trunk_both_kinds_of_tag_tell_the_vlan(bridge: Bridge) -> None:
    """As on Open vSwitch's own trunks: the switch cannot tell them apart."""
    got = bridge.deliver(TRUNK, stack(frames.BROADCAST, C, (S_TAG, 20)))
    assert got == {
        NATIVE: [stack(frames.BROADCAST, C, (S_TAG, 20))],
        OTHER: [untagged(frames.BROADCAST, C)],
    }


@pytest.mark.parametrize("dst", [B, frames.BROADCAST, "01:00:5e:00:00:fb"])
def test_a_vlans_frames_reach_its_members_in_the_form_each_wants(bridge: Bridge, dst: str) -> None:
    bare, tag = untagged(dst, A), tagged(dst, A, 10)
    assert bridge.deliver(ACCESS, bare) == {
        ACCESS_TOO: [bare],
        TRUNK: [tag],
        NATIVE: [bare],
        LOCAL: [bare],
    }
    assert bridge.deliver(TRUNK, tagged(dst, C, 20)) == {
        NATIVE: [tagged(dst, C, 20)],
        OTHER: [untagged(dst, C)],
    }


def test_a_vlan_that_only_a_trunk_carries(bridge: Bridge) -> None:
    assert bridge.deliver(NATIVE, tagged(B, A, 77)) == {}
    assert bridge.deliver(NATIVE, tagged(B, A, 20)).keys() == {TRUNK, OTHER}


@pytest.mark.parametrize(
    ("port", "frame"),
    [
        (ACCESS, tagged(B, A, 20)),
        (ACCESS, tagged(B, A, 10)),
        (TRUNK, untagged(B, A)),
        (TRUNK, tagged(B, A, 30)),
        (TRUNK, tagged(B, A, 0)),
    ],
    ids=["other-vlan-on-access", "tagged-on-access", "untagged", "not-allowed", "priority-tag"],
)
def test_ingress_filtering(bridge: Bridge, controller: Controller, port: int, frame: bytes) -> None:
    assert bridge.deliver(port, frame) == {}
    assert controller.fdb(bridge, mac=A) == []


def test_a_priority_tag_keeps_its_priority(bridge: Bridge) -> None:
    out = bridge.deliver(ACCESS, tagged(frames.BROADCAST, A, 0, pcp=5))
    assert out[TRUNK] == [tagged(frames.BROADCAST, A, 10, pcp=5)]
    assert out[ACCESS_TOO] == [untagged(frames.BROADCAST, A)]


def test_hosts_are_learned_in_their_vlan(bridge: Bridge, controller: Controller) -> None:
    bridge.inject(ACCESS, untagged(B, A))
    wait_learned(controller, bridge, A, ACCESS, 10)
    bridge.inject(TRUNK, tagged(A, B, 10))
    wait_learned(controller, bridge, B, TRUNK, 10)
    assert bridge.deliver(ACCESS, untagged(B, A)) == {TRUNK: [tagged(B, A, 10)]}
    assert bridge.deliver(TRUNK, tagged(A, B, 10)) == {ACCESS: [untagged(A, B)]}
    # The same address in another VLAN is another host.
    bridge.inject(OTHER, untagged(B, A))
    wait_learned(controller, bridge, A, OTHER, 20)
    assert bridge.deliver(TRUNK, tagged(A, B, 10)) == {ACCESS: [untagged(A, B)]}
    assert bridge.deliver(TRUNK, tagged(A, B, 20)) == {OTHER: [untagged(A, B)]}


def test_the_hosts_own_address_is_in_the_vlan_of_local(
    bridge: Bridge, controller: Controller
) -> None:
    own = next(entry["mac"] for entry in controller.fdb(bridge) if entry["type"] == "local")
    assert bridge.deliver(ACCESS, untagged(own, A)) == {LOCAL: [untagged(own, A)]}
    assert bridge.deliver(TRUNK, tagged(own, A, 10)) == {LOCAL: [untagged(own, A)]}
    assert LOCAL not in bridge.deliver(OTHER, untagged(own, A))


def test_double_tags_pass_with_their_inner_one(bridge: Bridge) -> None:
    inner = frames.ethernet(frames.BROADCAST, A, vlan=99)
    outer = inner[:12] + b"\x88\xa8\x00\x14" + inner[12:]
    assert bridge.deliver(TRUNK, outer) == {NATIVE: [outer], OTHER: [inner]}


def test_static_entries_know_vlans(bridge: Bridge, controller: Controller) -> None:
    assert controller.put_static(bridge, C, TRUNK, 10).status == 201
    assert bridge.deliver(ACCESS, untagged(C, A)) == {TRUNK: [tagged(C, A, 10)]}
    assert controller.put_static(bridge, C, NATIVE, 10).status in (200, 201)
    assert bridge.deliver(ACCESS, untagged(C, A)) == {NATIVE: [untagged(C, A)]}


def wait_entry(bridge: Bridge, group: str) -> None:
    wait_for(
        lambda: any(
            flow.table == TableId.MULTICAST
            and f"nw_dst={group}" in f"{flow.match},"
            and "0x000a" in flow.match
            for flow in bridge.flows()
        ),
        f"the entry of {group} in VLAN 10",
    )


def test_memberships_are_of_a_vlan(bridge: Bridge, controller: Controller) -> None:
    """The report goes on to the router's port in that port's form; the stream, too."""
    bridge.inject(TRUNK, mcframes.query(30, vlan=10))
    wait_entry(bridge, "224.0.0.0/4")
    bridge.forget_sent()
    join = mcframes.join(1, "239.1.1.1")
    bridge.inject(ACCESS, join)
    wait_entry(bridge, "239.1.1.1")
    assert bridge.sent(TRUNK) == [join[:12] + b"\x81\x00\x00\x0a" + join[12:]]
    assert bridge.sent(ACCESS_TOO) == []
    stream = mcframes.stream(9, "239.1.1.1")
    out = bridge.deliver(NATIVE, stream)
    assert out == {ACCESS: [stream], TRUNK: [stream[:12] + b"\x81\x00\x00\x0a" + stream[12:]]}


def test_a_switch_in_line_is_left_alone(bridge: Bridge, controller: Controller) -> None:
    """What it reports is what was sent: a controller that restarts puts no flow in again."""
    bridge.switch.warp(100)
    controller.restart()
    controller.wait_ready(bridge)
    dump = bridge.switch.ofctl("dump-flows", bridge.name)
    kept = [line for line in dump.splitlines() if f"table={OWNER}," not in line]  # (the lease)
    found = (re.search(r"cookie=0xfa9\w+, duration=([0-9.]+)s", line) for line in kept)
    ages = [float(match[1]) for match in found if match]
    assert len(ages) > 50
    assert min(ages) >= 100


def test_a_bridge_without_vlans_has_no_table_for_them(
    bridge_factory: Callable[..., Bridge],
) -> None:
    plain = bridge_factory(ports=2)
    tables = {flow.table for flow in plain.flows()}
    assert not tables & {TableId.VLAN, TableId.STORM, TableId.ACL, TableId.FLOOD, TableId.EGRESS}
