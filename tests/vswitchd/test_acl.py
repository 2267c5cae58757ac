"""Access lists on a real switch: what passes, what is copied, held back and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ofapp.bridge import acl
from ofapp.openflow import codec, reconcile
from ofapp.openflow.acl import acl_flows, acl_number, rule_meter
from ofapp.openflow.cookie import Feature, make_cookie, parse_cookie
from ofapp.openflow.flow import Flow, Match, Output, SetRegister
from ofapp.openflow.rule import Register, TableId
from tests.unit.openflow.acl_oracle import (
    Frame,
    Settings,
    decide,
    frames,
    reachable,
    rule_lists,
)
from tests.unit.openflow.test_acl import LIST, bridge_with, rules_of
from tests.vswitchd import frames as raw
from tests.vswitchd.controller import Controller
from tests.vswitchd.ovs import Bridge, VSwitchd
from tests.vswitchd.waiting import wait_for
from tests.vswitchd.wire import Wire

A, B = raw.host(1), raw.host(2)
DPID = 0xAC1


# what the switch makes of the flows, without a controller


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
    new = map(codec.add_flow, acl_flows(bridge_with(**{LIST: rules}), metered=False))
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
    deadline=None,
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


def test_the_switch_tells_each_flow_as_it_was_told(bare: tuple[Bridge, Wire]) -> None:
    """Otherwise every look would find all of them wrong, and send them again."""
    _, wire = bare
    lists = bridge_with(**{LIST: rules_of(EVERY_FIELD)})
    put(wire, EVERY_FIELD)
    flows = list(acl_flows(lists, metered=False))
    assert len({match.field for flow in flows for match in flow.match}) == len(acl.FIELDS) + 1
    assert reconcile.flow_changes(flows, wire.flows(TableId.ACL)) == []


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


# with the controller

CONFIG = f"""
bridges:
  {DPID:016x}:
    vlans: {{7: {{name: lab}}}}
    acls:
      guests:
      - {{name: no-rogue-dhcp, match: {{udp_src: 67}}, action: drop}}
      - {{name: web, match: {{tcp_dst: "80,443"}}, action: allow}}
      - {{name: arp, match: {{eth_type: arp}}, rate: 10}}
      - {{name: spied, match: {{icmp_type: echo-request}}, mirror: ids, action: allow}}
      - {{name: stolen, match: {{udp_dst: 5000}}, mirror: ids, action: drop}}
      lab:
      - {{match: {{vlan: lab, ip_dst: 10.0.0.2}}, action: allow}}
      unused:
      - {{action: drop}}
    ports:
      in1: {{acl: guests}}
      in2: {{acl: guests}}
      in3: {{acl: lab, vlan: lab}}
      out: {{vlan: transparent}}
