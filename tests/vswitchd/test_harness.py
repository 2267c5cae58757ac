"""The harness itself: what the other tests rely on, without a controller."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support import frames
from tests.support.flows import parse_flow
from tests.support.ovs import LOCAL, VSwitchd


def test_a_frame_leaves_by_the_ports_the_flow_names(vswitchd: VSwitchd) -> None:
    bridge = vswitchd.add_bridge(ports=3)
    frame = frames.ethernet(frames.host(2), frames.host(1), vlan=7)
    assert bridge.send(1, frame) == set()  # secure: an empty bridge drops
    vswitchd.ofctl("add-flow", bridge.name, "actions=output:2,output:LOCAL,in_port")
    assert bridge.send(1, frame) == {1, 2, LOCAL}


def test_idle_flows_expire_in_virtual_time(vswitchd: VSwitchd) -> None:
    bridge = vswitchd.add_bridge(ports=2)
    vswitchd.ofctl("add-flow", bridge.name, "idle_timeout=300,in_port=1,actions=output:2")
    vswitchd.ofctl("add-flow", bridge.name, "idle_timeout=300,in_port=2,actions=output:1")
    vswitchd.warp(200)
    bridge.inject(1, frames.arp_request(frames.host(1)))
    vswitchd.warp(200)
    assert [flow.match for flow in bridge.flows()] == ["in_port=1"]


def test_restart_keeps_bridges_and_loses_flows(vswitchd: VSwitchd) -> None:
    bridge = vswitchd.add_bridge(ports=2)
    vswitchd.ofctl("add-flow", bridge.name, "in_port=1,actions=output:2")
    frame = frames.arp_request(frames.host(1))
    assert bridge.send(1, frame) == {2}
    vswitchd.restart_switch()
    assert bridge.flows() == []
    vswitchd.ofctl("add-flow", bridge.name, "in_port=1,actions=output:2")
    assert bridge.send(1, frame) == {2}


def test_flows_groups_and_meters_are_read_back(vswitchd: VSwitchd) -> None:
    bridge = vswitchd.add_bridge(ports=2)
    vswitchd.ofctl("add-group", bridge.name, "group_id=9,type=all,bucket=output:1,bucket=output:2")
    vswitchd.ofctl("add-meter", bridge.name, "meter=4,pktps,bands=type=drop,rate=100")
    flow = "table=3,cookie=0x12,idle_timeout=300,send_flow_rem,priority=5,dl_vlan=5"
    vswitchd.ofctl("add-flow", bridge.name, f"{flow},actions=group:9")
    assert bridge.groups() == {9: {1, 2}}
    assert set(bridge.meters()) == {4}
    assert bridge.flows()[0].identity == (
        *(3, 5, "dl_vlan=5", "group:9"),
        *(0x12, 300, "send_flow_rem"),
    )


def test_parse_flow_without_match() -> None:
    flow = parse_flow(" cookie=0x0, duration=2.5s, table=0, n_packets=3, n_bytes=46, actions=drop")
    assert (flow.priority, flow.match, flow.packets) == (0x8000, "", 3)


def test_everything_is_ended_and_removed() -> None:
    switch = VSwitchd()
    switch.start()
    pids = [
        int((switch.dir / f"{name}.pid").read_text()) for name in ("ovs-vswitchd", "ovsdb-server")
    ]
    switch.stop_switch(signal.SIGKILL)
    switch.close()
    assert not switch.dir.exists()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
