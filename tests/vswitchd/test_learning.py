"""Learning from packet-ins, and where frames go while and after it happens."""

from __future__ import annotations

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, learned_flows, wait_learned
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

A, B, C = (frames.host(number) for number in (1, 2, 3))


@pytest.mark.parametrize("dst", [B, frames.BROADCAST, "01:00:5e:00:00:fb", "33:33:00:00:00:01"])
def test_first_frame_floods_without_waiting_for_the_controller(
    bridge: Bridge, controller: Controller, dst: str
) -> None:
    controller.pause()
    try:
        assert bridge.send(1, frames.ethernet(dst, A)) == {2, 3, LOCAL}
        assert bridge.send(2, frames.ethernet(dst, C, vlan=5)) == {1, 3, LOCAL}
    finally:
        controller.resume()
    wait_learned(controller, bridge, A, 1)
    wait_learned(controller, bridge, C, 2, vlan=5)


def test_a_host_is_two_flows(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=2)
    source, destination = learned_flows(bridge)
    assert source.identity[:4] == (
        TableId.SOURCE,
        200,
        f"in_port=2,vlan_tci=0x0000/0x0fff,dl_src={A}",
        f"goto_table:{TableId.DESTINATION}",
    )
    assert (source.idle_timeout, source.flags) == (300, "send_flow_rem")
    assert destination.identity[:4] == (
        TableId.DESTINATION,
        200,
        f"vlan_tci=0x0000/0x0fff,dl_dst={A}",
        "output:2",
    )
    assert destination.idle_timeout == 0


def test_known_destinations_get_their_frames_alone(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.ethernet(B, A)) == {2}
    assert bridge.send(2, frames.ethernet(A, B)) == {1}
    assert bridge.send(3, frames.ethernet(A, C)) == {1}


def test_two_hosts_behind_one_port_are_left_to_themselves(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=1)
    assert bridge.send(1, frames.ethernet(B, A)) == set()


def test_known_sources_are_not_copied_to_the_controller_again(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=1)

    def misses() -> int:
        bridge.switch.settle()
        return sum(
            flow.packets
            for flow in bridge.flows()
            if flow.table == TableId.SOURCE and "controller" in flow.actions.lower()
        )

    before = misses()
    for _ in range(5):
        bridge.inject(1, frames.ethernet(C, A), frames.arp_request(A))
    assert misses() == before
    bridge.inject(1, frames.arp_request(B))
    assert misses() == before + 1


@pytest.mark.parametrize("src", ["01:00:5e:01:02:03", frames.BROADCAST, "00:00:00:00:00:00"])
@pytest.mark.parametrize("vlan", [None, 7])
def test_group_and_zero_sources_are_dropped(
    bridge: Bridge, controller: Controller, src: str, vlan: int | None
) -> None:
    assert bridge.send(1, frames.ethernet(frames.BROADCAST, src, vlan=vlan)) == set()
    learn(controller, bridge, 1, port=1)  # had the first been learned, it would be by now
    assert controller.where(bridge, src, vlan or 0) is None
    assert halves(bridge, src) == (0, 0)


def test_one_address_in_two_vlans_is_two_hosts(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1, vlan=10)
    learn(controller, bridge, 1, port=2, vlan=20)
    assert controller.where(bridge, A, 10) == 1
    assert controller.where(bridge, A, 20) == 2
    assert controller.where(bridge, A) is None
    assert bridge.send(3, frames.ethernet(A, C, vlan=10)) == {1}
    assert bridge.send(3, frames.ethernet(A, C, vlan=20)) == {2}
    assert bridge.send(3, frames.ethernet(A, C, vlan=30)) == {1, 2, LOCAL}
    assert bridge.send(3, frames.ethernet(A, C)) == {1, 2, LOCAL}


def test_priority_tag_is_vlan_0(bridge: Bridge, controller: Controller) -> None:
    bridge.inject(1, frames.ethernet(frames.BROADCAST, A, vlan=0, pcp=5))
    wait_learned(controller, bridge, A, 1, vlan=0)
    assert bridge.send(2, frames.ethernet(A, B)) == {1}
    assert bridge.send(2, frames.ethernet(A, B, vlan=0, pcp=3)) == {1}
    bridge.inject(1, frames.ethernet(B, A))
    assert halves(bridge, A) == (1, 1)