"""
IN1, IN2, IN3, OUT, IDS = 1, 2, 3, 4, 5


@pytest.fixture(scope="module")
def listed(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> Iterator[tuple[Bridge, Controller]]:
    """A bridge with the lists above."""
    bridge = vswitchd.add_bridge(dpid=DPID)
    for number, name in ((IN1, "in1"), (IN2, "in2"), (IN3, "in3"), (OUT, "out"), (IDS, "ids")):
        bridge.add_port(number, name)
    controller = controller_factory(CONFIG)
    controller.connect(bridge)
    yield bridge, controller
    bridge.destroy()


def frame(**change: Any) -> bytes:
    return replace(WHOLE, **change).data()


def told(listed: tuple[Bridge, Controller], name: str = "guests") -> dict[str, Any]:
    """The list as the API tells it, after the counters have been taken in; rules by name."""
    bridge, controller = listed
    bridge.switch.settle()
    acls = controller.get(f"/v1/bridges/{bridge.dpid16}/acls")["acls"]
    (found,) = (known for known in acls if known["name"] == name)
    return found | {"rules": {rule["name"]: rule for rule in found["rules"]}}


def packets(listed: tuple[Bridge, Controller], name: str = "guests") -> dict[str, int]:
    return {rule: own["packets"] for rule, own in told(listed, name)["rules"].items()}


def test_what_passes_what_is_dropped_and_what_is_counted(
    listed: tuple[Bridge, Controller],
) -> None:
    bridge, _ = listed
    before = packets(listed)
    web = frame(proto=6, ports=(1, 443))
    assert OUT in bridge.send(IN1, web)
    assert OUT in bridge.send(IN2, web)  # one list, two ports
    assert bridge.send(IN1, frame(ports=(67, 68))) == set()
    assert bridge.send(IN1, frame(proto=6, ports=(1, 22))) == set()  # no rule: dropped
    assert bridge.send(OUT, frame(proto=6, ports=(1, 22), src=B)) != set()  # a port without list
    after = packets(listed)
    grown = {rule: after[rule] - count for rule, count in before.items() if after[rule] != count}
    assert grown == {"web": 2, "no-rogue-dhcp": 1, acl.IMPLICIT: 1}


def test_bytes_are_those_of_the_frames(listed: tuple[Bridge, Controller]) -> None:
    bridge, _ = listed
    before = told(listed)["rules"]["web"]["bytes"]
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)))
    assert told(listed)["rules"]["web"]["bytes"] == before + len(frame(proto=6))


def test_copies_for_a_mirror_that_may_be_away(listed: tuple[Bridge, Controller]) -> None:
    bridge, controller = listed
    ping, stolen = frame(proto=1, icmp=(8, 0)), frame(ports=(1, 5000))
    bridge.send(OUT, frame(src=B))  # so that what is for B goes there alone
    wait_for(lambda: controller.where(bridge, B) == OUT, "B to be learned")
    assert bridge.send(IN1, ping) == {OUT, IDS}
    assert bridge.send(IN1, stolen) == {IDS}
    bridge.del_port(IDS)
    away = {"number": None, "name": "ids"}
    wait_for(lambda: told(listed)["rules"]["spied"]["mirror"] == away, "the port to be gone")
    wait_for(lambda: bridge.send(IN1, ping) == {OUT}, "frames to pass without it")
    assert bridge.send(IN1, stolen) == set()
    bridge.add_port(IDS + 1, "ids")
    wait_for(lambda: bridge.send(IN1, stolen) == {IDS + 1}, "copies at its new place")
    bridge.del_port(IDS + 1)
    bridge.add_port(IDS, "ids")
    wait_for(lambda: bridge.send(IN1, stolen) == {IDS}, "copies at its old place")


def test_what_is_above_the_rate_is_dropped_counted_and_told(
    listed: tuple[Bridge, Controller],
) -> None:
    bridge, controller = listed
    before = told(listed)["rules"]["arp"]
    asked = frame(eth_type=0x0806, dst=raw.BROADCAST, arp=(1, "10.0.0.1", "10.0.0.2"))
    bridge.forget_sent()
    bridge.inject(IN1, *[asked] * 15)
    bridge.inject(IN2, *[asked] * 15)
    passed = bridge.sent(OUT).count(asked)
    assert 10 <= passed <= 12  # a burst of one second; the clock of the switch stands still
    after = told(listed)["rules"]["arp"]
    assert after["packets"] - before["packets"] == 30
    assert after["over_rate"] - before["over_rate"] == 30 - passed
    (event,) = controller.events("acl.limited")
    assert event["data"] == {"acl": "guests", "rule": "arp", "dropped": 30 - passed}
    told(listed)
    assert controller.events("acl.limited.cleared")
    bridge.switch.warp(2)
    assert bridge.send(IN1, asked) >= {OUT}  # it recovers by itself


def test_the_vlan_is_that_of_the_bridge(listed: tuple[Bridge, Controller]) -> None:
    """An access port's frames come without a tag, and the list knows their VLAN all the same."""
    bridge, _ = listed
    bridge.forget_sent()
    bridge.inject(IN3, frame(), frame(ip=("10.0.0.1", "10.0.0.9")))
    tagged = frame(vid=7)
    assert [got[: len(tagged)] for got in bridge.sent(OUT)] == [tagged]
    assert packets(listed, "lab") == {"vlan=lab ip_dst=10.0.0.2": 1, acl.IMPLICIT: 1}


def test_bpdus_pass_whatever_the_list_says(listed: tuple[Bridge, Controller]) -> None:
    bridge, _ = listed
    assert OUT in bridge.send(IN1, raw.bpdu(A))


def test_who_has_a_list_and_a_list_that_nobody_has(listed: tuple[Bridge, Controller]) -> None:
    bridge, _ = listed
    assert told(listed)["ports"] == [{"number": IN1, "name": "in1"}, {"number": IN2, "name": "in2"}]
    unused = told(listed, "unused")
    assert unused["ports"] == []
    assert unused["rules"]["any"]["packets"] is None
    numbers = {f"reg3={acl_number(name):#x}" for name in ("guests", "lab")}
    matched = [flow.match for flow in bridge.flows() if flow.table == TableId.ACL]
    in_use = {part for match in matched for part in match.split(",") if part.startswith("reg3")}
    assert in_use == numbers


