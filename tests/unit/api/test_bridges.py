"""Bridges and their ports, as the API tells them."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.resources.bridge import bridges
from ofapp.api.resources.bridge import ports as ports_api
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import Guard
from ofapp.bridge.stp.bpdu import encode
from ofapp.controller.network import Network
from ofapp.openflow.model.traps import LIMITED
from tests.unit.api.clients import Clients
from tests.unit.api.network import (
    DPID,
    FULL,
    OWN,
    add_bridge,
    empty_network,
    mac,
    remade_network,
    standing,
)
from tests.unit.bridge.stp.lab import WORSE, rst


def test_all_bridges_are_listed(client: Any) -> None:
    answer = client.get("/v1/bridges")
    listed = bridges.BridgeList.model_validate(answer.json).bridges
    assert [(bridge.datapath_id, bridge.name) for bridge in listed] == [
        (DPID, "br0"),
        (FULL, "br1"),
    ]


def test_a_bridge_tells_its_limits_and_counts(client: Any) -> None:
    answer = bridges.Bridge.model_validate(client.get(f"/v1/bridges/{DPID}").json)
    assert (answer.ageing_time, answer.limits.fdb_max_learned) == (300, 100_000)
    assert (answer.fdb.learned, answer.fdb.static, answer.fdb.local) == (60, 1, 1)
    assert answer.fdb.learned_by_port == {"eth1": 40, "eth2": 20}
    assert answer.counters["learned"] == 60


def test_a_bridge_that_is_away_says_so(client: Any) -> None:
    answer = client.get(f"/v1/bridges/{DPID}").json
    assert (answer["connected"], answer["in_line"], answer["peer"]) == (False, False, None)


def test_a_bridge_that_is_away_can_be_forgotten(client: Any, network: Network) -> None:
    assert client.delete(f"/v1/bridges/{DPID}").status_code == 204
    assert client.get(f"/v1/bridges/{DPID}").status_code == 404
    assert client.delete(f"/v1/bridges/{DPID}").status_code == 404
    assert DPID not in client.get("/metrics").text


def test_all_that_are_away_are_forgotten_at_once(clients: Clients) -> None:
    client = clients(remade_network())
    for query in ({}, {"absent": "false"}):
        refused = client.delete("/v1/bridges", query_string=query)
        assert (refused.status_code, refused.json["errors"][0]["field"]) == (422, "absent")
    answer = client.delete("/v1/bridges", query_string={"absent": "true"})
    assert (answer.status_code, answer.json) == (200, {"forgotten": [DPID], "silent": []})
    assert [own["datapath_id"] for own in client.get("/v1/bridges").json["bridges"]] == [FULL]


def test_one_that_is_connected_cannot(clients: Clients) -> None:
    client = clients(remade_network())
    answer = client.delete(f"/v1/bridges/{FULL}")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (409, "dpid")
    assert "is connected" in answer.json["detail"]
    shown = bridges.Bridge.model_validate(client.get(f"/v1/bridges/{DPID}").json)
    assert (shown.name, shown.former_name, shown.away is not None) == (DPID, "br0", True)


def test_a_bridge_tells_the_ports_that_guards_hold(clients: Clients) -> None:
    guard = {"stp": {"enabled": True}, "ports": {"eth3": {"stp": {"bpdu_guard": True}}}}
    network = empty_network(bridges={DPID: guard})
    bridge, now = add_bridge(network), time.monotonic()
    client = clients(network)
    assert client.get(f"/v1/bridges/{DPID}").json["guarded"] == []
    network.dispatcher.apply(bridge, bridge.hear("bpdu", [(3, encode(rst(WORSE), 0x99))], now))
    answer = bridges.Bridge.model_validate(client.get(f"/v1/bridges/{DPID}").json)
    assert [(own.port.name, own.guards) for own in answer.guarded] == [("eth3", [Guard.BPDU_GUARD])]
    bridge.carry_out(bridge.stp.recover(3, now), now)
    assert client.get(f"/v1/bridges/{DPID}").json["guarded"] == []


def test_a_connected_bridge_tells_its_peer_and_what_was_dropped(
    client: Any, network: Network
) -> None:
    network.datapaths[1] = SimpleNamespace(  # type: ignore[assignment]
        channel=SimpleNamespace(address=("192.0.2.7", 4711), counters={"malformed_messages": 3}),
        status=standing(drops={"reserved": 9}),
    )
    answer = bridges.Bridge.model_validate(client.get(f"/v1/bridges/{DPID}").json)
    assert (answer.connected, answer.in_line, answer.peer) == (True, True, "192.0.2.7:4711")
    assert (answer.counters["malformed_messages"], answer.drops) == (3, {"reserved": 9})


def test_a_full_bridge_counts_what_it_refuses(client: Any) -> None:
    for number in (2, 3):
        client.put(f"/simpleswitch/mactable/{FULL}", json={"mac": mac(number), "port": 1})
    assert client.get(f"/v1/bridges/{FULL}").json["fdb"]["refused"] == 2


def test_ports(client: Any, bridge: Bridge) -> None:
    bridge.learning.limits.set_port(2, "eth2", PortParams(20))
    bridge.put_port(Port(LOCAL_PORT, "br0", parse_mac(OWN), False), time.monotonic())
    ports = ports_api.PortList.model_validate(client.get(f"/v1/bridges/{DPID}/ports").json).ports
    assert [port.name for port in ports] == ["eth1", "eth2", "eth3", "br0"]
    assert [port.state for port in ports] == ["forwarding", "forwarding", "forwarding", "disabled"]
    local = ports[-1]
    assert (local.number, local.local, local.mac, local.up) == (LOCAL_PORT, True, OWN, False)
    assert [(port.learned, port.limit) for port in ports[:3]] == [(40, None), (20, 20), (0, None)]


@pytest.mark.parametrize("below", ["", "/ports", "/fdb"])
def test_an_unknown_bridge_is_not_found(client: Any, below: str) -> None:
    answer = client.get(f"/v1/bridges/00000000000000aa{below}")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "dpid")


@pytest.mark.parametrize("dpid", ["1", "000000000000000g", DPID + "0", DPID + "%0a", "br2"])
def test_what_is_neither_a_datapath_id_nor_a_name_is_not_found(client: Any, dpid: str) -> None:
    answer = client.get(f"/v1/bridges/{dpid}")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "dpid")


@pytest.mark.parametrize("below", ["", "/ports", "/fdb", "/stp", "/mdb", "/multicast", "/lags"])
def test_a_bridge_is_found_by_its_name(client: Any, below: str) -> None:
    assert client.get(f"/v1/bridges/br0{below}").status_code == 200


def test_a_name_that_two_bridges_have_is_refused_with_both_ids(
    client: Any, network: Network
) -> None:
    add_bridge(network, 2)
    answer = client.get("/v1/bridges/br0/fdb")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (409, "dpid")
    assert DPID in answer.json["detail"]
    assert "0000000000000002" in answer.json["detail"]
    assert client.get(f"/v1/bridges/{DPID}").status_code == 200


def test_a_datapath_id_goes_before_a_name(client: Any, network: Network) -> None:
    """Or a switch that is called as another's datapath id would stand for it."""
    add_bridge(network, 2, DPID)
    assert client.get(f"/v1/bridges/{DPID}").json["name"] == "br0"


