"""A host is found by the IP address that it was heard with, without anything more in the switch."""

from __future__ import annotations

from tests.support import frames, multicast_frames
from tests.support.controller import Controller
from tests.support.hosts import learned_flows, wait_learned
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

A, B, C = (frames.host(number) for number in (1, 2, 3))


def found(controller: Controller, text: str) -> dict[str, list[str]]:
    hosts = controller.get(f"/v1/search?q={text}")["hosts"]
    return {host["mac"]: host["addresses"] for host in hosts}


def test_by_what_its_first_frame_says(bridge: Bridge, controller: Controller) -> None:
    bridge.send(1, frames.arp_request(A, "10.0.0.7"))
    bridge.send(2, frames.arp_request(B, "10.0.0.77"))
    wait_learned(controller, bridge, A, 1)
    wait_for(lambda: len(found(controller, "10.0.0.7")) == 1, "the address to be known")
    assert found(controller, "10.0.0.7") == {A: ["10.0.0.7"]}
    wait_for(lambda: B in found(controller, "10.0.0."), "the other one, too")
    assert len(learned_flows(bridge)) == 4
    (entry,) = controller.get("/v1/fdb?ip=10.0.0.7")["entries"]
    assert (entry["mac"], entry["port"]["number"]) == (A, 1)


def test_by_the_report_of_a_member_of_a_group(bridge: Bridge, controller: Controller) -> None:
    """Whose first frame told nothing."""
    bridge.send(1, frames.ethernet(frames.BROADCAST, C))
    wait_learned(controller, bridge, C, 1)
    assert C not in found(controller, "10.0.0.")
    bridge.send(1, multicast_frames.join(3, "239.1.1.1"))
    wait_for(lambda: C in found(controller, "10.0.0.3"), "the report to be read")
