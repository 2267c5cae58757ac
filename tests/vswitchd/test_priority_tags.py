"""Control frames with a priority tag (VID 0): they count as those without a tag."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from ofapp.bridge.lag.lacp import Information, State, System
from ofapp.bridge.lag.lacp.slow import encode_lacpdu
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.unit.bridge.lldp.lab import pdu
from tests.vswitchd.stp.neighbour import INFERIOR, alongside

DPID = 0x8A0
EDGE, HOST, MEMBER = 1, 2, 3
"""A port with BPDU guard, one with a guest, and the member of an aggregation with LACP."""
STP = {"enabled": True, "hello_time": 1, "max_age": 6, "forward_delay": 4}
FILE = {
    "bridges": {
        f"{DPID + number:016x}": {
            "stp": {**STP, "bpdu_guard_recovery": 0},
            "lldp": {"enabled": True},
            "lags": {"lag0": {"members": [f"member{number}"], "lacp": "active"}},
            "ports": {
                f"edge{number}": {"stp": {"admin_edge": True, "bpdu_guard": True}},
                f"host{number}": {"stp": {"admin_edge": True}},
            },
        }
        for number in range(4)
    }
}
"""A bridge for each tag."""
_unused = iter(range(4))


pytestmark = pytest.mark.controller(repr(FILE))


def tagged(frame: bytes, kind: int, tci: int) -> bytes:
    return frame[:12] + struct.pack("!HH", kind, tci) + frame[12:]


@pytest.mark.parametrize("kind", [0x8100, 0x88A8], ids=["802.1Q", "802.1ad"])
def test_they_are_heard_as_without_a_tag(
    vswitchd: VSwitchd, controller: Controller, kind: int
) -> None:
    bridge = connected(vswitchd, controller)

    def get(what: str) -> Any:
        return controller.get(f"/v1/bridges/{bridge.dpid16}/{what}")

    def port(what: str, number: int) -> Any:
        return next(own for own in get(what)["ports"] if own["number"] == number)

    def wait(condition: Callable[[], Any], what: str) -> None:
        wait_for(condition, what, tick=alongside(bridge))

    for number in (EDGE, HOST):
        wait(lambda at=number: port("stp", at)["state"] == "forwarding", "the edge to open")  # type: ignore[misc]
    bridge.inject(HOST, tagged(mcframes.join(1, "239.1.1.1"), kind, 0xE000))
    wait(lambda: "239.1.1.1" in str(get("mdb")), "the member")
    bridge.inject(HOST, tagged(pdu(), kind, 0x6000))
    wait(lambda: port("lldp", HOST)["neighbours"], "the neighbour")
    partner = Information(System(1, 0x02_00_00_00_00_99), 7, 1, 1, State(0x05))
    bridge.inject(MEMBER, tagged(encode_lacpdu(partner, partner, 7), kind, 0xE000))
    wait(lambda: "02:00:00:00:00:99" in str(get("lags")), "the partner")

    def tripped() -> bool:
        bridge.inject(EDGE, tagged(INFERIOR, kind, 0xF000))  # again: the trap may be late
        return bool(port("stp", EDGE)["guards"] == ["bpdu-guard"])

    wait(tripped, "the guard to trip")


@pytest.mark.parametrize("tags", [(7,), (0, 0)], ids=["in a VLAN", "two tags"])
def test_in_a_vlan_they_are_no_control_frames(
    vswitchd: VSwitchd, controller: Controller, tags: tuple[int, ...]
) -> None:
    bridge = connected(vswitchd, controller)

    def stp() -> Any:
        return controller.get(f"/v1/bridges/{bridge.dpid16}/stp")

    def edge() -> Any:
        return next(port for port in stp()["ports"] if port["number"] == EDGE)

    wait_for(lambda: edge()["state"] == "forwarding", "it to open", tick=alongside(bridge))
    frame = INFERIOR
    for tag in tags:
        frame = tagged(frame, 0x8100, tag)

    def was_dropped() -> bool:
        bridge.inject(EDGE, frame)
        return dropped(controller, bridge)

    wait_for(was_dropped, "it to be dropped", tick=alongside(bridge))
    assert edge()["guards"] == []


def dropped(controller: Controller, bridge: Bridge) -> bool:
    events = controller.events("stp.bpdu.dropped")
    return any(event["datapath_id"] == bridge.dpid16 for event in events)


def connected(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    number = next(_unused)
    bridge = vswitchd.add_bridge(dpid=DPID + number)
    for port, name in ((EDGE, "edge"), (HOST, "host"), (MEMBER, "member")):
        bridge.add_port(port, f"{name}{number}")
    controller.connect(bridge)
    return bridge
