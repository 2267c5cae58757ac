"""Aggregations on a real switch: several ports that are one port of the bridge."""

from __future__ import annotations

import itertools
import re
import struct
from collections import Counter
from collections.abc import Iterator

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.hosts import learned_flows, wait_learned
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B, C = (frames.host(number) for number in (1, 2, 3))
DPID = 0x5B
M1, M2, M3, X, Y, Z = 1, 2, 3, 4, 5, 6
NAMES = ("m1", "m2", "m3", "x", "y", "z")
MEMBERS = {M1, M2, M3}
LAG = 4095
STATIC = {"members": ["m1", "m2", "m3"], "lacp": "off"}


def file(**bridge: object) -> str:
    own = {"lags": {"lag0": STATIC}, "mac_move": {"moves": 0}, **bridge}
    return repr({"bridges": {f"{DPID:016x}": own}})


pytestmark = pytest.mark.controller(file())


@pytest.fixture(scope="module")
def switch(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    return controller.connect(vswitchd.add_bridge(dpid=DPID, ports=NAMES))


@pytest.fixture
def bridge(switch: Bridge, controller: Controller) -> Iterator[Bridge]:
    """As if new: no host is known there; afterwards all links are up, and the file as it was."""
    controller.flush(switch)
    wait_for(lambda: not learned_flows(switch), "no host to be known")
    yield switch
    for number in sorted(MEMBERS):
        switch.link(number, up=True)
    configure(controller, switch, file())
    await_used(switch, MEMBERS)


def configure(controller: Controller, bridge: Bridge, text: str) -> None:
    controller.configure(text)
    reply = controller.api("POST", "/v1/config/reload", force=True)
    assert reply.status == 200, reply.body
    controller.wait_ready(bridge)


def learn(controller: Controller, bridge: Bridge, port: int, mac: str, vlan: int = 0) -> None:
    bridge.inject(port, frames.ethernet(frames.BROADCAST, mac, vlan=vlan or None))
    wait_learned(controller, bridge, mac, LAG if port in MEMBERS else port, vlan)


def used(bridge: Bridge) -> set[int]:
    """The members whose frames enter."""
    return {
        port
        for flow in bridge.flows()
        for port in MEMBERS
        if (flow.table, flow.priority, flow.match) == (TableId.ADMISSION, 980, f"in_port={port}")
    }


def await_used(bridge: Bridge, members: set[int]) -> None:
    wait_for(lambda: used(bridge) == members, f"members {members} in use", tick=bridge.switch.step)


def test_a_flood_leaves_by_one_member_and_never_comes_back(bridge: Bridge) -> None:
    out = bridge.send(X, frames.ethernet(frames.BROADCAST, A))
    assert len(out & MEMBERS) == 1
    assert out - MEMBERS == {Y, Z, LOCAL}
    for member in sorted(MEMBERS):
        for to in (frames.BROADCAST, "01:00:5e:01:02:03", C):
            assert bridge.send(member, frames.ethernet(to, B)) == {X, Y, Z, LOCAL}


def test_a_host_behind_it_is_known_whichever_member_it_speaks_by(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, M1, A)
    assert bridge.send(M2, frames.ethernet(B, A)) == {X, Y, Z, LOCAL}
    assert controller.where(bridge, A) == LAG
    out = bridge.send(X, frames.ethernet(A, C))
    assert len(out) == 1
    assert out <= MEMBERS


def test_known_unicast_is_not_reflected(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, M1, A)
    learn(controller, bridge, M2, B)
    for member in sorted(MEMBERS):
        assert bridge.send(member, frames.ethernet(A, B)) == set()


def flow_of(hash_: str, number: int) -> bytes:
    """Of a thousand flows to one host that differ in what this hash is about."""
    mac = number % 1000 if hash_ == "layer2" else 7
    address = f"10.1.{number >> 8}.{number & 255}" if hash_ == "layer2+3" else "10.1.0.7"
    udp = struct.pack("!HHHH", 1024 + number if hash_ == "layer3+4" else 9, 53, 8, 0)
    frame = mcframes.ip4(1000 + mac, "10.2.0.1", 17, udp, source=address)
    return frames.mac(A) + frame[6:]


@pytest.mark.parametrize("hash_", ["layer2", "layer2+3", "layer3+4"])
def test_a_thousand_flows_spread_and_stay_where_they_are(
    bridge: Bridge, controller: Controller, hash_: str
) -> None:
    configure(controller, bridge, file(lags={"lag0": {**STATIC, "hash": hash_}}))
    learn(controller, bridge, M1, A)
    before = ways(bridge, hash_)
    counts = Counter(before.values())
    assert set(counts) == MEMBERS
    assert all(250 < count < 420 for count in counts.values()), counts
    bridge.link(M3, up=False)  # whose flows alone go elsewhere
    await_used(bridge, {M1, M2})
    after = ways(bridge, hash_)
    assert {n: way for n, way in after.items() if before[n] != M3} == {
        n: way for n, way in before.items() if way != M3
    }
    assert set(after.values()) == {M1, M2}


def ways(bridge: Bridge, hash_: str, count: int = 1000) -> dict[int, int]:
    """By which member each flow leaves."""
    bridge.forget_sent()
    sent = {flow_of(hash_, number): number for number in range(count)}
    bridge.inject(X, *sent)
    found = {sent[frame]: port for port in sorted(MEMBERS) for frame in bridge.sent(port)}
    assert len(found) == count
    return found


def test_a_dead_member_is_stepped_over_without_the_controller(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, M1, A)
    controller.pause()
    try:
        bridge.link(M1, up=False)
        assert set(ways(bridge, "layer2+3", 100).values()) == {M2, M3}
        bridge.link(M2, up=False)
        assert set(ways(bridge, "layer2+3", 50).values()) == {M3}
    finally:
        controller.resume()
    await_used(bridge, {M3})


def test_with_fewer_members_than_min_links_it_is_down(
    bridge: Bridge, controller: Controller
) -> None:
    configure(controller, bridge, file(lags={"lag0": {**STATIC, "min_links": 2}}))
    learn(controller, bridge, M1, A)
    bridge.link(M1, up=False)
    await_used(bridge, {M2, M3})
    assert controller.where(bridge, A) == LAG
    bridge.link(M2, up=False)
    wait_for(lambda: controller.where(bridge, A) is None, "its hosts to be forgotten")
    assert bridge.send(X, frames.ethernet(frames.BROADCAST, C)) == {Y, Z, LOCAL}
    wait_for(lambda: bridge.send(M3, frames.ethernet(frames.BROADCAST, B)) == set(), "it is shut")
    bridge.link(M2, up=True)
    await_used(bridge, {M2, M3})
    wait_for(lambda: bool(bridge.send(X, frames.ethernet(frames.BROADCAST, C)) & MEMBERS), "open")


def test_its_vlans_are_those_of_a_port(bridge: Bridge, controller: Controller) -> None:
    ports = {"lag0": {"vlan": {"trunk": [10, 20], "native": 10}}, "x": {"vlan": 10}}
    configure(controller, bridge, file(ports={**ports, "y": {"vlan": 20}, "z": {"vlan": 30}}))
    bare = frames.ethernet(frames.BROADCAST, A)
    got = bridge.deliver(X, bare)
    assert [got[port] for port in MEMBERS & got.keys()] == [[bare]]
    assert got.keys() - MEMBERS <= {LOCAL}
    got = bridge.deliver(Y, bare)
    (out,) = (got[port][0] for port in MEMBERS & got.keys())
    assert out[12:16] == bytes.fromhex("81000014")
    for member in sorted(MEMBERS):
        got = bridge.deliver(member, frames.ethernet(frames.BROADCAST, B, vlan=20))
        assert got.keys() - {LOCAL} == {Y}
        assert bridge.deliver(member, frames.ethernet(frames.BROADCAST, B, vlan=30)) == {}
    learn(controller, bridge, M2, C, 20)
    got = bridge.deliver(Y, frames.ethernet(C, A))
    assert [port in MEMBERS for port in got] == [True]


def test_a_mirror_copies_from_it_and_to_it(bridge: Bridge, controller: Controller) -> None:
    watched = {"mirrors": {"ids": {"to": "z", "ingress": "lag0", "egress": "lag0"}}}
    configure(controller, bridge, file(**watched))
    frame = frames.ethernet(frames.BROADCAST, A)
    assert bridge.send(M2, frame) == {X, Y, Z, LOCAL}
    out = bridge.send(X, frame)
    assert len(out & MEMBERS) == 1
    assert out - MEMBERS == {Y, Z, LOCAL}
    listener = {"mirrors": {"ids": {"to": "lag0", "ingress": "x", "egress": "y"}}}
    configure(controller, bridge, file(**listener))
    assert len(bridge.deliver(X, frame).keys() & MEMBERS) >= 1
    assert len(bridge.deliver(Z, frame).keys() & MEMBERS) == 1
    assert bridge.send(M1, frame) == set()


def test_an_access_list_and_isolation_hold_for_it(bridge: Bridge, controller: Controller) -> None:
    rules = [
        {"name": "no", "match": {"eth_src": C}, "action": "drop"},
        {"name": "rest", "match": {}, "action": "allow"},
    ]
    ports = {"lag0": {"acl": "a", "isolated": True}, "x": {"isolated": True}}
    configure(controller, bridge, file(ports=ports, acls={"a": rules}))
    assert bridge.send(M1, frames.ethernet(frames.BROADCAST, C)) == set()
    assert bridge.send(M3, frames.ethernet(frames.BROADCAST, B)) == {Y, Z, LOCAL}
    assert bridge.send(X, frames.ethernet(frames.BROADCAST, A)) == {Y, Z, LOCAL}
    assert len(bridge.send(Y, frames.ethernet(frames.BROADCAST, A)) & MEMBERS) == 1


def test_what_its_members_count_it_has_counted(bridge: Bridge, controller: Controller) -> None:
    path = f"/v1/bridges/{bridge.dpid16}/ports/lag0"

    def received() -> int:
        return int(controller.get(path, counters=True)["counters"]["rx_frames"])

    def counted(member: int) -> int:
        found = re.search(
            r"rx pkts=(\d+)", bridge.switch.ofctl("dump-ports", bridge.name, f"m{member}")
        )
        assert found is not None
        return int(found[1])

    for member in sorted(MEMBERS):
        bridge.inject(member, frames.ethernet(frames.BROADCAST, A))
    by_switch = [counted(member) for member in sorted(MEMBERS)]
    assert all(by_switch)
    wait_for(lambda: received() == sum(by_switch), "the controller to have the switch's counts")


def test_hairpin_brings_frames_back_by_one_member(bridge: Bridge, controller: Controller) -> None:
    configure(controller, bridge, file(ports={"lag0": {"hairpin": True}}))
    out = bridge.send(M1, frames.ethernet(frames.BROADCAST, A))
    assert len(out & MEMBERS) == 1
    assert out - MEMBERS == {X, Y, Z, LOCAL}


def test_a_rule_copies_to_it(bridge: Bridge, controller: Controller) -> None:
    rules = [{"name": "copy", "match": {}, "action": "allow", "mirror": "lag0"}]
    learn(controller, bridge, Y, B)
    configure(controller, bridge, file(ports={"x": {"acl": "a"}}, acls={"a": rules}))
    out = bridge.send(X, frames.ethernet(B, A))
    assert len(out & MEMBERS) == 1
    assert out - MEMBERS == {Y}


def test_slow_protocols_go_nowhere(bridge: Bridge) -> None:
    pdu = frames.ethernet("01:80:c2:00:00:02", A, bytes([1, 1]), ethertype=0x8809)
    for port in (M1, X):
        assert bridge.send(port, pdu) == set()


def test_a_member_that_moves_out_and_in_is_one_port_at_a_time(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, M3, A)
    two = {**STATIC, "members": ["m1", "m2"]}
    configure(controller, bridge, file(lags={"lag0": two}))
    frame = frames.ethernet(frames.BROADCAST, B)
    assert used(bridge) == {M1, M2}
    wait_for(lambda: bridge.send(M1, frame) == {M3, X, Y, Z, LOCAL}, "m3 to be open")
    assert len(bridge.send(M3, frame) & {M1, M2}) == 1
    configure(controller, bridge, file())
    await_used(bridge, MEMBERS)
    assert bridge.send(M3, frame) == {X, Y, Z, LOCAL}
    configure(controller, bridge, file(lags={}))
    wait_for(lambda: bridge.send(M1, frame) == {M2, M3, X, Y, Z, LOCAL}, "three ordinary ports")
    assert {flow.table for flow in bridge.flows()} <= {*range(TableId.EGRESS), TableId.OWNER}


@pytest.mark.parametrize("how", ["kill9", "terminate"])
def test_a_controller_that_starts_again_changes_nothing(
    bridge: Bridge, controller: Controller, how: str
) -> None:
    learn(controller, bridge, M1, A)
    before = {flow.identity for flow in bridge.flows()}
    getattr(controller, how)()
    assert len(bridge.send(X, frames.ethernet(A, C))) == 1
    controller.start()
    controller.wait_ready(bridge)
    assert {flow.identity for flow in bridge.flows()} == before
    assert controller.where(bridge, A) == LAG
    assert controller.bridge(bridge)["counters"].get("mended", 0) == 0


@pytest.mark.thorough  # a member has to be silent for half a minute
def test_a_partner_that_sends_by_one_member_alone_is_reported(
    bridge: Bridge, controller: Controller
) -> None:
    """It may be active-backup, and take nothing by the others."""
    ages = itertools.count(301)

    many = [frames.ethernet(B, A).hex()] * 50

    def go_on() -> None:
        """The partner sends, and the controller looks at what the switch has counted."""
        bridge.switch.appctl("netdev-dummy/receive", "m2", *many)
        bridge.switch.step()
        configure(controller, bridge, file(ageing_time=next(ages)))

    for member in sorted(MEMBERS):
        learn(controller, bridge, member, frames.host(100 + member))
    events = wait_for(
        lambda: controller.get("/v1/events?kind=lag.one-sided")["events"],
        "the event",
        seconds=60,
        tick=go_on,
    )
    assert {event["data"]["port_name"] for event in events} == {"m1", "m3"}


def test_it_has_a_rate_as_a_whole(bridge: Bridge, controller: Controller) -> None:
    """Of what floods and of what is for a known host, whichever member each frame leaves by."""
    configure(controller, bridge, file(ports={"lag0": {"rate_out": 1000}}))
    large = [
        frames.ethernet(frames.BROADCAST, frames.host(number), payload=bytes(1236))  # 10 kbit
        for number in range(100, 200)
    ]
    bridge.switch.warp(2)
    bridge.forget_sent()
    bridge.inject(X, *large)
    left = Counter(frame for member in MEMBERS for frame in bridge.sent(member))
    assert abs(left.total() - 20) <= 1
    assert max(left.values()) == 1
    assert set(bridge.sent(Y)) >= set(large), "other ports have no limit"


def test_what_enters_has_one_rate_for_all_members(bridge: Bridge, controller: Controller) -> None:
    configure(controller, bridge, file(ports={"lag0": {"rate_in": 1000}}))
    large = frames.ethernet(frames.BROADCAST, A, payload=bytes(1236))  # 10 kbit
    bridge.switch.warp(2)
    bridge.forget_sent()
    for member in sorted(MEMBERS):
        bridge.inject(member, *[large] * 15)
    assert abs(bridge.sent(X).count(large) - 20) <= 1
