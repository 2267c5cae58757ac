"""A switch that restarts has lost its flows, and its ports begin again; what is known is kept."""

from __future__ import annotations

from collections.abc import Callable

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.stp.bridge import wait_state
from tests.vswitchd.stp.neighbour import SUPERIOR, alongside

A, B = frames.host(1), frames.host(2)


def test_addresses_are_back_without_a_frame_from_them_but_those_before_a_bridge(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("change")  # port 4 is an edge, port 1 waits for two forward delays
    for port in (1, 4):
        wait_state(controller, bridge, port, "forwarding", seconds=30)
    learn(controller, bridge, 1, port=4)
    learn(controller, bridge, 2, port=1)
    bridge.switch.restart_switch()
    wait_for(lambda: bridge.connected, "the connection", tick=bridge.switch.step)
    controller.wait_ready(bridge)
    wait_for(lambda: halves(bridge, A) == (1, 1), "A to be installed", tick=alongside(bridge))
    assert controller.where(bridge, B) == 1
    assert halves(bridge, B) == (0, 0)  # its port is not open yet
    bridge.inject(1, SUPERIOR)
    wait_for(lambda: controller.where(bridge, B) is None, "B to be forgotten")
    assert controller.where(bridge, A) == 4
    assert halves(bridge, A) == (1, 1)
