"""Frames cross a fabric of real switches."""

from __future__ import annotations

import itertools
import re
import struct

import pytest

from tests.support import frames
from tests.vswitchd.fabric.bed import (
    CHAIN,
    EDGES,
    PAIR,
    RING,
    SQUARE,
    A,
    B,
    Bed,
    MakeBed,
    graph,
    know,
    tcp,
)

# isort: split
from ofapp.bridge.effects import InstallEntry
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.openflow.model.rule import TableId

EGRESS_CHECKS = {(at, 11): PortParams(policy=PortPolicy(hairpin=True)) for at in (1, 2)}
"""Frames leave these ports by way of the egress table, as they leave aggregations."""


@pytest.mark.parametrize("shape", [PAIR, RING, SQUARE, CHAIN])
def test_a_broadcast_reaches_every_edge_port_once(make: MakeBed, shape: Graph) -> None:
    bed = make(shape)
    for member in shape.members:
        frame = frames.arp_request(frames.host(member))
        arrived = bed.send(member, 11, frame)
        everywhere = {(at, port, frame) for at in shape.members for port in EDGES}
        assert arrived == dict.fromkeys(everywhere - {(member, 11, frame)}, 1)
        assert len(bed.crossed) == len(shape.members) - 1


@pytest.mark.parametrize(("shape", "to", "hops"), [(PAIR, 2, 1), (CHAIN, 3, 2), (CHAIN, 4, 3)])
def test_a_frame_to_a_known_host_takes_the_shortest_way(
    make: MakeBed, shape: Graph, to: int, hops: int
) -> None:
    bed = make(shape)
    know(bed, to)
    frame = frames.ethernet(B, A)
    assert bed.send(1, 11, frame) == {(to, 11, frame): 1}
    assert bed.way() == [(at, at + 1) for at in range(1, hops + 1)]


def test_flows_spread_over_ways_of_equal_cost(
    make: MakeBed,
) -> None:
    bed = make(graph((1, 2), (2, 3), (3, 4), (4, 1)))
    know(bed, 3)
    ways = set()
    for port in range(16):
        frame = tcp(1000 + port)
        assert bed.send(1, 11, frame) == {(3, 11, frame): 1}
        ways.add(tuple(bed.way()))
    assert ways == {((1, 2), (2, 3)), ((1, 4), (4, 3))}


@pytest.mark.parametrize("shape", [RING, SQUARE])
def test_a_frame_arrives_once_after_the_failure_of_any_link(make: MakeBed, shape: Graph) -> None:
    bed = make(shape)
    frame = frames.ethernet(B, A)
    for to in shape.members[1:]:
        know(bed, to)
        for link in shape.links:
            bed.fail(link)
            for start in shape.members:
                if start != to:
                    assert bed.send(start, 11, frame) == {(to, 11, frame): 1}, (link, start)
            bed.fail(link, up=True)


@pytest.mark.parametrize("tags_inside", [False, True])
@pytest.mark.parametrize("shape", [RING, SQUARE])
def test_a_broadcast_arrives_once_after_the_failure_of_any_link(
    make: MakeBed, shape: Graph, tags_inside: bool
) -> None:
    """Before the controller has made other trees, and with and without a VLAN tag."""
    bed = make(shape, tags_inside=tags_inside)
    sent = [frames.arp_request(A), tagged(frames.arp_request(A), (C_TAG,))]
    everywhere = set(itertools.product(shape.members, EDGES, sent))
    for link in shape.links:
        bed.fail(link)
        for start in shape.members:
            arrived = bed.send(start, 11, *sent)
            missing = {(start, 11, frame) for frame in sent}
            assert arrived == dict.fromkeys(everywhere - missing, 1), (link, start)
        bed.fail(link, up=True)


