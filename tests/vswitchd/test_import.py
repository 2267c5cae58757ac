"""A bridge of a real Open vSwitch is imported; its frames then go where NORMAL sent them."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

STATIC = frames.host(77)
PORTS = {
    1: ["tag=10"],
    2: ["tag=10"],
    3: ["vlan_mode=trunk", "trunks=10,20"],
    4: ["vlan_mode=native-untagged", "tag=10"],
    5: ["tag=20"],
}
DROPPED = 0x88B6  # a type for local experiments
Seen = dict[tuple[int, str], dict[int, list[bytes]]]


def sent() -> dict[str, bytes]:
    source, everyone = frames.host(1), frames.BROADCAST
    return {
        "untagged": frames.ethernet(everyone, source),
        "in VLAN 10": frames.ethernet(everyone, source, vlan=10),
        "in VLAN 20": frames.ethernet(everyone, source, vlan=20),
        "to the static address": frames.ethernet(STATIC, source),
        "dropped": frames.ethernet(everyone, source, ethertype=DROPPED),
    }


def reach(bridge: Bridge) -> Seen:
    """What each port gets of each frame on each port."""
    bridge.switch.settle()
    return {
        (port, kind): {at: got for at, got in bridge.deliver(port, frame).items() if got}
        for port in PORTS
        for kind, frame in sent().items()
    }


def imported(switch: VSwitchd, bridge: Bridge) -> str:
    """The file that `ofapp import ovs` prints for a running bridge."""
    command = [sys.executable, "-m", "ofapp", "import", "ovs", "--bridge", bridge.name]
    done = subprocess.run(
        [*command, f"--db=unix:{switch.dir}/db.sock"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | switch.env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Without equivalent" not in done.stderr
    return done.stdout


def test_frames_go_where_open_vswitch_itself_sent_them(
    vswitchd: VSwitchd, controller: Controller
) -> None:
    bridge = vswitchd.add_bridge(ports=5)
    for port, columns in PORTS.items():
        vswitchd.vsctl("set", "Port", bridge.port_name(port), *columns)
    vswitchd.appctl("fdb/add", bridge.name, bridge.port_name(2), "10", STATIC)
    vswitchd.ofctl("add-flow", bridge.name, "priority=0,actions=NORMAL")
    vswitchd.ofctl("add-flow", bridge.name, f"priority=9,in_port=1,dl_type={DROPPED},actions=drop")
    before = reach(bridge)
    assert set(before[1, "to the static address"]) == {2}
    assert before[1, "dropped"] == {}
    assert set(before[2, "untagged"]) >= {1, 3, 4}
    controller.configure(imported(vswitchd, bridge))
    assert controller.api("POST", "/v1/config/reload").status == 200
    vswitchd.ofctl("del-flows", bridge.name)
    controller.connect(bridge)
    wait_for(lambda: reach(bridge) == before, "frames to go where they went before")
    bridge.destroy()
