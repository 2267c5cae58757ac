"""Limits of learned addresses, and a host that floods the controller with new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn, learned_flows, wait_learned
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

# A bridge's entries outlive its connection, so each test has its own datapath id.
DPIDS = range(0x71710, 0x71718)
_BRIDGE = """
  "{dpid:016x}":
    fdb_max_learned: 20
    packet_in_rate: 50
    ports:
      capped{dpid:x}:
        fdb_max_learned: 5"""
CONFIG = "bridges:" + "".join(_BRIDGE.format(dpid=dpid) for dpid in DPIDS) + "\n"
_unused = iter(DPIDS)


pytestmark = pytest.mark.controller(CONFIG)
"""Bridges of 20 addresses, of which 5 on port 1."""


@pytest.fixture
def small(bridge_factory: Callable[..., Bridge]) -> Bridge:
    """One of these bridges."""
    dpid = next(_unused)
    return bridge_factory(ports=(f"capped{dpid:x}", None, None), dpid=dpid)


def events(controller: Controller, bridge: Bridge) -> list[dict[str, Any]]:
    """The events about limits of *bridge*."""
    found = controller.events("fdb.limit")
    return [event for event in found if event["datapath_id"] == bridge.dpid16]


def test_a_full_port_floods_and_the_others_learn(small: Bridge, controller: Controller) -> None:
    for number in range(5):
        learn(controller, small, number, port=1)
    refused = frames.host(100)
    assert small.send(1, frames.arp_request(refused)) == {2, 3, LOCAL}
    learn(controller, small, 50, port=2)
    assert controller.where(small, refused) is None
    assert small.send(2, frames.ethernet(refused, frames.host(50))) == {1, 3, LOCAL}
    assert small.send(1, frames.ethernet(frames.host(50), refused)) == {2}
    wait_for(lambda: events(controller, small), "the event")
    small.inject(1, frames.arp_request(frames.host(101)), frames.arp_request(frames.host(102)))
    learn(controller, small, 51, port=2)
    (event,) = events(controller, small)  # one for the whole series
    assert (event["port"], event["severity"]) == (1, "warning")
    port = controller.get(f"/v1/bridges/{small.dpid16}/ports")["ports"][0]
    assert (port["learned"], port["limit"]) == (5, 5)
    assert port["refused"] >= 3
    # One leaves, another may come.
    assert controller.flush(small, mac=frames.host(0)) == 1
    small.inject(1, frames.arp_request(refused))
    wait_learned(controller, small, refused, 1)


def test_a_full_bridge_floods_and_learns_again_when_there_is_room(
    small: Bridge, controller: Controller
) -> None:
    for number in range(15):
        learn(controller, small, number, port=2)
    for number in range(15, 20):
        learn(controller, small, number, port=1)
    refused = frames.host(100)
    assert small.send(2, frames.arp_request(refused)) == {1, 3, LOCAL}
    assert small.send(1, frames.ethernet(refused, frames.host(15))) == {2, 3, LOCAL}
    assert len(controller.fdb(small, type="learned")) == 20
    wait_for(lambda: events(controller, small), "the event")
    # A known host may still move: it needs no further place.
    learn(controller, small, 0, port=3)
    small.switch.warp(200)
    for number in range(1, 20):
        small.inject(2 if number < 15 else 1, frames.arp_request(frames.host(number)))
    small.switch.warp(102)  # host 0 has aged
    wait_for(lambda: len(controller.fdb(small, type="learned")) == 19, "a free place")
    small.inject(3, frames.arp_request(refused))
    wait_learned(controller, small, refused, 3)
    assert small.send(2, frames.ethernet(refused, frames.host(1))) == {3}


def test_nothing_is_learned_where_nothing_may_be(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> None:
    controller = controller_factory("defaults:\n  fdb_max_learned: 0\n")
    bridge = vswitchd.add_bridge(ports=2)
    controller.connect(bridge)
    for number in range(3):
        frame = frames.arp_request(frames.host(number))
        assert bridge.send(1, frame) == {2, LOCAL}
    wait_for(lambda: controller.bridge(bridge)["fdb"]["refused"] == 3, "the refusals")
    assert learned_flows(bridge) == []
    bridge.destroy()


def test_a_flooding_host_is_metered_and_harms_nobody(small: Bridge, controller: Controller) -> None:
    learn(controller, small, 1, port=2)
    learn(controller, small, 2, port=3)
    # The clock stands still, so the meter lets one burst of 50 through, and no more.
    storm = [frames.arp_request(frames.host(0x20000 + number)) for number in range(400)]
    small.inject(1, *storm)
    assert small.sent(3).count(storm[-1]) == 1  # but every frame is forwarded
    learn(controller, small, 3, port=2)
    assert controller.bridge(small)["connected"]
    assert len(learned_flows(small)) == 2 * (5 + 3)
    assert small.send(2, frames.ethernet(frames.host(2), frames.host(1))) == {3}

    def metered() -> bool:
        small.inject(1, *storm)
        return small.meter_packets()[1] >= len(storm)

    wait_for(metered, "a whole storm to be metered")  # a rate that is raised begins to count again
    # The meter's tokens come back with time.
    small.switch.warp(2)
    assert controller.flush(small, port=small.port_name(1)) == 5
    wait_for(lambda: len(learned_flows(small)) == 6, "the flush")
    learn(controller, small, 9, port=1)


def test_a_port_with_many_new_hosts_may_show_more_of_them(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> None:
    controller = controller_factory("defaults: {packet_in_rate: 4}\n")
    bridge = vswitchd.add_bridge(ports=2)
    controller.connect(bridge)
    hosts = iter(range(0x30000, 0x40000))

    def rates() -> list[int]:
        ports = controller.get(f"/v1/bridges/{bridge.dpid16}/ports")["ports"]
        return [port["packet_in_rate"] for port in ports if not port["local"]]

    def raised() -> bool:
        # The switch's clock stands still: a meter lets one burst through each time it is changed.
        news = [frames.arp_request(frames.host(next(hosts))) for _ in range(20)]
        bridge.inject(1, *news)
        return rates()[0] >= 16

    assert rates() == [4, 4]
    wait_for(raised, "a higher rate of port 1", seconds=30)
    assert rates()[1] == 4
    wait_for(lambda: f"rate={rates()[0]}" in bridge.meters()[1], "the switch's meter")
    assert "rate=4" in bridge.meters()[2]
    bridge.destroy()