def test_what_is_held_back_from_the_controller_is_reported_each_port(
    client: Any, network: Network
) -> None:
    def held_back() -> list[dict[str, int]]:
        answer = client.get(f"/v1/bridges/{DPID}/ports")
        return [
            dict(port.held_back) for port in ports_api.PortList.model_validate(answer.json).ports
        ]

    assert held_back() == [{}, {}, {}, {}]
    network.datapaths[1] = SimpleNamespace(  # type: ignore[assignment]
        status=standing(held_back={"sighting": {2: 5}, "bpdu": {}, "snooped": {3: 7}})
    )
    assert held_back()[:3] == [
        {"sighting": 0, "bpdu": 0, "snooped": 0},
        {"sighting": 5, "bpdu": 0, "snooped": 0},
        {"sighting": 0, "bpdu": 0, "snooped": 7},
    ]


def test_every_kind_of_frames_that_a_meter_drops_is_reported(client: Any, network: Network) -> None:
    kinds = [kind.name for kind in LIMITED]
    session = SimpleNamespace(status=standing(held_back={kind: {1: 5} for kind in kinds}))
    network.datapaths[1] = session  # type: ignore[assignment]
    (port, *_) = client.get(f"/v1/bridges/{DPID}/ports").json["ports"]
    assert port["held_back"] == dict.fromkeys(kinds, 5)
