"""Many switches on one controller, and two that claim to be the same one."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B = frames.host(1), frames.host(2)


def test_each_switch_is_a_bridge_of_its_own(
    bridge_factory: Callable[..., Bridge], controller: Controller
) -> None:
    bridges = [bridge_factory() for _ in range(4)]
    for index, bridge in enumerate(bridges):
        learn(controller, bridge, 1, port=1 + index % 3)
    listed = {bridge["datapath_id"] for bridge in controller.get("/v1/bridges")["bridges"]}
    assert {bridge.dpid16 for bridge in bridges} <= listed
    for index, bridge in enumerate(bridges):
        assert controller.where(bridge, A) == 1 + index % 3
    found = controller.get("/v1/fdb", mac=A)["entries"]
    assert {entry["datapath_id"] for entry in found} >= {bridge.dpid16 for bridge in bridges}
    bridges[0].link(1, up=False)
    wait_for(lambda: controller.where(bridges[0], A) is None, "the flush on the first")
    assert controller.where(bridges[1], A) == 2


def test_a_second_switch_of_the_same_datapath_id_is_refused(
    bridge: Bridge, controller: Controller, vswitchd_factory: Callable[[], VSwitchd]
) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    before = {flow.identity for flow in bridge.flows()}
    peer = controller.bridge(bridge)["peer"]
    twin = vswitchd_factory().add_bridge(ports=2, dpid=bridge.dpid)
    twin.set_controller(controller.target)

    def reported() -> bool:
        twin.switch.step()
        return bool(controller.events("bridge.duplicate"))

    wait_for(reported, "an event about the duplicate")
    assert bridge.dpid16 in controller.log()
    assert "bridge.duplicate" in controller.log()
    assert twin.flows() == []
    # The one that was there first does not notice.
    assert controller.bridge(bridge)["peer"] == peer
    assert {flow.identity for flow in bridge.flows()} == before
    assert bridge.send(1, frames.ethernet(B, A)) == {2}
    learn(controller, bridge, 3, port=3)
    # When it has gone, the other may take its place.
    bridge.set_controller(None)

    def left() -> bool:
        twin.switch.step()
        return bool(controller.bridge(bridge)["peer"] != peer)

    wait_for(left, "the first one to be seen leaving")
    controller.wait_ready(twin)
    learn(controller, twin, 4, port=1)
    assert twin.send(2, frames.ethernet(frames.host(4), B)) == {1}
    assert twin.send(1, frames.arp_request(A)) == {2, LOCAL}
    twin.set_controller(None)


def test_a_bridge_that_is_deleted_and_made_again_has_its_name_back(
    controller_factory: Callable[..., Controller], vswitchd_factory: Callable[[], VSwitchd]
) -> None:
    controller = controller_factory("forget_after: 1")
    switch = vswitchd_factory()
    old = switch.add_bridge(ports=1, dpid=0xA1)
    controller.connect(old)
    old.destroy()

    def known() -> dict[str, str]:
        answer = controller.get("/v1/bridges")["bridges"]
        return {bridge["datapath_id"]: bridge["name"] for bridge in answer}

    wait_for(lambda: known() == {}, "the bridge to be forgotten")
    assert f'datapath_id="{old.dpid16}"' not in controller.get("/metrics")
    controller.configure("forget_after: 0")
    assert controller.api("POST", "/v1/config/reload").status == 200
    old = switch.add_bridge(ports=1, dpid=0xA2)
    controller.connect(old)
    old.destroy()
    new = Bridge(switch, old.name, 0xA3)
    switch.vsctl(
        *("add-br", new.name, "--", "set", "Bridge", new.name, "datapath_type=dummy"),
        *("fail_mode=secure", "protocols=OpenFlow13"),
        f"other_config:datapath-id={new.dpid16}",
    )
    controller.connect(new)
    wait_for(lambda: known() == {old.dpid16: old.dpid16, new.dpid16: new.name}, "the name to move")
    assert controller.api("DELETE", f"/v1/bridges/{new.dpid16}").status == 409
    assert controller.api("DELETE", f"/v1/bridges/{old.dpid16}").status == 204
    assert known() == {new.dpid16: new.name}
    new.destroy()


def test_a_switch_that_stalls_keeps_its_datapath_id(
    bridge: Bridge, controller: Controller, vswitchd_factory: Callable[[], VSwitchd]
) -> None:
    """For as long as echoes allow, also if another switch asks for it meanwhile."""
    learn(controller, bridge, 1, port=1)
    peer = controller.bridge(bridge)["peer"]
    twin = vswitchd_factory().add_bridge(ports=2, dpid=bridge.dpid)
    refused = len(controller.events("bridge.duplicate"))
    with bridge.switch.stalled():
        twin.set_controller(controller.target)
        begun = time.monotonic()

        def long_enough() -> bool:
            twin.switch.step()
            return time.monotonic() > begun + 7.0

        wait_for(long_enough, "a stall that an impatient probe would not have waited for")
        assert len(controller.events("bridge.duplicate")) > refused
        assert twin.flows() == []
    assert controller.bridge(bridge)["peer"] == peer
    learn(controller, bridge, 2, port=2)
    assert controller.bridge(bridge)["peer"] == peer