def test_the_inner_tag_is_the_hosts_own_business(bridge: Bridge, controller: Controller) -> None:
    inner = (0x8100 << 16 | 44).to_bytes(4, "big") + b"\x88\xb5"
    frame = frames.ethernet(frames.BROADCAST, A, inner[2:], ethertype=frames.ETH_VLAN, vlan=33)
    assert bridge.send(1, frame) == {2, 3, LOCAL}
    wait_learned(controller, bridge, A, 1, vlan=33)
    assert controller.where(bridge, A, 44) is None


def test_a_moved_host_is_right_after_its_first_frame(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 3, port=3)
    for port in (2, 1, 2):
        assert bridge.send(port, frames.ethernet(C, A)) == {3}  # not held up by the move either
        wait_learned(controller, bridge, A, port)
        wait_for(lambda: halves(bridge, A) == (1, 1), "the old flows to be gone")
        assert bridge.send(3, frames.ethernet(A, C)) == {port}


def test_local_is_a_port(bridge: Bridge, controller: Controller) -> None:
    assert bridge.send(LOCAL, frames.ethernet(frames.BROADCAST, A)) == {1, 2, 3}
    wait_learned(controller, bridge, A, LOCAL)
    assert bridge.send(1, frames.ethernet(A, B)) == {LOCAL}
    wait_learned(controller, bridge, B, 1)
    assert bridge.send(LOCAL, frames.ethernet(B, A)) == {1}


def test_the_bridges_own_address_is_on_local(bridge: Bridge, controller: Controller) -> None:
    own = bridge.switch.vsctl("get", "Interface", bridge.name, "mac_in_use").strip().strip('"')
    assert bridge.send(1, frames.ethernet(own, A)) == {LOCAL}
    assert bridge.send(1, frames.ethernet(own, A, vlan=9)) == {LOCAL}
    assert [entry["type"] for entry in controller.fdb(bridge, mac=own)] == ["local"]
    # Another host that claims it does not get it.
    bridge.inject(2, frames.ethernet(frames.BROADCAST, own))
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.ethernet(own, A)) == {LOCAL}
    assert halves(bridge, own) == (0, 0)


def test_a_port_that_receives_the_bridges_own_address_is_named(
    bridge: Bridge, controller: Controller
) -> None:
    """Linux warns of the same: behind the port is a loop, or a clone of this host."""
    own = bridge.switch.vsctl("get", "Interface", bridge.name, "mac_in_use").strip().strip('"')

    def warned() -> list[int]:
        events = controller.events("fdb.own_address")
        return [event["port"] for event in events if event["datapath_id"] == bridge.dpid16]

    frame = frames.ethernet(frames.BROADCAST, own)
    assert bridge.send(LOCAL, frame) == {1, 2, 3}
    assert bridge.send(2, frame) == {1, 3, LOCAL}
    bridge.inject(2, *[frame] * 99)
    wait_for(warned, "the event")
    bridge.switch.step()  # the meter of all ports lets frames of another port through again
    bridge.switch.warp(1)
    bridge.inject(3, frame)
    wait_for(lambda: len(warned()) > 1, "the event of the other port")
    assert warned() == [2, 3]
    assert controller.bridge(bridge)["counters"]["own_address"] > 1

    def suspected() -> list[str]:
        bridge.switch.warp(0.5)
        bridge.inject(3, frame)
        listed = controller.get("/v1/problems")["problems"]
        return [each["port"] for each in listed if each["kind"] == "loop.suspected"]

    wait_for(lambda: bridge.port_name(3) in suspected(), "the problem, as the frames keep coming")


def test_many_hosts_at_once(bridge: Bridge, controller: Controller) -> None:
    macs = [frames.host(0x10000 + number) for number in range(300)]
    for index, mac in enumerate(macs):
        bridge.inject(1 + index % 3, frames.arp_request(mac))
    wait_for(lambda: len(learned_flows(bridge)) == 600, "600 flows")
    known = {entry["mac"]: entry for entry in controller.fdb(bridge, type="learned", limit=50)}
    assert set(known) == set(macs)
