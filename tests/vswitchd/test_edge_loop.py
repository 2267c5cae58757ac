"""A cable between two edge ports, of one bridge or of two members of a fabric, while a host sends.

The ports open only when a BPDU of theirs could have come back, so no frame goes round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import paced, wait_for
from tests.vswitchd.ring import Ring

CABLE = 5
EDGES = {"ports": {"*": {"stp": {"admin_edge": True}}}, "stp": {"enabled": True}}
FRAMES, PAUSE = 60, 0.005
"""Broadcasts after the cable is plugged in, and the seconds between two of them."""

States = Callable[[], dict[str, str]]


def plug(ends: tuple[tuple[Bridge, int], tuple[Bridge, int]]) -> None:
    """Add two ports without carrier, with a cable between them."""
    (one, at), (other, there) = ends
    path = f"{one.switch.dir}/{one.name}-{at}.sock"
    for bridge, number, role in ((one, at, "pstream=punix"), (other, there, "stream=unix")):
        bridge.add_port(number)
        bridge.link(number, up=False)
        bridge.switch.vsctl("set", "Interface", bridge.port_name(number), f"options:{role}:{path}")


def states(controller: Controller, dpid: str) -> dict[str, str]:
    """The states of the tree's ports, by name."""
    tree = controller.get(f"/v1/bridges/{dpid}/stp")
    return {port["name"]: port["state"] for port in tree["ports"]}


def copies(
    ends: tuple[tuple[Bridge, int], tuple[Bridge, int]], sender: Bridge, listener: Bridge
) -> Counter[bytes]:
    """Plug the cable in while a host at port 1 of the sender sends broadcasts.

    Returns how often each has left by port 2 of the listener.
    """
    sent = [frames.arp_request(frames.host(100 + number)) for number in range(FRAMES)]
    listener.forget_sent()
    for bridge, number in ends:
        bridge.link(number, up=True)
    for frame, _ in zip(sent, paced(1 / PAUSE), strict=False):
        sender.inject(1, frame)
    for _ in range(8):
        sender.switch.barrier()
    arrived = Counter(listener.sent(2))
    return Counter({frame: arrived[frame] for frame in sent})


def test_of_one_bridge(vswitchd: VSwitchd) -> None:
    with closing(Controller()) as controller:
        bridge = vswitchd.add_bridge(ports=2)
        controller.configure(f"bridges: {{'{bridge.dpid16}': {EDGES}}}".replace("True", "true"))
        controller.start()
        ends = ((bridge, CABLE), (bridge, CABLE + 1))
        plug(ends)
        try:
            controller.connect(bridge)
            _check(ends, bridge, bridge, lambda: states(controller, bridge.dpid16))
        finally:
            bridge.destroy()


@pytest.mark.parametrize("members", [(1, 2), (1, 1)], ids=["two", "one"])
def test_of_members_of_a_fabric(ring: Ring, members: tuple[int, int]) -> None:
    one, other = (ring.members[member - 1] for member in members)
    ends = ((one, CABLE), (other, CABLE if other is not one else CABLE + 1))
    ring.configure(bridges={"pod": EDGES})
    plug(ends)
    _check(ends, ring.members[2], ring.members[1], lambda: states(ring.controller, ring.dpid))


def test_of_members_of_a_fabric_without_spanning_tree(ring: Ring) -> None:
    """Loop protection holds one end of the cable, and frees it when the cable is gone."""
    one, other = ring.members[:2]
    protected = {"stp": {"enabled": False}, "loop_protect": {"enabled": True, "hold": 2}}
    ring.configure(bridges={"pod": protected})
    ends = ((one, CABLE), (other, CABLE))
    plug(ends)
    tick = ring.switch.in_pace()

    def held() -> dict[str, str]:
        ports = ring.controller.get(f"/v1/bridges/{ring.dpid}/loop-protect")["ports"]
        return {port["name"]: port["held"]["other"] for port in ports if port["held"]}

    for bridge, number in ends:
        bridge.link(number, up=True)
    wait_for(held, "one end to be held", tick=tick)
    ((name, far),) = held().items()
    assert {name.partition("/")[0], far.partition("/")[0]} == {"s1", "s2"}
    frame = frames.ethernet(frames.BROADCAST, frames.host(50))
    one.forget_sent()
    ring.members[2].inject(1, frame)
    one.switch.barrier()
    assert one.sent(2).count(frame) == 1
    for bridge, number in ends:
        bridge.link(number, up=False)
    wait_for(lambda: not held(), "the port to be freed", tick=tick)


def _check(
    ends: tuple[tuple[Bridge, int], tuple[Bridge, int]],
    sender: Bridge,
    listener: Bridge,
    shown: States,
) -> None:
    tick = sender.switch.in_pace()
    names = [bridge.port_name(number) for bridge, number in ends]

    def of_cable() -> list[str]:
        known = {name.rpartition("/")[2]: state for name, state in shown().items()}
        return sorted(known[name] for name in names if name in known)

    def is_open() -> bool:
        return list(shown().values()).count("forwarding") >= 2 and len(of_cable()) == 2

    wait_for(is_open, "the hosts' ports", tick=tick)
    for _ in range(3):
        counts = copies(ends, sender, listener)
        assert {*counts.values()} == {1}, counts
        wait_for(lambda: "discarding" in of_cable(), "one end to be blocked", tick=tick)
        for bridge, number in ends:
            bridge.link(number, up=False)
