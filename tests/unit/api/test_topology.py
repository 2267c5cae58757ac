"""The map of the network: links between own bridges, and neighbours of other controllers."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.api.resources.topology import Map, MapLink, around, map_view
from ofapp.bridge.stp.bpdu import encode
from ofapp.bridge.stp.vectors import format_bridge_id
from ofapp.controller.network import Network
from tests.unit.api.network import cabled_network, lag_network, learn, mac
from tests.unit.bridge.stp.lab import rst

NOW = 1000.0
BY_NAME = [(("br1", "eth1"), ("br2", "eth1")), (("br1", "eth2"), ("br2", "eth2"))]


@pytest.fixture
def network() -> Network:
    return cabled_network(NOW)


def topology_of(client: Any) -> Map:
    return Map.model_validate(client.get("/v1/topology").json)


def ends(link: MapLink) -> tuple[tuple[str, str], tuple[str, str]]:
    a, b = link.a, link.b
    return (f"br{int(a.datapath_id)}", a.port.name), (f"br{int(b.datapath_id)}", b.port.name)


def test_bridges_and_links_are_reported_with_their_trees(client: Any) -> None:
    known = topology_of(client)
    assert [(own.name, own.root, own.connected) for own in known.bridges] == [
        ("br1", True, True),
        ("br2", False, True),
    ]
    assert {own.root_id for own in known.bridges} == {"1000.02:00:00:00:00:01"}
    assert [ends(link) for link in known.links] == BY_NAME
    roles = [(link.stp.a, link.stp.b) for link in known.links]
    assert [(a.role, a.state, b.role, b.state) for a, b in roles if a and b] == [
        ("designated", "forwarding", "root", "forwarding"),
        ("designated", "forwarding", "alternate", "discarding"),
    ]


def test_whoever_is_not_of_this_controller_is_a_neighbour(client: Any) -> None:
    (worse,) = topology_of(client).neighbours
    assert (worse.port.name, worse.chassis_id, worse.port_id, worse.bridge_id) == (
        *("eth3", "02:00:00:00:00:99"),
        *(None, None),  # it was reported our root and has no more to say
    )


def test_a_better_neighbour_says_which_port_it_is(client: Any, network: Network) -> None:
    network.bridges[2].hear("bpdu", [(3, encode(rst(0x66, port=0x8007), 0x66))], NOW)
    better = topology_of(client).neighbours[-1]
    assert (better.chassis_id, better.port_id) == ("00:00:00:00:00:66", "8.007")
    assert better.bridge_id == format_bridge_id(0x66)


def test_a_claim_to_be_a_port_that_is_not_there_makes_no_link(
    client: Any, network: Network
) -> None:
    """A host that poses as one of our bridges, with a port that this has not."""
    before = [ends(link) for link in topology_of(client).links]
    claim = rst(0x1000 << 48 | 0x020000000001, port=0x8000 | 77)
    network.bridges[2].hear("bpdu", [(3, encode(claim, 0x66))], NOW)
    assert [ends(link) for link in topology_of(client).links] == before


def test_a_cable_that_is_pulled_is_gone_from_the_map(client: Any, network: Network) -> None:
    for bridge in network.bridges.values():
        bridge.remove_port(2, NOW)
    assert [ends(link) for link in topology_of(client).links] == BY_NAME[:1]


def test_without_spanning_tree_there_are_bridges_alone() -> None:
    known = map_view(around(lag_network()))
    assert [(own.name, own.root, own.bridge_id) for own in known.bridges] == [
        ("br0", None, None),
        ("br1", None, None),
    ]
    assert (known.links, known.neighbours) == ([], [])


def test_what_a_switch_does_that_is_away_is_not_known(client: Any, network: Network) -> None:
    """Its bridge is no root of anything, and its ends of links do not forward."""
    del network.datapaths[1]
    known = topology_of(client)
    assert [(own.name, own.root, own.connected) for own in known.bridges] == [
        ("br1", None, False),
        ("br2", False, True),
    ]
    link = known.links[0]
    assert (link.a.connected, link.stp.a) == (False, None)
    assert link.b.connected
    assert link.stp.b is not None
    assert not client.get("/v1/bridges/br1/stp").json["connected"]
    assert client.get("/v1/bridges/br2/stp").json["connected"]


def test_hosts_where_they_are_attached(client: Any, network: Network) -> None:
    """And not where other bridges know them, behind ports that lead to the first one."""
    learn(network, network.bridges[1], (3, 0, mac(1)), (1, 0, mac(2)), (4294967294, 0, mac(3)))
    learn(network, network.bridges[2], (1, 0, mac(1)), (3, 0, mac(2)))

    def places(**query: object) -> list[tuple[str, str, str]]:
        entries = client.get("/v1/fdb", query_string={"attached": "true", **query}).json["entries"]
        return [(own["bridge"], own["port"]["name"], own["mac"]) for own in entries]

    expected = [("br1", "eth3", mac(1)), ("br1", "br1", mac(3)), ("br2", "eth3", mac(2))]
    assert places() == expected
    assert places(limit=1) == expected[:1]
    assert places(mac=mac(2)) == expected[2:]
    assert places(type="local") == [
        ("br1", "br1", "02:00:00:00:00:01"),
        ("br2", "br2", "02:00:00:00:00:02"),
    ]
    assert len(client.get("/v1/fdb").json["entries"]) == 2 + 5
