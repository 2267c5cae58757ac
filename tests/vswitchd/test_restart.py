"""The controller dies, OVS dies, the connection dies: no frame between known hosts is lost."""

from __future__ import annotations

import pytest

from ofapp.bridge.fdb.fdb import COHORTS
from ofapp.openflow.model.cookie import APP, GENERATION, Feature, parse_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, learned_flows, wait_forgotten, wait_learned
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

A, B, C, D = (frames.host(number) for number in (1, 2, 3, 4))


@pytest.fixture
def talking(bridge: Bridge, controller: Controller) -> Bridge:
    """Hosts 1, 2 on ports 1, 2, host 3 in VLAN 30 on port 3, host 4 on LOCAL."""
    if not controller.alive:
        controller.start()
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    learn(controller, bridge, 3, port=3, vlan=30)
    learn(controller, bridge, 4, port=LOCAL)
    return bridge


def assert_no_loss(bridge: Bridge) -> None:
    """Known hosts reach each other, and only each other."""
    assert bridge.send(1, frames.ethernet(B, A)) == {2}
    assert bridge.send(2, frames.ethernet(A, B)) == {1}
    assert bridge.send(1, frames.ethernet(D, A)) == {LOCAL}
    assert bridge.send(1, frames.ethernet(C, A, vlan=30)) == {3}


def identities(bridge: Bridge) -> set[tuple[object, ...]]:
    """The flows without their counters."""
    return {flow.identity for flow in bridge.flows()}


def entries(controller: Controller, bridge: Bridge) -> set[tuple[str, int | None, str, str]]:
    """(mac, vlan, port, type) of the whole FDB."""
    return {
        (entry["mac"], entry["vlan"], entry["port"]["name"], entry["type"])
        for entry in controller.fdb(bridge)
    }


def wait_back(controller: Controller, bridge: Bridge) -> None:
    """Wait for *bridge* to be run again; its hosts talk all the while and lose nothing."""
    switch = bridge.switch

    def talk() -> None:
        switch.step()
        assert_no_loss(bridge)

    wait_for(lambda: bridge.connected, "the connection", tick=talk)
    talk()
    controller.wait_ready(bridge)
    talk()


def test_kill_9_changes_nothing(talking: Bridge, controller: Controller) -> None:
    learn(controller, talking, 1, port=1, vlan=30)  # so that frames in VLAN 30 are no news
    flows, groups, meters = identities(talking), talking.groups(), talking.meters().keys()
    known = entries(controller, talking)
    assert len(known) == 6  # five hosts and the bridge's own address
    controller.kill9()
    assert_no_loss(talking)
    talking.switch.warp(60)
    assert_no_loss(talking)
    controller.start()
    wait_back(controller, talking)
    wait_for(lambda: entries(controller, talking) == known, "the same FDB")
    assert identities(talking) == flows
    assert talking.groups() == groups
    assert talking.meters().keys() == meters


def test_a_clean_stop_leaves_the_flows_too(talking: Bridge, controller: Controller) -> None:
    flows = identities(talking)
    assert controller.terminate() == 0
    assert identities(talking) == flows
    controller.start()
    wait_back(controller, talking)


def test_rebuilt_entries_age_and_move_like_any(talking: Bridge, controller: Controller) -> None:
    controller.restart()
    controller.wait_ready(talking)
    wait_for(lambda: controller.where(talking, B) == 2, "the FDB")
    learn(controller, talking, 1, port=3)
    assert talking.send(2, frames.ethernet(A, B)) == {3}
    talking.switch.warp(200)
    talking.inject(3, frames.ethernet(B, A))
    talking.switch.warp(102)
    wait_forgotten(controller, talking, D)
    assert halves(talking, A) == (1, 1)


def test_an_address_never_keeps_its_serial_in_another_life(
    talking: Bridge, controller: Controller
) -> None:
    """It distinguishes a notice about the former flow from one about the present flow."""
    (before,) = {flow.cookie for flow in learned_flows(talking, A)}
    controller.restart()
    controller.wait_ready(talking)
    wait_for(lambda: controller.where(talking, A) == 1, "the FDB")
    learn(controller, talking, 1, port=3)
    (after,) = {flow.cookie for flow in learned_flows(talking, A)}
    assert after != before
    assert {0 < (flow.cookie & 0xFFFFFFFF) <= COHORTS for flow in learned_flows(talking)} == {True}


def test_hosts_that_moved_meanwhile_are_right_again(
    talking: Bridge, controller: Controller
) -> None:
    controller.kill9()
    talking.inject(3, frames.arp_request(A))  # no controller hears it
    controller.start()
    controller.wait_ready(talking)
    assert talking.send(3, frames.ethernet(B, A)) == {2}
    wait_learned(controller, talking, A, 3)
    wait_for(lambda: halves(talking, A) == (1, 1), "the old flows to go")
    assert talking.send(2, frames.ethernet(A, B)) == {3}


def test_hosts_are_not_known_in_a_vlan_that_their_port_has_left_meanwhile(
    talking: Bridge, controller: Controller
) -> None:
    controller.kill9()
    controller.configure(f"bridges: {{'{talking.dpid16}': {{ports: {{1: {{vlan: 10}}}}}}}}")
    controller.start()
    controller.wait_ready(talking)
    wait_for(lambda: controller.where(talking, B) == 2, "the FDB")
    wait_forgotten(controller, talking, A)
    talking.inject(1, frames.arp_request(A))
    wait_learned(controller, talking, A, 1, 10)
    assert [entry["vlan"] for entry in controller.fdb(talking, mac=A)] == [10]
    controller.configure("")
    controller.restart()


