"""LLDP over the API, in metrics, on the map and as the command shows it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.api.resources.bridge.lldp import LldpBridgeStatus
from ofapp.api.resources.topology import Map
from ofapp.bridge.effects import CheckedLink
from ofapp.bridge.effects.notices import OneWay
from ofapp.common import hub
from ofapp.controller.network import Network
from tests.support.waiting import wait_for
from tests.unit.api import live
from tests.unit.api.network import DPID, FULL, lldp_network
from tests.unit.api.test_metrics import value
from tests.unit.bridge.lldp.lab import pdu
from tests.unit.cli.conftest import Run, ofapp  # noqa: F401

HOSTILE = "<script>\x1b[2J"


@pytest.fixture
def network() -> Network:
    return lldp_network()


def lldp_status(client: Any) -> LldpBridgeStatus:
    return LldpBridgeStatus.model_validate(client.get(f"/v1/bridges/{DPID}/lldp").json)


def test_each_port_of_the_switch_tells_its_neighbours_and_counters(client: Any) -> None:
    known = lldp_status(client)
    assert known.enabled
    assert [(port.name, port.lag, port.link) for port in known.ports] == [
        ("eth1", "lag0", False),
        ("eth2", "lag0", False),
        ("eth3", None, False),
        ("eth4", None, True),
    ]
    first, _, guest, other = known.ports
    (own,) = first.neighbours
    assert (own.own, own.own_port, own.system_name) == (FULL, 1, "br1")
    (said,) = guest.neighbours
    assert (said.own, said.system_name, said.chassis_id) == (None, HOSTILE, "them")
    assert guest.counters["received"] == 1
    assert len(other.neighbours) == 1


def test_it_is_set_while_it_runs(client: Any, network: Network) -> None:
    path = f"/v1/bridges/{DPID}/lldp"
    changed = client.patch(path, json={"tx_interval": 5, "management_address": "192.0.2.9"})
    assert changed.json["parameters"]["tx_interval"] == 5
    params = network.bridges[1].params.lldp
    assert params is not None
    assert (params.tx_interval, params.management_address) == (5, "192.0.2.9")
    assert client.patch(path, json={"enabled": False}).json["ports"] == []
    assert network.bridges[1].params.lldp is None
    assert len(client.patch(path, json={"enabled": True}).json["ports"]) == 4
    (*_, last) = [one.event for one in network.events.since(0) if one.event.kind == "lldp.set"]
    assert last.data == {"enabled": True}


def test_a_port_is_set_while_it_runs(client: Any) -> None:
    path = f"/v1/bridges/{DPID}/lldp/ports"
    ports = client.patch(f"{path}/eth3", json={"link": True}).json["ports"]
    assert {port["name"] for port in ports if port["link"]} == {"eth3", "eth4"}
    ports = client.patch(f"{path}/lag0", json={"enabled": False}).json["ports"]
    assert [port["name"] for port in ports] == ["eth3", "eth4"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("", {"tx_interval": 0}, 422),
        ("", {"management_address": "there"}, 422),
        ("", {"interval": 5}, 422),
        ("/ports/LOCAL", {"link": True}, 409),
        ("/ports/eth9", {"link": True}, 404),
        ("/ports/eth3", {"link": "yes"}, 422),
    ],
)
def test_what_cannot_be_set(client: Any, path: str, body: dict[str, Any], status: int) -> None:
    assert client.patch(f"/v1/bridges/{DPID}/lldp{path}", json=body).status_code == status


def test_where_it_is_off_there_is_nothing(network: Network) -> None:
    from tests.unit.api.network import some_network

    off = some_network()
    assert off.bridges[1].lldp.params is None
    assert off.bridges[1].lldp.status(time.monotonic()) == ()


def test_the_map_has_what_is_proven_or_marked(client: Any) -> None:
    known = Map.model_validate(client.get("/v1/topology").json)
    marked, aggregated = known.links
    assert (aggregated.a.port.name, aggregated.b.port.name) == ("lag0", "lag0")
    assert aggregated.lag is not None
    cables = [(one.a, one.b) for one in aggregated.lag.members]
    assert cables == [("eth1", "eth1"), ("eth2", "eth2")]
    assert (marked.a.port.name, marked.b.port.name, marked.lag) == ("eth4", "eth3", None)
    (guest,) = known.neighbours
    assert guest.lldp is not None
    assert (guest.port.name, guest.trusted, guest.lldp.system_name) == ("eth3", False, HOSTILE)


def test_a_guest_that_names_a_bridge_of_ours_makes_no_link(client: Any, network: Network) -> None:
    """It says what anybody can read: the address of the bridge and the name of a port."""
    before = len(Map.model_validate(client.get("/v1/topology").json).links)
    claim = pdu(chassis=b"\x04\x02\x00\x00\x00\x00\xff", port=b"\x05eth4")
    bridge = network.bridges[1]
    network.dispatcher.apply(bridge, bridge.hear("lldp", [(3, claim)], 1000.0))
    assert len(Map.model_validate(client.get("/v1/topology").json).links) == before


def test_metrics(client: Any) -> None:
    labels = {"datapath_id": DPID, "bridge": "br0", "port": "eth3"}
    assert value(client, "ofapp_lldp_neighbours", **labels) == 1
    assert value(client, "ofapp_lldp_events_total", **labels, what="received") == 1


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server of `lldp_network`."""
    with live.served("lldp") as served:
        yield served


