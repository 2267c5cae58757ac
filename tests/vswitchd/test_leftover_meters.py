"""Meters that a former owner of the switch has left, of what this one does not do yet."""

from __future__ import annotations

from collections.abc import Callable

from ofapp.openflow.model.traps import LACP
from ofapp.openflow.pipeline.meters import meter_id
from tests.support.controller import Controller
from tests.support.ovs import VSwitchd
from tests.support.waiting import wait_for

DPID = 0x5E
MEMBERS = {1: "m1", 2: "m2"}
ALONE = repr({"bridges": {f"{DPID:016x}": {}}})
BONDED = repr({"bridges": {f"{DPID:016x}": {"lags": {"lag0": {"members": ["m1", "m2"]}}}}})


def test_are_taken_over_without_a_refusal(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> None:
    """LACP begins to run again when the switch is with another owner, say."""
    controller = controller_factory(ALONE)
    bridge = vswitchd.add_bridge(dpid=DPID)
    for number, name in MEMBERS.items():
        bridge.add_port(number, name)
    controller.connect(bridge)
    meters = {meter_id(number, LACP) for number in MEMBERS}
    for meter in meters:
        words = f"meter={meter},pktps,burst,bands=type=drop,rate=7,burst_size=7"
        vswitchd.ofctl("add-meter", bridge.name, words)
    controller.restart()
    controller.wait_ready(bridge)
    assert meters <= bridge.meters().keys()
    controller.configure(BONDED)
    reply = controller.api("POST", "/v1/config/reload", force=True)
    assert reply.status == 200, reply.body
    controller.wait_ready(bridge)
    wait_for(
        lambda: all("rate=7 " not in bridge.meters().get(own, "rate=7 ") for own in meters),
        "the meters to have the rate of LACP",
        tick=vswitchd.step,
    )
    assert controller.events("openflow.refused") == []
    bridge.destroy()