SERIAL = acl.rule_number("guests", "web")


def web_flows(bridge: Bridge) -> int:
    cookies = (parse_cookie(flow.cookie) for flow in bridge.flows())
    wanted = (Feature.ACL, SERIAL)
    return sum(
        cookie is not None and (cookie.feature, cookie.serial) == wanted for cookie in cookies
    )


def delete_web(bridge: Bridge) -> None:
    """As somebody does who should not."""
    cookie = f"cookie={make_cookie(Feature.ACL, SERIAL):#x}/-1"
    bridge.switch.ofctl("del-flows", bridge.name, cookie)
    assert web_flows(bridge) == 0


def write(controller: Controller, text: str) -> None:
    """Its file, for the next time that it is read."""
    settings = yaml.safe_load(text) | {"defaults": {"stp": {"enabled": False}}}
    controller.config_file.write_text(yaml.safe_dump(settings))


def reload(controller: Controller, text: str) -> dict[str, int]:
    """What that changed in the switch."""
    write(controller, text)
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.status == 200, reply
    sent: dict[str, int] = reply.body["bridges"][0]["sent"]
    return sent


def test_hits_outlive_changes_of_the_list_and_repairs(listed: tuple[Bridge, Controller]) -> None:
    bridge, controller = listed
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)), frame(ports=(67, 68)))
    before, since = packets(listed), told(listed)["rules"]["web"]["since"]
    bridge.inject(IN1, frame(proto=6, ports=(1, 443)), frame(proto=6, ports=(1, 80)))
    bridge.switch.settle()
    # A rule that meets one of the four flows of `web` in front of all: that one gives way.
    first = "- {name: not-me, match: {ip_src: 10.0.0.1, tcp_dst: 80}, action: drop}"
    begin = "guests:\n"
    sent = reload(controller, CONFIG.replace(begin, f"{begin}      {first}\n"))
    assert sent == {"flows": 3, "groups": 0, "meters": 0}
    after = packets(listed)
    assert after.pop("not-me") == 0
    assert after == before | {"web": before["web"] + 2}
    delete_web(bridge)
    assert reload(controller, CONFIG)["flows"] == 3
    wait_for(lambda: web_flows(bridge) == 4, "the flows to be back")
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)))
    assert packets(listed) == before | {"web": before["web"] + 3}
    assert told(listed)["rules"]["web"]["since"] == since


def test_hits_outlive_a_port_and_the_controller(listed: tuple[Bridge, Controller]) -> None:
    bridge, controller = listed
    bridge.inject(IN1, frame(proto=6, ports=(1, 80)), frame(ports=(67, 68)))
    before, since = packets(listed), told(listed)["rules"]["web"]["since"]
    bridge.del_port(IN2)
    wait_for(lambda: len(told(listed)["ports"]) == 1, "the port to be gone")
    bridge.add_port(IN2, "in2")
    wait_for(lambda: len(told(listed)["ports"]) == 2, "the port to be back")
    assert packets(listed) == before
    controller.kill9()
    delete_web(bridge)
    bridge.inject(IN1, frame(ports=(67, 68)))
    controller.start()
    controller.wait_ready(bridge)
    after = told(listed)["rules"]
    # A new controller knows what the switch has: of `web` since now, of others since ever.
    assert after["web"]["packets"] == 0
    assert after["web"]["since"] > since
    assert after["no-rogue-dhcp"]["packets"] == before["no-rogue-dhcp"] + 1
    assert after["no-rogue-dhcp"]["since"] < after["web"]["since"]


def test_a_meter_goes_with_its_rule(listed: tuple[Bridge, Controller]) -> None:
    """At a reload, and when the file was changed while no controller ran."""
    bridge, controller = listed
    meter = rule_meter("guests", "arp")
    assert meter in bridge.meters()
    without = CONFIG.replace("rate: 10", "action: allow")
    assert reload(controller, without) == {"flows": 1, "groups": 0, "meters": 1}
    wait_for(lambda: meter not in bridge.meters(), "the meter to be gone")
    reload(controller, CONFIG)
    wait_for(lambda: meter in bridge.meters(), "the meter to be back")
    controller.kill9()
    write(controller, without)
    controller.start()
    controller.wait_ready(bridge)
    wait_for(lambda: meter not in bridge.meters(), "the meter to be gone again")
    reload(controller, CONFIG)
