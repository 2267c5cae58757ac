"""Ageing (802.1D-2004 7.9.2): by source, in virtual time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, wait_forgotten
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B = frames.host(1), frames.host(2)


def test_a_silent_host_is_forgotten(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    bridge.switch.warp(298)
    assert halves(bridge, A) == (1, 1)
    assert controller.where(bridge, A) == 1
    bridge.switch.warp(4)
    wait_forgotten(controller, bridge, A)
    assert bridge.send(2, frames.ethernet(A, B)) == {1, 3, LOCAL}


def test_a_host_that_speaks_stays(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    for _ in range(4):
        bridge.switch.warp(200)
        bridge.inject(1, frames.ethernet(frames.host(99), A))
    wait_forgotten(controller, bridge, B)
    assert halves(bridge, A) == (1, 1)
    assert controller.where(bridge, A) == 1


def test_being_spoken_to_does_not_keep_a_host(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    for _ in range(2):
        bridge.switch.warp(200)
        bridge.inject(2, frames.ethernet(A, B))
    wait_forgotten(controller, bridge, A)
    assert controller.where(bridge, B) == 2


def test_a_forgotten_host_is_learned_again(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    bridge.switch.warp(302)
    wait_forgotten(controller, bridge, A)
    learn(controller, bridge, 1, port=3)
    assert halves(bridge, A) == (1, 1)
    bridge.switch.warp(298)
    assert halves(bridge, A) == (1, 1)


def test_one_vlans_ageing_leaves_the_other_alone(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1, vlan=10)
    learn(controller, bridge, 1, port=1, vlan=20)
    bridge.switch.warp(200)
    bridge.inject(1, frames.ethernet(B, A, vlan=20))
    bridge.switch.warp(102)
    wait_for(lambda: controller.where(bridge, A, 10) is None, "VLAN 10's entry to age")
    assert controller.where(bridge, A, 20) == 1
    assert bridge.send(2, frames.ethernet(A, B, vlan=20)) == {1}


@pytest.mark.parametrize(("ageing_time", "left"), [(0, (1, 1)), (10, (0, 0))])
def test_ageing_time_is_configured(
    vswitchd: VSwitchd,
    controller_factory: Callable[[str], Controller],
    ageing_time: int,
    left: tuple[int, int],
) -> None:
    controller = controller_factory(f"defaults:\n  ageing_time: {ageing_time}\n")
    bridge = vswitchd.add_bridge(ports=2)
    controller.connect(bridge)
    learn(controller, bridge, 1, port=1)
    vswitchd.warp(12 if ageing_time else 100_000)
    if not ageing_time:
        assert controller.where(bridge, A) == 1
        assert halves(bridge, A) == left
    else:
        wait_forgotten(controller, bridge, A)
    bridge.destroy()


def test_ageing_that_a_stopped_controller_missed(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    controller.pause()
    try:
        bridge.switch.warp(302)
        assert bridge.send(2, frames.ethernet(A, B)) == {1}  # the destination half outlives
    finally:
        controller.resume()
    wait_forgotten(controller, bridge, A)
