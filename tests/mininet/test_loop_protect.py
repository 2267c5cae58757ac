"""A Linux bridge without spanning tree closes a loop behind two edge ports, or behind one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.lab import Switch, quiet, sh
from tests.support.network import Network, port_state
from tests.support.stp_peers import Peer
from tests.support.waiting import wait_for

SLOW = "5mbit"
"""The rate of a cable of a loop outside of the switch.

Without a limit two million frames a second go round in the softirqs of this machine, and leave
Open vSwitch, on the same two cores, no time to receive them for 10 s.
"""


class Dumb(Peer):
    """The Linux bridge without spanning tree."""

    def _create(self) -> None:
        off = ("stp_state", 0, "mcast_snooping", 0, "forward_delay", 0)
        sh("ip", "link", "add", self.name, "type", "bridge", *off)
        quiet(self.name)
        sh("ip", "link", "set", self.name, "up")

    def _plug(self, interface: str) -> None:
        sh("ip", "link", "set", interface, "master", self.name)

    def state(self, interface: str) -> str:
        return "forwarding"

    def close(self) -> None:
        sh("ip", "link", "del", self.name, check=False)


pytestmark = pytest.mark.controller("defaults: {loop_protect: {enabled: true, hold: 2}}")


@pytest.fixture
def network() -> Iterator[Network]:
    with closing(Network("guards")) as network:
        yield network


def held(controller: Controller, switch: Switch) -> list[str]:
    ports = controller.get(f"/v1/bridges/{switch.dpid16}/loop-protect")["ports"]
    return [port["name"] for port in ports if port["held"]]


def _problems(controller: Controller) -> list[dict[str, Any]]:
    problems = controller.get("/v1/problems")["problems"]
    return [each for each in problems if each["kind"] == "loop_protect.held"]


def sent_frames(interface: str) -> int:
    return int(Path(f"/sys/class/net/{interface}/statistics/tx_packets").read_text())


def test_a_loop_is_stopped_in_a_second_and_the_port_opens_when_the_loop_is_gone(
    controller: Controller, network: Network
) -> None:
    switch = network.switch()
    host, other = network.host(switch), network.host(switch)
    dumb = network.peer(Dumb, 0)
    first, second = network.cable(switch, dumb), network.cable(switch, dumb)
    second.cut(1)
    controller.connect(switch)
    assert host.reaches(other.ip)
    uplinks = len(controller.events("loop_protect.held"))
    assert uplinks == 0

    with host.wire() as wire:
        begun = time.monotonic()
        second.restore(1)
        wait_for(
            lambda: held(controller, switch),
            "the port of the loop to be held",
            tick=lambda: wire.send(frames.ethernet(frames.BROADCAST, host.mac)),
        )  # a storm: each broadcast goes round for ever
        took = time.monotonic() - begun
    print(f"held after {took:.2f} s")
    assert took < 3  # of which the kernel may take one until it reports the link
    assert held(controller, switch) == [second.ends[0]]
    assert port_state(switch, first.ends[0]) == "forwarding"
    assert port_state(switch, second.ends[0]) != "forwarding"
    before = sent_frames(first.ends[0])
    wait_for(lambda: host.reaches(other.ip), "the network to work again")
    assert sent_frames(first.ends[0]) - before < 2000, "the storm is over"

    (event,) = controller.events("loop_protect.held")
    assert first.ends[0] in event["message"]
    assert second.ends[0] in event["message"]
    wait_for(lambda: _problems(controller), "the problem")  # they are looked for periodically
    (problem,) = _problems(controller)
    assert first.ends[0] in problem["message"]
    words = problem["remedy"].split()
    assert words[:2] == ["ofapp", "loop-protect"]
    assert controller.ofapp(*words[1:]).returncode == 0
    wait_for(lambda: len(controller.events("loop_protect.held")) == 2, "the loop to be found again")
    shown = controller.ofapp("loop-protect", "show", switch.name).stdout
    assert "held" in shown

    controller.kill9()
    controller.start()
    controller.wait_ready(switch)
    assert held(controller, switch) == [second.ends[0]]
    assert port_state(switch, second.ends[0]) != "forwarding"

    second.cut(1)
    second.restore(1)
    first.cut(1)
    wait_for(lambda: not held(controller, switch), "the port to open", seconds=20)
    assert port_state(switch, second.ends[0]) == "forwarding"
    network.close()


def test_a_loop_behind_one_port_closes_this_port(controller: Controller, network: Network) -> None:
    switch = network.switch()
    host, other = network.host(switch), network.host(switch)
    near, far = network.peer(Dumb, 0), network.peer(Dumb, 0)
    cable = network.cable(switch, near)
    network.cable(near, far)
    controller.connect(switch)
    spare = network.cable(near, far, SLOW)
    wait_for(lambda: held(controller, switch) == [cable.ends[0]], "the port to be held")
    wait_for(lambda: host.reaches(other.ip), "the storm to be over")
    spare.cut()
    wait_for(lambda: not held(controller, switch), "the port to open", seconds=20)