def test_stale_flows_and_orphans_are_removed_foreign_ones_are_not(
    talking: Bridge, controller: Controller
) -> None:
    controller.kill9()
    old = GENERATION - 1 & 0xFF
    ofctl, name = talking.switch.ofctl, talking.name

    def add(table: int, cookie: int, flow: str) -> None:
        ofctl("add-flow", name, f"table={table},cookie={cookie:#x},{flow}")

    def ours(feature: int, generation: int = GENERATION, serial: int = 0) -> int:
        return APP << 48 | feature << 40 | generation << 32 | serial

    host5, host6 = frames.host(5), frames.host(6)
    add(0, ours(Feature.BASE, old), "priority=7,in_port=9,actions=drop")
    add(33, ours(0x66, old), "priority=7,in_port=9,actions=drop")
    add(40, ours(Feature.PORT), "priority=7,in_port=9,actions=drop")
    add(60, ours(Feature.STATIC), f"priority=200,vlan_tci=0/0xfff,dl_dst={C},actions=output:1")
    add(  # a destination that no host sends from
        60,
        ours(Feature.LEARNED, serial=999),
        f"priority=200,vlan_tci=0/0xfff,dl_dst={host5},actions=output:1",
    )
    add(  # a source without its destination
        40,
        ours(Feature.LEARNED, serial=998),
        "idle_timeout=300,send_flow_rem,priority=200,in_port=1,vlan_tci=0/0xfff,"
        f"dl_src={host6},actions=goto_table:60",
    )
    add(0, 0x1234, "priority=7,in_port=9,actions=drop")
    add(99, 0xFA90000, "priority=7,in_port=9,actions=output:1")
    controller.start()
    controller.wait_ready(talking)

    def unwanted() -> list[object]:
        return [
            flow
            for flow in talking.flows()
            if (cookie := parse_cookie(flow.cookie))
            and (
                cookie.generation != GENERATION or "in_port=9" in flow.match or host5 in flow.match
            )
        ]

    wait_for(lambda: not unwanted(), "the stale flows to go")
    wait_for(lambda: halves(talking, host6) == (1, 1), "the missing half")
    assert controller.where(talking, host6) == 1
    assert controller.where(talking, host5) is None
    assert talking.send(2, frames.ethernet(C, B)) == {1, 3, LOCAL}  # not by the old static flow
    foreign = [flow for flow in talking.flows() if parse_cookie(flow.cookie) is None]
    assert sorted(flow.cookie for flow in foreign) == [0x1234, 0xFA90000]
    assert_no_loss(talking)


def test_losing_the_connection_for_a_minute(talking: Bridge, controller: Controller) -> None:
    learn(controller, talking, 1, port=1, vlan=30)
    flows, known = identities(talking), entries(controller, talking)
    talking.disconnect()
    wait_for(
        lambda: not controller.bridge(talking)["connected"],
        "the controller to notice",
    )
    for _ in range(6):
        talking.switch.warp(10)
        assert_no_loss(talking)
    controller.connect(talking)
    assert_no_loss(talking)
    wait_for(lambda: entries(controller, talking) == known, "the same FDB")
    assert identities(talking) == flows


def test_a_lost_flow_removed_is_made_up_for(talking: Bridge, controller: Controller) -> None:
    talking.disconnect()
    wait_for(
        lambda: not controller.bridge(talking)["connected"],
        "the controller to notice",
    )
    talking.switch.warp(200)
    talking.inject(2, frames.ethernet(A, B))
    talking.switch.warp(102)  # A, C and D have aged, B has not; no controller was notified
    assert halves(talking, A) == (0, 1)
    controller.connect(talking)
    for mac, vlan in ((A, 0), (C, 30), (D, 0)):
        wait_forgotten(controller, talking, mac, vlan)
    assert controller.where(talking, B) == 2
    assert talking.send(2, frames.ethernet(A, B)) == {1, 3, LOCAL}


def test_ovs_restarts(talking: Bridge, controller: Controller) -> None:
    assert controller.put_static(talking, frames.host(77), 3).status == 201
    wait_for(lambda: "output:3" in {f.actions for f in talking.flows()}, "the static flow")
    features = sorted(flow.identity[:4] for flow in talking.flows() if not flow.cookie & 1 << 47)
    talking.switch.restart_switch()
    wait_for(lambda: talking.connected, "the connection", tick=talking.switch.step)
    controller.wait_ready(talking)
    wait_for(
        lambda: (
            features == sorted(f.identity[:4] for f in talking.flows() if not f.cookie & 1 << 47)
        ),
        "everything to be reinstalled",
    )
    assert talking.groups() == {FLOOD_GROUP: {1, 2, 3, LOCAL}}
    assert talking.send(1, frames.ethernet(frames.host(77), A)) == {3}
    wait_for(lambda: halves(talking, B) == (1, 1), "learned addresses to be reinstalled")
    assert talking.send(1, frames.ethernet(B, A)) == {2}
    learn(controller, talking, 8, port=3)


def test_all_flows_wiped_behind_the_controllers_back(
    talking: Bridge, controller: Controller
) -> None:
    controller.pause()
    talking.switch.ofctl("del-flows", talking.name)
    talking.switch.ofctl("del-groups", talking.name)
    controller.resume()
    talking.disconnect()
    controller.connect(talking)
    wait_for(
        lambda: (
            talking.groups() == {FLOOD_GROUP: {1, 2, 3, LOCAL}}
            and any(flow.table == TableId.DESTINATION for flow in talking.flows())
        ),
        "the pipeline",
    )
    assert talking.send(1, frames.arp_request(A)) == {2, 3, LOCAL}
    learn(controller, talking, 9, port=3)
