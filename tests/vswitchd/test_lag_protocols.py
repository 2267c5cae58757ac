"""What runs over an aggregation as over any port: spanning tree, IGMP; and a bond of Open vSwitch's
own in the place of LACP in the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd.test_lags import (
    DPID,
    LAG,
    M1,
    M2,
    M3,
    MEMBERS,
    NAMES,
    X,
    Y,
    Z,
    await_used,
    configure,
    file,
)

GROUP = "239.1.1.1"


pytestmark = pytest.mark.controller(file())


@pytest.fixture
def bridge(bridge_factory: Callable[..., Bridge], controller: Controller) -> Iterator[Bridge]:
    made = bridge_factory(ports=NAMES, dpid=DPID)
    yield made
    configure(controller, made, file())


def bpdus(bridge: Bridge, ports: set[int]) -> list[int]:
    """By which of these ports BPDUs have left since this was asked last."""
    group = frames.mac(frames.BPDU_GROUP)
    return [port for port in sorted(ports) for sent in bridge.sent(port) if sent[:6] == group]


def test_spanning_tree_sees_one_port(bridge: Bridge, controller: Controller) -> None:
    configure(controller, bridge, file(stp={"enabled": True, "hello_time": 1}))
    bridge.forget_sent()
    said: list[int] = []

    def spoken() -> bool:
        said.extend(bpdus(bridge, MEMBERS | {X}))
        return said.count(X) >= 3

    wait_for(spoken, "three BPDUs on another port", tick=bridge.switch.step)
    assert 2 <= sum(port in MEMBERS for port in said) <= 4  # as many as there, and not thrice
    assert len({port for port in said if port in MEMBERS}) == 1
    root = f"/v1/bridges/{bridge.dpid16}/stp"

    def heard() -> bool:
        """Said again and again, as bridges do: the switch's clock runs ahead of the controller's
        here, and the flow that brings BPDUs ends now and then before it is renewed."""
        bridge.inject(M2, frames.bpdu("00:00:00:00:00:01"))
        port = next(port for port in controller.get(root)["ports"] if port["number"] == LAG)
        return bool(port["role"] == "root")

    wait_for(heard, "the aggregation to be the root port", tick=bridge.switch.step)


def test_igmp_over_it(bridge: Bridge) -> None:
    bridge.inject(X, mcframes.query(250, version=2))
    wait_for(lambda: bridge.send(Z, mcframes.stream(9, GROUP)) == {X}, "streams to be restricted")
    report = mcframes.join(1, GROUP, version=2)
    bridge.forget_sent()
    bridge.inject(M2, report)
    wait_for(lambda: report in bridge.sent(X), "the report to reach the querier")
    assert not any(report in bridge.sent(port) for port in MEMBERS)

    def delivered() -> bool:
        out = bridge.send(Z, mcframes.stream(9, GROUP))
        return len(out & MEMBERS) == 1 and out - MEMBERS == {X}

    wait_for(delivered, "a stream to leave by one member")
    for member in sorted(MEMBERS):
        assert bridge.send(member, mcframes.stream(8, GROUP)) == {X}


def test_a_querier_behind_it_gets_reports_by_one_member(bridge: Bridge) -> None:
    bridge.inject(M3, mcframes.query(250, version=2))
    stream = mcframes.stream(9, GROUP)
    wait_for(lambda: Y not in bridge.send(Z, stream), "streams to be restricted")
    wait_for(lambda: len(bridge.send(Z, stream) & MEMBERS) == 1, "the querier to get the stream")
    report = mcframes.join(1, GROUP, version=2)
    by: list[int] = []
    bridge.forget_sent()
    bridge.inject(X, report)

    def reported() -> bool:
        by.extend(port for port in sorted(MEMBERS | {Y}) if report in bridge.sent(port))
        return bool(by)

    wait_for(reported, "the report to reach the querier")
    assert len(by) == 1
    assert by[0] in MEMBERS
    assert bridge.send(M1, mcframes.stream(8, GROUP)) == {X}


def test_a_bond_of_open_vswitchs_own_counts_when_its_lacp_has_enabled_it(
    vswitchd: VSwitchd, bridge: Bridge
) -> None:
    """No device speaks LACP at the other end: without a partner the members are not live."""
    for number in (M1, M2, M3):
        vswitchd.vsctl("del-port", bridge.name, NAMES[number - 1])
    vswitchd.vsctl(
        *("add-bond", bridge.name, "bond0", "m1", "m2", "lacp=active", "bond_mode=balance-tcp"),
        *("--", "set", "Interface", "m1", "type=dummy", "ofport_request=1"),
        f"options:tx_pcap={vswitchd.dir}/{bridge.name}-1.pcap",
        *("--", "set", "Interface", "m2", "type=dummy", "ofport_request=2"),
        f"options:tx_pcap={vswitchd.dir}/{bridge.name}-2.pcap",
    )
    await_used(bridge, set())
    frame = frames.ethernet(frames.BROADCAST, frames.host(1))
    assert bridge.send(X, frame) & MEMBERS == set()
    vswitchd.vsctl("set", "Port", "bond0", "lacp=off")
    await_used(bridge, {M1, M2})
    out = bridge.send(X, frame)
    assert len(out & MEMBERS) == 1


def test_a_switch_that_restarts_has_it_again(vswitchd: VSwitchd, bridge: Bridge) -> None:
    frame = frames.ethernet(frames.BROADCAST, frames.host(1))
    assert len(bridge.send(X, frame) & MEMBERS) == 1
    vswitchd.restart_switch()
    await_used(bridge, MEMBERS)
    wait_for(lambda: Y in bridge.send(X, frame), "ports to be open", tick=bridge.switch.step)
    assert len(bridge.send(X, frame) & MEMBERS) == 1
    assert bridge.send(M3, frame) == {X, Y, Z, LOCAL}