def test_the_command_shows_neighbours(url: str, ofapp: Run) -> None:  # noqa: F811
    header, *rows = ofapp("lldp", "show", "br0", "--api", url).lines
    assert header.split()[:3] == ["BRIDGE", "PORT", "NEIGHBOUR"]
    assert [row.split()[:2] for row in rows] == [["br0", f"eth{n}"] for n in (1, 2, 3, 4)]
    assert r"<script>\x1b[2J" in rows[2]
    counted = ofapp("lldp", "show", "br0", "-s", "--api", url).lines
    assert counted[3].split()[:4] == ["br0", "eth3", "1", "1"]
    assert len(json.loads(ofapp("lldp", "show", "-j", "--api", url).out)) == 2


def one_way(client: Any, name: str) -> Any:
    ports = client.get(f"/v1/bridges/{DPID}/lldp").json["ports"]
    return next(port["one_way"] for port in ports if port["name"] == name)


def test_a_one_way_link_is_shown_and_freed(client: Any, network: Network) -> None:
    bridge = network.bridges[1]
    finding = OneWay("port eth1 of br1", (0xFF, 1), holds=True)
    effects = bridge.one_way.check(CheckedLink(1, finding), 0.0)
    network.dispatcher.apply(bridge, bridge.carry_out(effects, 0.0))
    about = {"state": "held", "neighbour": "port eth1 of br1", "hears": True}
    assert one_way(client, "eth1") == about
    labels = {"datapath_id": DPID, "bridge": "br0"}
    assert value(client, "ofapp_one_way_links", state="held", **labels) == 1
    assert value(client, "ofapp_one_way_found_total", state="held", **labels) == 1
    (problem,) = (each for each in bridge.problems(0.0) if each.of.name == "one_way.held")
    worded = problem.worded("br0", bridge.port_at)
    assert worded.remedy == "ofapp lldp free br0 eth1"
    assert worded.message == "port eth1 (1) is closed: port eth1 of br1 does not hear it"
    path = f"/v1/bridges/{DPID}/lldp/ports"
    assert client.post(f"{path}/eth1/free").status_code == 200
    assert one_way(client, "eth1") is None
    assert "not held" in client.post(f"{path}/1/free").text
    assert client.post(f"{path}/eth9/free").status_code == 404


def test_a_finding_closes_both_ends_of_the_link(network: Network) -> None:
    first, second = network.bridges[1], network.bridges[0xFF]
    notice = CheckedLink(1, OneWay("port eth1 of br1", (0xFF, 1), holds=True))
    network.dispatcher.handle(first, notice)
    wait_for(lambda: second.one_way.held(1), "the far end", sleep=hub.sleep)
    link = second.one_way.held(1)
    assert link is not None
    assert (link.neighbour, link.found, link.far) == ("port eth1 of br0", False, (1, 1))
    network.dispatcher.handle(first, CheckedLink(1, None, "its neighbour hears it"))
    wait_for(lambda: not second.one_way.held(1), "the far end", sleep=hub.sleep)
