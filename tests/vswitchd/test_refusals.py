"""A switch that refuses flows: tables with a limit (Open vSwitch's `flow_limit`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

pytestmark = pytest.mark.controller("defaults:\n  ageing_time: 50\n", speed=5)
"""The controller compares the switch as often as it can."""


@pytest.fixture
def unset(vswitchd: VSwitchd, controller: Controller) -> Iterator[Bridge]:
    """A bridge that has no controller yet."""
    bridge = vswitchd.add_bridge(ports=3)
    yield bridge
    bridge.destroy()


def messages_of(controller: Controller, bridge: Bridge, kind: str) -> list[str]:
    """The messages of the bridge's events of that kind."""
    return [
        event["message"]
        for event in controller.events(kind)
        if event["datapath_id"] == bridge.dpid16
    ]


def problems(controller: Controller, bridge: Bridge) -> list[str]:
    """The kinds of the bridge's problems."""
    found = controller.get("/v1/problems")["problems"]
    return [each["kind"] for each in found if each["datapath_id"] == bridge.dpid16]


def test_a_full_admission_table_is_reported_and_the_switch_not_in_line(
    unset: Bridge, controller: Controller
) -> None:
    unset.limit_table(TableId.ADMISSION, 3)
    unset.set_controller(controller.target)
    wait_for(
        lambda: bool(messages_of(controller, unset, "openflow.refused")),
        "the refusal to be told",
        tick=unset.switch.step,
    )
    wait_for(lambda: controller.bridge(unset)["counters"].get("refused_flow_mods", 0) > 20, "looks")
    status = controller.bridge(unset)
    assert status["connected"]
    assert not status["in_line"]
    assert any("table admission" in text and "full" in text for text in status["refused"])
    messages = messages_of(controller, unset, "openflow.refused")
    assert len(messages) == len(set(messages)), "each refusal once"
    wait_for(lambda: problems(controller, unset) == ["switch.full"], "the problem")
    unset.unlimit_tables()
    controller.wait_ready(unset)
    wait_for(lambda: problems(controller, unset) == [], "its end")
    assert unset.send(1, frames.arp_request(frames.host(1))) == {2, 3, 0xFFFFFFFE}
    assert controller.bridge(unset)["refused"] == []
    assert messages_of(controller, unset, "openflow.refused.cleared")


def test_a_full_destination_table_tells_its_story_once(
    unset: Bridge, controller: Controller
) -> None:
    controller.connect(unset)
    learn(controller, unset, 1, port=1)
    full = sum(flow.table == TableId.DESTINATION for flow in unset.flows())
    unset.limit_table(TableId.DESTINATION, full)
    began = controller.bridge(unset)["counters"].get("refused_flow_mods", 0)
    for number in range(2, 8):
        unset.inject(2, frames.arp_request(frames.host(number)))
        wait_for(
            lambda seen=began + number - 1: (
                controller.bridge(unset)["counters"].get("refused_flow_mods", 0) >= seen
            ),
            "the refusal to be counted",
        )
    (message,) = messages_of(controller, unset, "openflow.refused")
    assert "a flow of table destination (learned): the table is full" in message
    assert messages_of(controller, unset, "openflow.refused.cleared") == []
    assert not controller.bridge(unset)["in_line"]
    assert unset.send(3, frames.ethernet(frames.host(5), frames.host(1))) == {1, 2, 0xFFFFFFFE}
