"""Rings, meshes and dual-homed switches: no frame ever arrives twice, and what fails heals.

Numbered broadcast frames go out from every host before any controller is there and until the
end; see tests/support/census.py.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.support.census import Census
from tests.support.controller import Controller
from tests.support.lab import Host, Stream, Switch
from tests.support.network import Cable, Network

pytestmark = pytest.mark.controller("defaults: {stp: {}}")
"""Spanning tree with the default configuration."""


@pytest.fixture
def network() -> Iterator[Network]:
    with closing(Network("sm")) as network:
        yield network


def ring(network: Network, size: int) -> None:
    switches = [network.switch() for _ in range(size)]
    for number, switch in enumerate(switches):
        network.cable(switch, switches[(number + 1) % size])
    for switch in switches:
        network.host(switch)


def mesh(network: Network, size: int) -> None:
    switches = [network.switch() for _ in range(size)]
    for pair in itertools.combinations(switches, 2):
        network.cable(*pair)
    for switch in switches:
        network.host(switch)


def dual_homed(network: Network, size: int) -> None:
    """Two core switches with two links between them; every access switch has a link to both."""
    core = [network.switch() for _ in range(2)]
    network.cable(*core)
    network.cable(*core)
    for _ in range(size):
        access = network.switch()
        for switch in core:
            network.cable(access, switch)
        network.host(access)


def cables_of(network: Network, switch: Switch) -> list[Cable]:
    return [cable for cable in network.cables if switch in (cable.left, cable.right)]


def hosts_of(network: Network, switch: Switch) -> list[Host]:
    return [host for host in network.hosts if host.home is switch]


TOPOLOGIES = [(ring, 3), (ring, 5), (mesh, 4), (dual_homed, 3)]


def spare(network: Network) -> int:
    """How many links a spanning tree leaves out."""
    return len(network.cables) - (len(network.switches) - 1)


@pytest.mark.parametrize(
    ("topology", "size"),
    [
        pytest.param(
            make,
            size,
            id=f"{make.__name__}-{size}",
            marks=[] if (make, size) == (ring, 5) else [pytest.mark.thorough],
        )
        for make, size in TOPOLOGIES
    ],
)
def test_links_and_switches_fail_and_come_back(
    network: Network, controller: Controller, topology: Callable[[Network, int], None], size: int
) -> None:
    topology(network, size)
    with Census(network.hosts, interval=0.02) as census:
        for switch in network.switches:  # not waited for one by one: that is how a network boots
            switch.set_controller(controller.target)
        census.wait_whole("boot")
        assert len(network.blocked()) == spare(network)

        for number, cable in enumerate(network.cables):
            census.phase(f"cable {number} cut")
            cable.cut(number % 2)
            census.wait_whole(f"cable {number} cut")
            census.phase(f"cable {number} back")
            cable.restore(number % 2)
            census.wait_whole(f"cable {number} back")
        network.wait_count(spare(network), "all cables back")

        for switch in network.switches[:3]:
            name = network.label(switch)
            census.phase(f"switch {name} fails")
            for cable in cables_of(network, switch):
                cable.cut(0 if cable.right is switch else 1)
            census.wait_whole(f"{name} fails", without=hosts_of(network, switch))
            census.phase(f"switch {name} back")
            for cable in cables_of(network, switch):
                cable.restore(0 if cable.right is switch else 1)
            census.wait_whole(f"{name} back")
        network.wait_count(spare(network), "all switches back")
        census.check()


def test_a_cable_that_comes_and_goes_all_the_time(network: Network, controller: Controller) -> None:
    """Faster than anything converges: from any state of a port, nothing may loop."""
    mesh(network, 4)
    chance = random.Random(17)
    with Census(network.hosts, interval=0.02) as census:
        for switch in network.switches:
            switch.set_controller(controller.target)
        census.wait_whole("boot")
        census.phase("flapping")
        down: set[Cable] = set()
        for _ in range(60):
            cable = chance.choice(network.cables)
            end = network.cables.index(cable) % 2
            if cable in down:
                cable.restore(end)
                down.discard(cable)
            else:
                cable.cut(end)
                down.add(cable)
            census.check()
        for cable in down:
            cable.restore(network.cables.index(cable) % 2)
        census.phase("quiet again")
        census.wait_whole("quiet again")
        network.wait_count(spare(network), "quiet again")


def test_a_switch_that_is_deleted(network: Network, controller: Controller) -> None:
    """Its ports and its controller connection go with it."""
    ring(network, 4)
    with Census(network.hosts, interval=0.02) as census:
        for switch in network.switches:
            controller.connect(switch)
        census.wait_whole("boot")
        census.phase("deleted")
        victim = network.switches[0]
        network.delete(victim)
        census.wait_whole("deleted", without=hosts_of(network, victim))
        census.check()


@pytest.mark.parametrize(
    ("hello", "seconds"),
    [
        (1, 5),
        pytest.param(2, 12, marks=pytest.mark.thorough),
        pytest.param(2, 30, marks=pytest.mark.thorough),
    ],
)
def test_a_controller_that_is_stopped_for_a_while_costs_no_frame(
    network: Network, hello: int, seconds: int
) -> None:
    """All its bridges were silent for longer than three hellos, and all of them were its own."""
    controller = Controller(f"defaults: {{stp: {{hello_time: {hello}}}}}")
    try:
        controller.start()
        ring(network, 4)
        for switch in network.switches:
            controller.connect(switch)
        network.wait_count(spare(network), "boot")
        network.settle()
        blocked = network.blocked()
        one, _, other, _ = network.hosts
        assert one.reaches(other.ip, 5)
        # A machine that is short of processor time loses frames by itself: what a pause loses it
        # loses every time.
        for _ in range(3):
            with Stream(one, other) as there, Stream(other, one) as back:
                there.more(there.rate // 2)
                controller.pause()
                for _ in range(seconds):
                    there.more(there.rate)
                controller.resume()
                for switch in network.switches:
                    controller.wait_ready(switch)
                for _ in range(4 * hello):
                    there.more(there.rate)
                lost = there.lost(), back.lost()
                print(f"frames lost: {lost[0]} of {there.sent}, {lost[1]} of {back.sent}")
            if lost == (0, 0):
                break
        assert lost == (0, 0)
        assert controller.events("controller.stalled")
        assert network.blocked() == blocked
    finally:
        controller.close()


def test_a_ring_that_is_deleted_and_made_again_opens_at_once(
    controller: Controller, network: Network
) -> None:
    """The controller remembers who was behind which port; each bridge has another address now."""
    ring(network, 3)
    for turn in range(3):
        for number, switch in enumerate(network.switches if turn else ()):
            network.make_again(switch, f"0e:00:00:00:{turn:02x}:{number:02x}")
        for switch in network.switches:
            controller.connect(switch)
        network.wait_count(1, f"turn {turn}", seconds=10)