def test_a_broadcast_is_from_the_same_port_after_a_detour(make: MakeBed) -> None:
    """An isolated port, or one of an aggregation that another member has ports of, too."""
    isolated = PortParams(policy=PortPolicy(isolated=True))
    ports = EGRESS_CHECKS | {(1, 12): isolated, (2, 12): isolated, (3, 12): isolated}
    bed = make(RING, shared={1: {11: (2,)}, 2: {11: (1,)}}, ports=ports)
    flood = frames.arp_request(A)
    alone = [{(at, to) for at, to, _ in bed.send(1, port, flood)} for port in (11, 12)]
    assert (2, 11) not in alone[0]
    assert not {(2, 12), (3, 12)} & alone[1]
    for link in RING.links:
        bed.fail(link)
        assert alone == [{(at, to) for at, to, _ in bed.send(1, port, flood)} for port in (11, 12)]
        bed.fail(link, up=True)


def test_a_detour_may_leave_by_the_port_that_the_frame_came_in_by(make: MakeBed) -> None:
    """2 is the nearest, and has lost its link to 3: the frame goes back through 1."""
    bed = make(RING)
    know(bed, 3)
    bed.fail(bed.link(1, 3))
    frame = frames.ethernet(B, A)
    assert bed.send(1, 11, frame) == {(3, 11, frame): 1}
    assert bed.way() == [(1, 2), (2, 3)]
    bed.fail(bed.link(1, 3), up=True)
    bed.fail(bed.link(2, 3))
    assert bed.send(2, 11, frame) == {(3, 11, frame): 1}
    assert bed.way() == [(2, 1), (1, 3)]
    chain = make(graph((1, 2), (2, 3), (3, 4), (1, 4)))  # 1 to 3 by 2 or 4
    know(chain, 3)
    chain.fail(chain.link(2, 3), chain.link(1, 4))
    chain.send(1, 11, frame)
    assert (2, 1) in chain.way()  # back by the port that it came in by
    chain.fail(chain.link(1, 4), up=True)
    back = frames.ethernet(B, A)
    assert chain.send(2, 11, back) == {(3, 11, back): 1}
    assert chain.way() == [(2, 1), (1, 4), (4, 3)]


def test_without_any_way_frames_are_dropped_and_end(make: MakeBed) -> None:
    bed = make(SQUARE)
    know(bed, 3)
    bed.fail(bed.link(2, 3), bed.link(3, 4), bed.link(1, 3))
    for start in (1, 2, 4):
        assert not bed.send(start, 11, frames.ethernet(B, A))
        assert len(bed.crossed) < 8
    assert any(
        (flow.table, flow.priority) == (TableId.HOP, 100) and flow.packets
        for number in (1, 2, 4)
        for flow in bed.members[number].flows()
    )


def test_frames_arrive_if_bfd_takes_no_link_for_live(make: MakeBed) -> None:
    """As when ovs-vswitchd is too busy to send its packets: here no other end sends any."""
    bed = make(RING)
    know(bed, 3)
    for link in RING.links:
        for end in (link.one, link.other):
            bridge = bed.members[end.member].bridge
            bed.switch.vsctl("set", "Interface", bridge.port_name(end.port), "bfd:enable=true")
    bed.switch.settle()
    frame, flood = frames.ethernet(B, A), frames.arp_request(A)
    for start in (1, 2):
        assert bed.send(start, 11, frame)[3, 11, frame] == 1
        arrived = bed.send(start, 11, flood)
        assert {key: times for key, times in arrived.items() if key[2] == flood} == dict.fromkeys(
            {(at, port, flood) for at in (1, 2, 3) for port in EDGES} - {(start, 11, flood)}, 1
        )
    last_resort = [
        flow
        for member in bed.members.values()
        for flow in member.flows()
        if (flow.table, flow.priority) == (TableId.HOP, 100) and flow.packets
    ]
    assert last_resort


C_TAG, S_TAG = "8100", "88a8"


