"""The controller goes and comes: known hosts lose nothing, and what is known is right again."""

from __future__ import annotations

import pytest

from tests.support.hosts import halves
from tests.support.lab import Lab, Stream, frame, sh, vsctl
from tests.support.waiting import wait_for

NOBODY = "tcp:127.0.0.1:1"
"""Where no controller is.  Without any controller set Open vSwitch flushes its flows."""


def learned(network, controller, topology, *sizes) -> Lab:
    lab = network(topology, *sizes)
    assert lab.unreachable() == []
    wait_right(lab, controller)
    return lab


def wait_right(lab: Lab, controller) -> None:
    """Wait until every switch knows every host where it is, with one pair of flows each."""
    for switch in lab.switches:
        for host in lab.hosts:
            wait_for(
                lambda switch=switch, host=host: (
                    controller.where(switch, host.mac) == switch.towards(host)
                    and halves(switch, host.mac) == (1, 1)
                ),
                f"{switch.name} to know {host.mac} on port {switch.towards(host)}",
            )


def test_kill_9_and_restart_lose_no_frame_between_known_hosts(network, controller):
    lab = learned(network, controller, Lab.linear, 2)
    one, other = lab.hosts
    # A machine that is short of processor time loses frames by itself: what a restart loses it
    # loses every time.
    for _ in range(3):
        with Stream(one, other) as there, Stream(other, one) as back:
            there.more(100)
            controller.kill9()
            there.more(300)
            controller.start()
            for switch in lab.switches:
                controller.wait_ready(switch)
            there.more(400)
            lost = there.lost(), back.lost()
            print(f"frames lost: {lost[0]} of {there.sent}, {lost[1]} of {back.sent}")
        if lost == (0, 0):
            break
    assert lost == (0, 0)
    wait_right(lab, controller)


def test_a_clean_stop_and_start_lose_no_frame_either(network, controller):
    lab = learned(network, controller, Lab.single, 2)
    one, other = lab.hosts
    with Stream(one, other) as stream:
        stream.more(100)
        assert controller.terminate() == 0
        stream.more(100)
        controller.start()
        controller.wait_ready(lab.switches[0])
        stream.more(200)
        assert stream.lost() == 0
    wait_right(lab, controller)


def test_a_lost_connection_loses_no_frame(network, controller):
    lab = learned(network, controller, Lab.single, 2)
    switch = lab.switches[0]
    with Stream(*lab.hosts) as stream:
        stream.more(50)
        switch.set_controller(NOBODY)
        wait_for(
            lambda: not controller.get(f"/v1/bridges/{switch.dpid16}")["connected"],
            "the controller to notice",
        )
        stream.more(200)
        controller.connect(switch)
        stream.more(200)
        assert stream.lost() == 0
    wait_right(lab, controller)


@pytest.mark.parametrize("back_on_the_old_port", [False, True])
def test_a_host_that_moved_while_the_controller_was_away(network, controller, back_on_the_old_port):
    lab = learned(network, controller, Lab.linear, 2)
    left, right = lab.switches
    mover, witness = lab.hosts
    controller.kill9()
    lab.plug(mover, right)
    with mover.wire() as wire:
        wire.send(frame(witness.mac, mover.mac, b"not learned"))
    if back_on_the_old_port:
        lab.plug(mover, left)
    controller.start()
    for switch in lab.switches:
        controller.wait_ready(switch)
    with mover.wire() as wire:
        wire.send(frame("ff:ff:ff:ff:ff:ff", mover.mac, b"here"))
    wait_right(lab, controller)
    assert lab.unreachable() == []


def test_a_port_that_went_down_while_the_controller_was_away(network, controller):
    lab = learned(network, controller, Lab.single, 3)
    switch = lab.switches[0]
    victim = lab.hosts[2]
    controller.kill9()
    sh("ip", "link", "set", victim.plug, "down")
    controller.start()
    controller.wait_ready(switch)
    wait_for(lambda: controller.where(switch, victim.mac) is None, "the entry to be gone")
    wait_for(lambda: halves(switch, victim.mac) == (0, 0), "its flows to be gone")
    assert lab.hosts[0].reaches(lab.hosts[1].ip)


def test_flows_that_somebody_deleted_are_put_back_on_reconnecting(network, controller):
    lab = learned(network, controller, Lab.single, 2)
    switch = lab.switches[0]
    switch.set_controller(NOBODY)
    sh("ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name)
    assert not lab.hosts[0].reaches(lab.hosts[1].ip, 1)
    controller.connect(switch)
    assert lab.unreachable() == []
    assert vsctl("get", "Bridge", switch.name, "fail_mode") == "secure"
