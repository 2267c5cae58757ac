"""Every host reaches every other, and the API says where each is, on every switch."""

from __future__ import annotations

import pytest

from tests.support.hosts import halves, wait_known
from tests.support.lab import Lab
from tests.support.waiting import wait_for

TOPOLOGIES = [(Lab.single, (4,)), (Lab.linear, (4,)), (Lab.tree, (2, 3))]


@pytest.mark.parametrize(("topology", "sizes"), TOPOLOGIES, ids=["single", "linear", "tree"])
def test_all_hosts_reach_each_other_and_are_where_the_api_says(
    network, controller, topology, sizes
):
    lab = network(topology, *sizes)
    assert lab.unreachable() == []
    for switch in lab.switches:
        for host in lab.hosts:
            wait_known(controller, switch, host.mac, switch.towards(host))
        # Two flows a host, however many conversations there were.
        wait_for(
            lambda switch=switch: all(halves(switch, host.mac) == (1, 1) for host in lab.hosts),
            f"two flows a host on {switch.name}",
        )
    for host in lab.hosts:
        places = controller.get("/v1/fdb", mac=host.mac)["entries"]
        assert {switch.name for switch in lab.switches} <= {place["bridge"] for place in places}


def test_the_first_ping_waits_for_nobody(network, controller):
    """Unknown hosts are flooded to by the switch itself, so with the controller frozen as well."""
    lab = network(Lab.linear, 2)
    one, other = lab.hosts
    controller.pause()
    try:
        assert one.reaches(other.ip)
    finally:
        controller.resume()


def test_ipv6_neighbours_are_found(network):
    lab = network(Lab.linear, 2)
    one, other = lab.hosts
    assert one.reaches(other.ip6)