@pytest.mark.parametrize(
    ("tags", "inside"),
    [
        ((), False),
        ((C_TAG,), False),
        ((C_TAG, C_TAG), False),
        ((C_TAG, S_TAG, C_TAG), False),
        ((C_TAG,), True),
        ((S_TAG,), True),
        ((S_TAG, C_TAG), True),
        ((S_TAG, C_TAG, C_TAG), True),
    ],
)
def test_tags_arrive_as_they_are_and_the_outermost_is_matched(
    make: MakeBed, tags: tuple[str, ...], inside: bool
) -> None:
    bed = make(CHAIN, tags_inside=inside)
    know(bed, 3, vid=7 if tags else 0)
    frame = tagged(tcp(), tags)
    assert bed.send(1, 11, frame) == {(3, 11, frame): 1}  # its only host is there, in this VLAN
    flood = tagged(frames.arp_request(A), tags)
    assert len(bed.send(1, 11, flood)) == 4 * len(EDGES) - 1


def test_the_priority_of_a_tag_arrives(make: MakeBed) -> None:
    """Of VLAN 7 and of no VLAN."""
    bed = make(CHAIN)
    for tag in ("8100a007", "8100e000"):
        frame = frames.arp_request(A)
        frame = frame[:12] + bytes.fromhex(tag) + frame[12:]
        assert bed.send(1, 11, frame)[3, 11, frame] == 1


def tagged(frame: bytes, types: tuple[str, ...]) -> bytes:
    tags = b"".join(bytes.fromhex(kind) + bytes((0, 7 + at)) for at, kind in enumerate(types))
    return frame[:12] + tags + frame[12:]


def test_access_ports_and_trunks_are_those_of_one_bridge(make: MakeBed) -> None:
    trunked = trunk(frozenset({10, 20}))
    ports = {(1, 11): access(10), (1, 12): access(20), (3, 11): access(10), (3, 12): trunked}
    ports |= {(at, 13): access(30) for at in (1, 2, 3, 4)}
    bed = make(CHAIN, ports={at: PortParams(vlans=vlans) for at, vlans in ports.items()})
    plain = frames.arp_request(A)
    arrived = bed.send(1, 11, plain)
    in_ten = tagged_with(plain, 10)
    transparent = {(2, 11), (2, 12), (4, 11), (4, 12), (3, 12)}
    assert arrived == dict.fromkeys(
        {(3, 11, plain), *((at, port, in_ten) for at, port in transparent)}, 1
    )
    know(bed, 3, vid=10)
    frame = frames.ethernet(B, A)
    assert bed.send(1, 11, frame) == {(3, 11, frame): 1}


def tagged_with(frame: bytes, vid: int) -> bytes:
    return frame[:12] + bytes.fromhex(C_TAG) + vid.to_bytes(2, "big") + frame[12:]


def test_isolated_ports_of_different_members_do_not_reach_each_other(make: MakeBed) -> None:
    isolated = PortParams(policy=PortPolicy(isolated=True))
    bed = make(RING, ports={(1, 11): isolated, (1, 12): isolated, (3, 11): isolated})
    flood = frames.arp_request(A)
    arrived = {(at, port) for at, port, _ in bed.send(1, 11, flood)}
    assert arrived == {(1, 13), (2, 11), (2, 12), (2, 13), (3, 12), (3, 13)}
    know(bed, 3)
    frame = frames.ethernet(B, A)
    assert not bed.send(1, 11, frame)
    assert bed.send(1, 13, frame) == {(3, 11, frame): 1}
    assert bed.send(2, 11, frame) == {(3, 11, frame): 1}
    assert len(bed.send(2, 11, flood)) == 8


def test_a_member_sends_what_it_floods_to_an_aggregation_itself(make: MakeBed) -> None:
    """Port 11 of members 1 and 2 stands for an aggregation with ports at both."""
    bed = make(RING, shared={1: {11: (2,)}, 2: {11: (1,)}}, ports=EGRESS_CHECKS)
    arrived = {(at, port) for at, port, _ in bed.send(1, 12, frames.arp_request(A))}
    assert (1, 11) in arrived
    assert (2, 11) not in arrived
    arrived = {(at, port) for at, port, _ in bed.send(3, 12, frames.arp_request(A))}
    assert {(1, 11), (2, 11)} <= arrived  # one of them has the port blocked: LACP's matter
    know(bed, 2)
    frame = frames.ethernet(B, A)
    assert bed.send(1, 12, frame) == {(2, 11, frame): 1}  # for this member alone


