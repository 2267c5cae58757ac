"""Spanning tree in the datapath: BPDUs go to the controller alone, and port states hold."""

from __future__ import annotations

from collections.abc import Callable

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import halves, learn, wait_forgotten
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.stp.bridge import crosses, in_datapath, status, wait_received, wait_state
from tests.vswitchd.stp.neighbour import (
    DESIGNATED,
    FORWARDING,
    INFERIOR,
    LEARNING,
    ROOT,
    SUPERIOR,
    TC,
    Neighbour,
    rst,
)

# --- port states ---------------------------------------------------------------------------------


def test_each_state_lets_through_what_it_should_and_never_a_bpdu(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("states")
    host = frames.host(1)
    hello = frames.ethernet(frames.BROADCAST, host)
    wait_state(controller, bridge, 2, "forwarding")
    for heard, state in enumerate(("discarding", "learning", "forwarding"), 1):
        wait_state(controller, bridge, 1, state)
        open_ = state == "forwarding"
        assert crosses(bridge, 1, 2) == (open_, open_)
        # To the controller alone, and once.
        assert bridge.send(1, INFERIOR) == set()
        wait_received(controller, bridge, 1, heard)
        assert bridge.send(2, frames.pause(frames.host(2))) == set()
        if state == "discarding":
            bridge.inject(1, hello)
            bridge.inject(2, frames.ethernet(frames.BROADCAST, frames.host(3)))
            wait_for(lambda: controller.where(bridge, frames.host(3)) == 2, "the other to be known")
            assert controller.where(bridge, host) is None
        elif state == "learning":
            bridge.inject(1, hello)
            wait_for(lambda: controller.where(bridge, host) == 1, "the host to be learned")
            assert halves(bridge, host) == (0, 0)  # nothing may reach it yet
            assert 1 not in bridge.send(2, frames.ethernet(host, frames.host(3)))
        assert in_datapath(bridge, 1) == state, "it was over too soon to have tested anything"
    # Learned in learning, used from the first moment in forwarding: no flood.
    wait_for(lambda: halves(bridge, host) == (1, 1), "what was learned to be installed")
    assert bridge.send(2, frames.ethernet(host, frames.host(3))) == {1}


def test_a_port_that_was_removed_and_added_again_sends_nothing_until_it_forwards(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("states")
    hello = frames.ethernet(frames.BROADCAST, frames.host(3))
    for number in (1, 2):
        wait_state(controller, bridge, number, "forwarding")
    name = bridge.port_name(1)
    bridge.del_port(1)
    wait_for(lambda: 1 not in bridge.groups()[1], "the port to leave the flood group")
    bridge.add_port(1, name)
    wait_state(controller, bridge, 1, "discarding")
    assert bridge.send(2, hello) == {LOCAL}
    assert in_datapath(bridge, 1) == "discarding", "it was over too soon to have tested anything"
    wait_state(controller, bridge, 1, "forwarding")
    assert bridge.send(2, hello) == {1, LOCAL}


def test_a_port_that_is_closed_sends_nothing_to_its_static_address(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("states")
    wait_state(controller, bridge, 2, "forwarding")
    wait_state(controller, bridge, 1, "discarding")
    host = frames.host(77)
    path = f"/v1/bridges/{bridge.dpid16}/fdb/0/{host}"
    reply = controller.api("PUT", path, body={"port": bridge.port_name(1)})
    assert reply.status in (200, 201, 204), reply
    sent = bridge.send(2, frames.ethernet(host, frames.host(3)))
    assert in_datapath(bridge, 1) == "discarding", "it was over too soon to have tested anything"
    assert 1 not in sent, sent


def test_bpdus_of_an_edge_port_are_heard_and_end_its_being_one(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("malformed")
    wait_state(controller, bridge, 2, "forwarding")
    assert status(controller, bridge, 2)["edge"]["oper"]
    assert bridge.send(2, SUPERIOR) == set()
    wait_for(lambda: not status(controller, bridge, 2)["edge"]["oper"], "the port to be no edge")


def test_a_port_without_spanning_tree_lets_bpdus_pass(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("off")
    for port in (1, 2, 3):
        wait_state(controller, bridge, port, "forwarding")
    assert in_datapath(bridge, 4) == "discarding"
    assert bridge.send(1, INFERIOR) == {2, 3, LOCAL}  # as any multicast: not by one that blocks
    # Its flow ends by itself where a busy machine holds the controller up: it is renewed then.
    wait_for(lambda: bridge.send(3, INFERIOR) == set(), "BPDUs of a port with spanning tree to end")
    assert bridge.send(1, frames.pause(frames.host(1))) == set()


def test_a_filtered_port_neither_hears_nor_speaks(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("filter")
    wait_state(controller, bridge, 1, "forwarding")
    assert bridge.send(1, SUPERIOR) == set()
    wait_for(lambda: status(controller, bridge, 1)["drops"], "the drop to be counted")
    answer = status(controller, bridge, 1)
    assert answer["drops"] == {"filtered": 1}
    assert answer["received"] == {"config": 0, "tcn": 0, "rst": 0}
    assert answer["sent"] == {"config": 0, "tcn": 0, "rst": 0}
    assert answer["state"] == "forwarding"


# --- topology changes ----------------------------------------------------------------------------


def test_a_topology_change_flushes_all_other_ports_but_edges(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    bridge = make("change")
    bridge.switch.step()
    with Neighbour(bridge, {1: SUPERIOR}) as neighbour:
        for port in (1, 2, 3, 4):
            wait_state(controller, bridge, port, "forwarding", 30)
        assert status(controller, bridge, 1)["role"] == "root"
        settled(controller, bridge)
        hosts = {port: learn(controller, bridge, 0x70 + port, port) for port in (1, 2, 3, 4)}

        neighbour.says(1, rst(DESIGNATED | LEARNING | FORWARDING | TC, root=0))
        for port in (2, 3):
            wait_forgotten(controller, bridge, hosts[port])
        assert_known(controller, bridge, {port: hosts[port] for port in (1, 4)})
        neighbour.says(1, SUPERIOR)
        settled(controller, bridge)

        # The same from below: a bridge whose root port faces our port 2.
        hosts = {port: learn(controller, bridge, 0x80 + port, port) for port in (1, 2, 3, 4)}
        bridge.inject(2, rst(ROOT | FORWARDING | LEARNING | TC, root=0, cost=200_000, number=9))
        for port in (1, 3):
            wait_forgotten(controller, bridge, hosts[port])
        assert_known(controller, bridge, {port: hosts[port] for port in (2, 4)})
        # ... and it is passed on.
        wait_for(lambda: any(tells_change(f) for f in bridge.sent(1)), "port 1 to tell of it")


def test_members_are_asked_after_a_topology_change_that_a_neighbour_alone_tells(
    make: Callable[[str], Bridge], controller: Controller
) -> None:
    """The root of a pair: its tree has no neighbour to notify, and starts no timer."""
    bridge = make("asks")
    bridge.switch.step()
    with Neighbour(bridge, {1: rst(ROOT | LEARNING | FORWARDING)}) as neighbour:
        wait_state(controller, bridge, 1, "forwarding", 30)
        settled(controller, bridge)
        bridge.forget_sent()
        neighbour.says(1, rst(ROOT | LEARNING | FORWARDING | TC))
        asked: list[bytes] = []

        def quick() -> bool:
            asked.extend(frame for frame in bridge.sent(2) if frame[14:16] == b"\x46\xc0")
            return any(frame[39] == 10 for frame in asked)  # for answers within a second

        wait_for(quick, "members to be asked")
        assert not controller.get(f"/v1/bridges/{bridge.dpid16}/stp")["topology_change"]["active"]


def settled(controller: Controller, bridge: Bridge) -> None:
    path = f"/v1/bridges/{bridge.dpid16}/stp"
    wait_for(
        lambda: not controller.get(path)["topology_change"]["active"],
        "the topology change to be over",
    )


def assert_known(controller: Controller, bridge: Bridge, hosts: dict[int, str]) -> None:
    for port, host in hosts.items():
        assert controller.where(bridge, host) == port
        assert halves(bridge, host) == (1, 1)


def tells_change(frame: bytes) -> bool:
    return frame[:6] == frames.mac(frames.BPDU_GROUP) and frame[20] == 2 and bool(frame[21] & TC)
