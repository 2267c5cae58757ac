"""A host is found by the IP addresses that it was heard with."""

from __future__ import annotations

import re

from ofapp.openflow.pipeline.meters import ADDRESS_METER
from tests.support import frames, multicast_frames
from tests.support.controller import Controller
from tests.support.hosts import learn, learned_flows, wait_learned
from tests.support.ovs import LOCAL, Bridge
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


def test_a_known_host_is_found_by_what_it_says_later(
    bridge: Bridge, controller: Controller
) -> None:
    """It was learned from another frame; its ARP is for one host, its solicitation for a group."""
    a, b = (learn(controller, bridge, 10 + number, number) for number in (1, 2))
    assert found(controller, "10.0.1.7") == {}
    reply = frames.mac(b) + frames.arp_request(a, "10.0.1.7")[6:]
    assert bridge.send(1, reply) == {2}
    wait_for(lambda: found(controller, "10.0.1.7") == {a: ["10.0.1.7"]}, "its ARP to be read")
    assert bridge.send(1, frames.solicitation(a, "2001:db8::7")) == {2, 3, LOCAL}
    both = ["2001:db8::7", "10.0.1.7"]
    wait_for(lambda: found(controller, "2001:db8::7") == {a: both}, "its solicitation to be read")


def test_by_what_a_host_on_an_isolated_port_says(bridge: Bridge, controller: Controller) -> None:
    """What a frame carries through the tables comes with its copy."""
    port = f"/v1/bridges/{bridge.dpid16}/ports/1"
    assert controller.api("PATCH", port, {"isolated": True}).status == 200
    a = learn(controller, bridge, 21, 1)
    bridge.send(1, frames.arp_request(a, "10.0.2.7"))
    wait_for(lambda: a in found(controller, "10.0.2.7"), "its ARP to be read")


def test_a_storm_of_arp_costs_a_bounded_number_of_copies(
    bridge: Bridge, controller: Controller
) -> None:
    """Of known hosts: the clock stands, so that what the meter lets through is its burst."""
    a = learn(controller, bridge, 1, 1)
    storm = [frames.arp_request(a, f"10.0.{n >> 8}.{n & 255}") for n in range(1, 501)]
    for at in range(0, len(storm), 100):
        bridge.inject(1, *storm[at : at + 100])

    def samples() -> float:
        lines = controller.get("/metrics").splitlines()
        about = f'ofapp_packet_ins_total{{bridge="{bridge.name}"'
        return sum(float(line.split()[-1]) for line in lines if about in line and "address" in line)

    wait_for(lambda: bridge.meter_packets()[ADDRESS_METER.id] >= len(storm), "the storm to pass")
    wait_for(lambda: samples() > 0, "some of it to be read")
    assert samples() <= 2 * ADDRESS_METER.rate
    assert bridge.send(1, storm[0]) == {2, 3, LOCAL}


def test_unicast_is_cached_as_without_samples(bridge: Bridge, controller: Controller) -> None:
    """Nothing of IP is looked at for them in the frames that the switch carries by itself."""
    a, b = (learn(controller, bridge, number, number) for number in (1, 2))
    flow = f"in_port=1,dl_src={a},dl_dst={b},tcp6,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::2"
    (cached,) = re.findall(
        "Megaflow: (.*)", bridge.switch.appctl("ofproto/trace", bridge.name, flow)
    )
    assert "dl_type=0x86dd" in cached or ",ipv6," in cached, cached
    assert not re.search("nw_(?!frag)|ipv6_|tp_|tcp|icmp", cached), cached