def test_the_datapath_forwards_by_outer_header_without_the_process(make: MakeBed) -> None:
    """Open vSwitch's translation of the flows."""
    bed = make(CHAIN)
    know(bed, 3)
    bed.members[1].apply(InstallEntry(11, 0, int.from_bytes(frames.mac(A), "big"), 2, 0))
    entered = datapath_actions(bed, 1, f"in_port=11,dl_src={A},dl_dst={B},dl_type=0x88b5")
    header = r"add_mpls\(.*\),push_eth\(src=02:09:00:00:01:..,dst=02:09:00:00:03:00\),\d+"
    assert re.fullmatch(header, entered)
    between = "in_port=1,dl_src=02:09:00:00:01:07,dl_dst=02:09:00:00:03:00,dl_type=0x8847"
    assert datapath_actions(bed, 2, between).isdecimal()
    tree = between.replace("dl_dst=02:09:00:00:03", "dl_dst=03:09:00:00:01")
    assert re.fullmatch(r"\d+,pop_eth", datapath_actions(bed, 2, tree))
    left = datapath_actions(bed, 3, f"{between},mpls_bos=1")
    assert re.fullmatch(r"pop_eth,pop_mpls\(eth_type=0x6558\),recirc\(0x.*\)", left)


def datapath_actions(bed: Bed, member: int, frame: str) -> str:
    name = bed.members[member].bridge.name
    return bed.switch.appctl("ofproto/trace", name, frame).split("Datapath actions: ")[1].strip()


def test_ports_after_the_fabrics_in_the_flood_group_get_the_frame_as_it_was(make: MakeBed) -> None:
    """Buckets are in the order of their length; those with flood controls are the longest."""
    some = PortParams(policy=PortPolicy(mcast_flood=False))
    mirrored = PortParams(policy=PortPolicy(isolated=True))
    bed = make(RING, ports={(1, 13): some, (1, 12): mirrored, (2, 12): some})
    frame = frames.arp_request(A)
    assert len(bed.send(1, 11, frame)) == 8
    unknown = frames.ethernet(B, A)
    everywhere = {(at, port, unknown) for at in (1, 2, 3) for port in EDGES} - {(1, 11, unknown)}
    assert bed.send(1, 11, unknown) == dict.fromkeys(everywhere, 1)


def test_two_failures_never_double_a_frame_or_keep_it_under_way(make: MakeBed) -> None:
    bed = make(SQUARE)
    know(bed, 3)
    frame, flood = frames.ethernet(B, A), frames.arp_request(A)
    for failed in itertools.combinations(SQUARE.links, 2):
        bed.fail(*failed)
        for start in (1, 2, 4):
            arrived = bed.send(start, 11, frame)
            assert arrived in ({}, {(3, 11, frame): 1})
            assert len(bed.crossed) <= 6
            assert set(bed.send(start, 12, flood).values()) == {1}
            assert len(bed.crossed) <= 9  # three branches, each with a detour
        bed.fail(*failed, up=True)


def test_a_frame_to_an_unknown_host_floods_and_asks_the_controller_where_it_entered(
    make: MakeBed,
) -> None:
    bed = make(RING)
    frame = frames.ethernet(B, A)
    assert len(bed.send(1, 11, frame)) == 8
    bed.send(1, 11, frames.arp_request(A))
    bed.switch.settle()
    asked = {
        (number, struct.unpack("!I", flow.match[4:8])[0]): flow.packets
        for number, member in bed.members.items()
        for flow in member.flows()
        if (flow.table, flow.priority) == (TableId.UNKNOWN, 100)
    }
    expected = dict.fromkeys(itertools.product((1, 2, 3), EDGES), 0)
    assert asked == expected | {(1, 11): 1}
