"""What a switch makes of the flows of access lists: each field, and whole lists, no controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ofapp.bridge.params import acl
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.model.flow import Flow, Match, Output, SetRegister
from ofapp.openflow.model.rule import Register, TableId
from ofapp.openflow.pipeline.acl import acl_flows, acl_number
from ofapp.openflow.pipeline.states import COMMIT, STATES, TRACK
from ofapp.openflow.switch.audit import comparison
from ofapp.openflow.wire.messages import codec
from tests.support import frames as raw
from tests.support.acl_lists import LIST, bridge_with, rules_of
from tests.support.acl_oracle import Frame, Settings, decide, frames, reachable, rule_lists
from tests.support.ovs import Bridge, VSwitchd
from tests.vswitchd.wire import Wire

A, B = raw.host(1), raw.host(2)


@pytest.fixture(scope="module")
def bare(vswitchd: VSwitchd) -> Iterator[tuple[Bridge, Wire]]:
    """A bridge in which port 1 has the list, and what passes leaves by port 2."""
    bridge = vswitchd.add_bridge(ports=2)
    enter = (SetRegister(Register.ACL, acl_number(LIST)),)
    with Wire(bridge) as wire:
        wire.send(
            map(
                codec.add_flow,
                [
                    Flow(0, 1, (Match("in_port", 1),), Feature.BASE, enter, TableId.ACL),
                    Flow(TableId.SOURCE, 1, (), Feature.BASE, (Output(2),)),
                ],
            )
        )
        yield bridge, wire
    bridge.destroy()


def put(wire: Wire, given_rules: list[Settings]) -> list[str]:
    """Give the switch this list and no other; the names of its rules."""
    rules = rules_of(given_rules)
    old = [
        codec.delete_raw(flow.table, flow.priority, flow.match, flow.cookie)
        for flow in wire.flows(TableId.ACL)
    ]
    new = map(codec.add_flow, acl_flows(bridge_with(**{LIST: rules}).desired(), metered=False))
    wire.send([*old, *new])
    return [rule.name for rule in rules]


def hits(wire: Wire) -> Counter[int]:
    counts: Counter[int] = Counter()
    for flow in wire.flows(TableId.ACL):
        cookie = parse_cookie(flow.cookie)
        assert cookie is not None
        counts[cookie.serial] += flow.packets
    return +counts


def try_out(bare: tuple[Bridge, Wire], kept: list[Settings], some: list[Frame]) -> None:
    """Each frame is passed or dropped, and counted, as the oracle says."""
    bridge, wire = bare
    names = put(wire, kept)
    bridge.forget_sent()
    bridge.inject(1, *(frame.data() for frame in some))
    decisions = [decide(kept, frame) for frame in some]
    passed = [
        frame.data()
        for frame, position in zip(some, decisions, strict=True)
        if position is not None and kept[position]["action"] == "allow"
    ]
    assert bridge.sent(2) == passed
    bridge.switch.settle()
    expected = Counter(
        acl.rule_number(LIST, acl.IMPLICIT if position is None else names[position])
        for position in decisions
    )
    assert hits(wire) == expected


@given(rule_lists.map(reachable), st.lists(frames, min_size=8, max_size=16))
@settings(
    max_examples=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_switch_decides_as_the_list_says(
    bare: tuple[Bridge, Wire], kept: list[Settings], some: list[Frame]
) -> None:
    try_out(bare, kept, some)


WHOLE = Frame(A, B, 0x0800, ip=("10.0.0.1", "10.0.0.2"), proto=17, ports=(67, 53))


@pytest.mark.parametrize(
    ("match", "fitting", "other"),
    [
        ({"eth_src": A}, {}, {"src": B}),
        ({"eth_dst": "02:00:00:00:00:00/ff:ff:ff:ff:ff:00"}, {}, {"dst": raw.BROADCAST}),
        ({"eth_type": "arp"}, {"eth_type": 0x0806}, {}),
        ({"eth_type": 0x88B5}, {"eth_type": 0x88B5, "ip": None}, {}),
        ({"vlan": 7}, {"vid": 7}, {"vid": 8}),
        ({"vlan": 0}, {}, {"vid": 8}),
        ({"vlan": 0}, {"vid": 0, "pcp": 3}, {"vid": 8}),
        ({"vlan_pcp": 5}, {"vid": 7, "pcp": 5}, {"vid": 7, "pcp": 4}),
        ({"vlan_pcp": 0}, {"vid": 7, "pcp": 0}, {}),
        ({"vlan": 7, "vlan_pcp": 5}, {"vid": 7, "pcp": 5}, {"vid": 8, "pcp": 5}),
        ({"ip_src": "10.0.0.0/31"}, {}, {"ip": ("10.0.0.3", "10.0.0.2")}),
        ({"ip_dscp": 46}, {"dscp": 46}, {"dscp": 45}),
        ({"ip_proto": "udp"}, {}, {"proto": 6}),
        ({"udp_src": 67}, {}, {"ports": (68, 53)}),
        ({"udp_src": 67}, {}, {"fragment": 1}),
        ({"udp_dst": "0-1023"}, {"ports": (67, 0)}, {"fragment": 2}),
        ({"udp_dst": "50-60"}, {}, {"ports": (67, 61)}),
        ({"sctp_dst": 53}, {"proto": 132}, {}),
        ({"tcp_dst": 53}, {"proto": 6}, {}),
        ({"tcp_established": True}, {"proto": 6, "flags": 0x18}, {"proto": 6, "flags": 0x02}),
        ({"tcp_established": True}, {"proto": 6, "flags": 0x04}, {"proto": 6, "flags": 0x01}),
        (
            {"tcp_established": True},
            {"proto": 6, "flags": 4},
            {"proto": 6, "flags": 4, "fragment": 1},
        ),
        ({"fragment": True}, {"fragment": 2}, {}),
        ({"fragment": True}, {"fragment": 1}, {}),
        ({"icmp_type": "echo-reply"}, {"proto": 1}, {"proto": 1, "fragment": 2}),
        ({"icmp_type": 8, "ip_proto": "icmp"}, {"proto": 1, "icmp": (8, 0)}, {"proto": 1}),
        (
            {"icmp_type": "time-exceeded", "icmp_code": 1},
            {"proto": 1, "icmp": (11, 1)},
            {"proto": 1, "icmp": (11, 0)},
        ),
        (
            {"arp_op": "request", "arp_tpa": "10.0.0.0/24"},
            {"eth_type": 0x0806, "arp": (1, "10.0.1.1", "10.0.0.9")},
            {"eth_type": 0x0806, "arp": (2, "10.0.1.1", "10.0.0.9")},
        ),
        (
            {"arp_spa": "10.0.0.9", "arp_sha": A},
            {"eth_type": 0x0806, "arp": (2, "10.0.0.9", "10.0.0.1")},
            {"eth_type": 0x0806, "arp": (2, "10.0.0.8", "10.0.0.1")},
        ),
    ],
)
def test_each_field_on_its_own(
    bare: tuple[Bridge, Wire], match: Settings, fitting: Settings, other: Settings
) -> None:
    bridge, wire = bare
    put(wire, [{"match": match, "action": "allow"}])
    yes, no = (replace(WHOLE, **change).data() for change in (fitting, other))
    bridge.forget_sent()
    bridge.inject(1, no, yes, no)
    assert bridge.sent(2) == [yes]


IP6 = ("fd00::1", "fd00::2")


@pytest.mark.parametrize(
    ("match", "frame"),
    [
        ({"tcp_dst": 53}, {"proto": 6}),
        ({"udp_src": 67}, {}),
        ({"icmp_type": "echo-request"}, {"proto": 58, "icmp": (128, 0)}),
        ({"icmp_type": "neighbor-solicitation"}, {"proto": 58, "icmp": (135, 0)}),
        ({"ip_dst": "fd00::/64"}, {}),
        ({"ip_dscp": 46}, {"dscp": 46}),
        ({"fragment": True}, {"fragment": 2}),
    ],
)
def test_a_rule_that_does_not_say_which_ip_is_of_ipv6_too(
    bare: tuple[Bridge, Wire], match: Settings, frame: Settings
) -> None:
    bridge, wire = bare
    put(wire, [{"match": match, "action": "allow"}])
    yes = replace(WHOLE, eth_type=0x86DD, ip=IP6, **frame).data()
    bridge.forget_sent()
    bridge.inject(1, yes, replace(WHOLE, eth_type=0x86DD, ip=IP6, proto=47).data())
    assert yes in bridge.sent(2)


def test_the_switch_tells_each_flow_as_it_was_reported(bare: tuple[Bridge, Wire]) -> None:
    """Otherwise every look would find all of them wrong, and send them again."""
    _, wire = bare
    lists = bridge_with(**{LIST: rules_of(EVERY_FIELD)})
    put(wire, EVERY_FIELD)
    flows = list(acl_flows(lists.desired(), metered=False))
    fields = {match.field for flow in flows for match in flow.match}
    assert fields == {*acl.FIELDS, "reg3"} - {"ct_state"}
    assert comparison.flow_changes(flows, wire.flows(TableId.ACL)) == {}


def test_the_switch_tells_each_flow_of_a_list_with_states(bare: tuple[Bridge, Wire]) -> None:
    _, wire = bare
    states: list[Settings] = [
        {"match": {"state": state}, "action": "allow"}
        for state in ("new", "established", "related", "invalid")
    ]
    desired = bridge_with(**{LIST: rules_of([*states, *EVERY_FIELD])}).desired()
    for table in (COMMIT, STATES, TRACK):
        flows = [*table.flows(desired, False)]
        wire.send(map(codec.add_flow, flows))
        held = wire.flows(table.id)
        assert comparison.flow_changes(flows, held) == {}
        wire.send(codec.delete_raw(f.table, f.priority, f.match, f.cookie) for f in held)


EVERY_FIELD: list[Settings] = [
    {"match": match, "action": "allow"}
    for match in (
        {"eth_src": A, "eth_dst": "01:00:00:00:00:00/01:00:00:00:00:00", "vlan": 7, "vlan_pcp": 1},
        {"ip_src": "10.0.0.0/9", "ip_dst": "10.0.0.1", "ip_dscp": 10, "ip_proto": "igmp"},
        {"ip_src": "fd00::/9", "ip_dst": "fd00::1", "fragment": True},
        {"tcp_src": "0-9", "tcp_dst": 80, "tcp_established": True},
        {"udp_src": "0-9", "udp_dst": "0-9"},
        {"sctp_src": 1, "sctp_dst": "1024-65535"},
        {"icmp_type": "time-exceeded", "icmp_code": 0},
        {"arp_op": "reply", "arp_spa": "10.0.0.0/8", "arp_tpa": "10.0.0.1"},
        {"arp_sha": A, "arp_tha": "02:00:00:00:00:00/ff:00:00:00:00:00"},
    )
]


def test_packets_that_pass_get_the_dscp_of_their_rule(bare: tuple[Bridge, Wire]) -> None:
    """Voice is marked, other IPv4 packets lose their mark, and IPv6 packets keep it."""
    bridge, wire = bare
    voice = {"match": {"udp_dst": 5060}, "set": {"dscp": 46}}
    plain = {"match": {"eth_type": "ipv4"}, "set": {"dscp": 0}, "action": "allow"}
    put(wire, [voice, plain, {"action": "allow"}])

    def dscp(packet: Frame) -> int:
        bridge.sent(2)
        bridge.inject(1, packet.data())
        (left,) = bridge.sent(2)
        version = left[14] >> 4
        return (left[15] if version == 4 else (left[14] << 4 | left[15] >> 4) & 0xFF) >> 2

    four = replace(WHOLE, dscp=10)
    six = replace(four, eth_type=0x86DD, ip=("fd00::1", "fd00::2"))
    for packet, other in ((four, 0), (six, 10)):
        assert dscp(replace(packet, ports=(1, 5060))) == 46
        assert dscp(replace(packet, ports=(1, 5061))) == other
