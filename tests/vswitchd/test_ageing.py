"""Ageing (802.1D-2004 7.9.2): by source, in virtual time."""

from __future__ import annotations

import signal
import time
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


def _stay_away(controller: Controller, bridge: Bridge) -> None:
    """Wait until the switch has been away for more than two seconds."""
    wait_for(lambda: not controller.bridge(bridge)["connected"], "the controller to notice")
    gone = time.monotonic()
    wait_for(lambda: time.monotonic() > gone + 2.1, "the ageing time to pass")


@pytest.mark.parametrize("how", ["restarted", "made again"])
def test_the_time_that_a_switch_without_flows_was_away_counts(
    vswitchd_factory: Callable[[], VSwitchd],
    controller_factory: Callable[[str], Controller],
    how: str,
) -> None:
    """A host may have moved meanwhile: its frames must not go to its old port."""
    vswitchd = vswitchd_factory()
    hasty, patient = (vswitchd.add_bridge(ports=2) for _ in range(2))
    controller = controller_factory(f"bridges: {{'{hasty.dpid16}': {{ageing_time: 2}}}}")
    for bridge in (hasty, patient):
        controller.connect(bridge)
        learn(controller, bridge, 1, port=1)
    if how == "restarted":
        vswitchd.stop_switch(signal.SIGKILL)
        _stay_away(controller, patient)
        vswitchd.start_again()
    else:
        hasty.destroy()
        patient.destroy()
        _stay_away(controller, patient)
        for bridge in (hasty, patient):
            vswitchd.add_bridge(ports=2, dpid=bridge.dpid, name=bridge.name)
            bridge.set_controller(controller.target)
    for bridge in (hasty, patient):
        wait_for(
            lambda bridge=bridge: controller.bridge(bridge)["in_line"],
            "the switch to be in line",
            tick=vswitchd.in_pace(),
        )
    assert controller.where(hasty, A) is None
    assert halves(hasty, A) == (0, 0)
    assert hasty.send(2, frames.ethernet(A, B)) == {1, LOCAL}
    assert halves(patient, A) == (1, 1)
    assert patient.send(2, frames.ethernet(A, B)) == {1}


def test_a_switch_that_kept_its_flows_keeps_the_addresses_however_long_it_was_away(
    vswitchd: VSwitchd, controller_factory: Callable[..., Controller]
) -> None:
    """By the controller's clock it was away for longer than the ageing time."""
    controller = controller_factory("defaults:\n  ageing_time: 10\n", speed=5)
    bridge = vswitchd.add_bridge(ports=2)
    controller.connect(bridge)
    learn(controller, bridge, 1, port=1)
    bridge.disconnect()
    _stay_away(controller, bridge)
    assert halves(bridge, A) == (1, 1)  # by the switch's clock it is not silent for long
    controller.connect(bridge)
    wait_for(lambda: controller.bridge(bridge)["in_line"], "the switch to be in line")
    assert controller.where(bridge, A) == 1
    assert bridge.send(2, frames.ethernet(A, B)) == {1}
    bridge.destroy()
