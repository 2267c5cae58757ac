"""Fabrics over the API, in metrics, and as the command shows them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from flask import Flask

from ofapp.api.cluster import proxy
from ofapp.api.cluster.merging import merge_fabrics
from ofapp.api.resources.fabrics import Fabric, FabricList, FabricTrace
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.controller.cluster.peers.requests import Reply
from ofapp.controller.network import Network
from tests.unit.api import live
from tests.unit.api.fabrics import CABLES, FakeFabric
from tests.unit.api.network import fabric_network, mac
from tests.unit.api.test_metrics import value
from tests.unit.cli.conftest import Run, ofapp  # noqa: F401


@pytest.fixture
def network() -> Network:
    return fabric_network()


@pytest.fixture
def mesh(network: Network) -> FakeFabric:
    return cast(FakeFabric, network.fabrics["mesh"])


def trace(client: Any, start: str, to: str, **query: Any) -> FabricTrace:
    answer = client.get("/v1/fabrics/mesh/trace", query_string={"from": start, "to": to, **query})
    assert answer.status_code == 200, answer.text
    return FabricTrace.model_validate(answer.json)


def refusal(client: Any, start: str, to: str, **query: Any) -> tuple[int, str]:
    answer = client.get("/v1/fabrics/mesh/trace", query_string={"from": start, "to": to, **query})
    (error,) = answer.json["errors"]
    return answer.status_code, error["field"]


def test_a_host_at_a_member_without_links_is_told_so(client: Any, mesh: FakeFabric) -> None:
    def problems() -> list[str | None]:
        answer = client.get("/v1/bridges/0000000000000001/diagnosis?host=s2/eth0")
        assert answer.status_code == 200, answer.text
        return [host["problem"] for host in answer.json["hosts"]]

    said = "no link from member s2 to another member of mesh is known to carry frames"
    mesh.lose(0)
    (other,) = problems()
    assert said not in str(other)
    mesh.lose(0, 1)
    assert problems() == [f"{said}: s1/eth1: s2/eth1 has no carrier"]


def test_the_list_counts_members_and_links(client: Any) -> None:
    (mesh,) = FabricList.model_validate(client.get("/v1/fabrics").json).fabrics
    assert (mesh.name, mesh.datapath_id, mesh.members, mesh.ready) == ("mesh", f"{1:016x}", 3, 3)
    assert mesh.connected
    assert {state: number for state, number in mesh.links.items() if number} == {
        "carries": 2,
        "held": 1,
        "wrong": 1,
    }


def test_without_fabrics_the_list_is_empty(clients: Any) -> None:
    from tests.unit.api.network import empty_network

    client = clients(empty_network())
    assert client.get("/v1/fabrics").json == {"fabrics": [], "silent": []}
    assert client.get("/v1/fabrics/mesh").status_code == 404


def test_a_fabric_has_members_and_links_with_their_load(client: Any) -> None:
    mesh = Fabric.model_validate(client.get("/v1/fabrics/mesh").json)
    assert (mesh.mtu, mesh.link_mtu, mesh.settled, mesh.paused) == (1500, 1526, True, "")
    first = mesh.members[0]
    assert (first.name, first.number, first.version, first.versions) == ("s1", 1, 4, [3, 4])
    one, other, held, wrong = mesh.links
    assert (one.one, one.other, one.state, one.cost) == (*CABLES[0], "carries", 1)
    assert one.counters is not None
    assert (one.counters.rx_bytes, one.counters.tx_bytes) == (100, 200)
    assert other.counters is not None, "the other end's, seen from this one"
    assert (other.counters.rx_bytes, other.counters.tx_bytes) == (200, 100)
    assert (held.failures, held.counters) == (2, None)
    assert (wrong.other, wrong.state, wrong.meaning) == (
        *(None, "wrong"),
        "is not cabled as the file says",
    )


def test_the_counters_of_links_are_asked_for(client: Any, network: Network) -> None:
    assert client.get("/v1/fabrics/mesh").json["counters_age"] is None
    asked = []
    counters: Any = SimpleNamespace(
        ask=lambda: asked.append("ask"), wait=asked.append, at=time.monotonic() - 2, latest={}
    )
    network.datapaths[1] = cast(Any, SimpleNamespace(port_counters=counters))
    assert 2 <= client.get("/v1/fabrics/mesh").json["counters_age"] < 60
    assert asked[0] == "ask"


def test_a_trace_from_a_port_says_which_links_and_which_after_a_failure(client: Any) -> None:
    found = trace(client, "s1/eth0", mac(2))
    assert (found.vlan, found.mac, found.flooded) == (0, mac(2), False)
    assert (found.start.member, found.end.member, found.end.port) == ("s1", "s2", "s2/eth0")
    ((hop,),) = found.ways
    assert (hop.out, hop.into, hop.colour) == (*CABLES[0], "green")
    (after,) = found.after
    assert (after.one, after.other) == CABLES[0]
    ((first, second),) = after.ways
    assert [(each.out, each.into, each.colour) for each in (first, second)] == [
        (*CABLES[2][::-1], "red"),
        (*CABLES[1][::-1], "red"),
    ]


def test_a_trace_may_begin_at_the_port_of_the_host(client: Any, network: Network) -> None:
    """LOCAL of the first member, which has the name of the fabric, and no member in front."""
    local = Port(LOCAL_PORT, "mesh", 0x99, True)
    bridge = network.bridges[1]
    bridge.set_ports([*bridge.ports, local], time.monotonic())
    assert trace(client, "mesh", mac(2)).start.member == "s1"


@pytest.mark.parametrize("start", ["s2/eth0", mac(2)])
def test_a_trace_by_addresses(client: Any, start: str) -> None:
    found = trace(client, start, "10.0.0.1", vlan=0)
    assert (found.start.port, found.mac, found.end.port) == ("s2/eth0", mac(1), "s1/eth0")


def test_hosts_at_the_same_member_use_no_link(client: Any) -> None:
    found = trace(client, "s1/eth0", mac(1), vlan=7)
    assert (found.ways, found.after, found.end.member) == ([], [], "s1")


def test_frames_to_an_unknown_host_take_the_tree(client: Any) -> None:
    found = trace(client, "s1/eth0", mac(99))
    assert (found.flooded, found.end.member, found.vlan) == (True, None, 0)
    assert len(found.ways) == 2


def test_the_vlan_is_that_where_both_are_known(client: Any) -> None:
    assert trace(client, mac(1), mac(2)).vlan == 0
    assert refusal(client, "s2/eth0", mac(1)) == (409, "vlan")


@pytest.mark.parametrize(
    ("start", "to", "vlan", "refused"),
    [
        ("s9/eth0", mac(1), 0, (404, "from")),
        (mac(98), mac(1), 0, (404, "from")),
        (mac(2), mac(1), 7, (404, "from")),
        ("s1/eth0", "10.0.0.99", 0, (404, "to")),
        ("s1/eth0", "10.0.0.1", 9, (404, "to")),
        ("s1/eth0", "there", 0, (404, "to")),
        ("s1/eth0", mac(1), 4095, (422, "vlan")),
    ],
)
def test_what_names_no_way(
    client: Any, start: str, to: str, vlan: int, refused: tuple[int, str]
) -> None:
    assert refusal(client, start, to, vlan=vlan) == refused


def test_the_answer_of_the_owner_counts_in_a_cluster(client: Any) -> None:
    here = client.get("/v1/fabrics").json
    (mesh,) = here["fabrics"]
    old = {"fabrics": [mesh | {"ready": 0}, mesh | {"name": "a", "datapath_id": "0" * 16}]}
    answers = {"m1": old, "m2": here}
    owners = {mesh["datapath_id"]: "m2"}
    merged = merge_fabrics(answers, owners.get)
    assert [(each["name"], each["ready"]) for each in merged["fabrics"]] == [("a", 3), ("mesh", 3)]


def test_a_request_about_a_fabric_goes_to_the_owner_of_its_bridge(
    network: Network, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that does not run it asks the others for its bridge."""
    body = client.get("/v1/fabrics").data
    asked = []

    def ask_all(request: Any) -> tuple[list[Reply], list[Any]]:
        asked.append(request.target)
        return [Reply("m2", 200, {}, body), Reply("m3", 503, {}, b"{}")], []

    surface: Any = SimpleNamespace(peers=SimpleNamespace(ask_all=ask_all))
    monkeypatch.setattr(proxy, "_caller", lambda: None)
    monkeypatch.setattr(proxy, "from_member", lambda: False)
    here = proxy.Proxy(Flask(__name__), network, surface)
    assert here.bridge_of_fabric("mesh") == f"{1:016x}"
    assert asked == []
    network.fabrics = {}
    assert here.bridge_of_fabric("mesh") == f"{1:016x}"
    assert here.bridge_of_fabric("other") is None
    assert here.bridge_of_fabric(None) is None
    assert asked == ["/v1/fabrics"] * 2
    monkeypatch.setattr(proxy, "from_member", lambda: True)
    assert here.bridge_of_fabric("mesh") is None


def test_metrics(client: Any, mesh: FakeFabric) -> None:
    labels = {"fabric": "mesh"}
    assert value(client, "ofapp_fabric_members", **labels) == 3
    assert value(client, "ofapp_fabric_links", **labels, state="held") == 1
    assert value(client, "ofapp_fabric_links", **labels, state="down") == 0
    assert value(client, "ofapp_fabric_settled", **labels) == 1
    member = {**labels, "member": "s2"}
    assert value(client, "ofapp_fabric_member_ready", **member) == 1
    assert value(client, "ofapp_fabric_member_conversations", **member) == 2
    assert value(client, "ofapp_fabric_member_versions", **member) == 2
    link = {**labels, "one": CABLES[0][0], "other": CABLES[0][1]}
    assert value(client, "ofapp_fabric_link_carries", **link) == 1
    assert value(client, "ofapp_fabric_link_failures_total", **link) == 0
    mesh.state = replace(mesh.state, paused="s1 is away")
    assert value(client, "ofapp_fabric_paused", **labels) == 1


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server of `fabric_network`."""
    with live.served("fabric") as served:
        yield served


def test_the_command_shows_fabrics(url: str, ofapp: Run) -> None:  # noqa: F811
    header, mesh = ofapp("fabric", "show", "--api", url).lines
    assert header.split()[:3] == ["FABRIC", "BRIDGE", "MEMBERS"]
    assert mesh.split()[0] == "mesh"
    lines = ofapp("fabric", "show", "mesh", "--api", url).lines
    assert any(line.split()[:3] == ["s1", "yes", "yes"] for line in lines)
    assert any("s1/eth1" in line and "s2/eth2" in line and "carries" in line for line in lines)
    assert any("leads to another fabric" in line for line in lines)
    assert json.loads(ofapp("fabric", "show", "mesh", "-j", "--api", url).out)["number"] == 7


def test_the_command_traces(url: str, ofapp: Run) -> None:  # noqa: F811
    said = ofapp("fabric", "trace", "s1/eth0", mac(2), "--api", url)
    assert said.status == 0, said.err
    assert "s1/eth1 > s2/eth2" in said.out
    assert any(line.startswith("without s1/eth1 - s2/eth2") for line in said.lines)
    found = json.loads(ofapp("fabric", "trace", "s1/eth0", mac(2), "-j", "--api", url).out)
    assert found["end"]["member"] == "s2"
    here = ofapp("fabric", "trace", "s2/eth0", mac(2), "--api", url).out
    assert "at the same member: no link is used" in here
    assert "flooded" in ofapp("fabric", "trace", "s1/eth0", mac(99), "--api", url).out
    assert ofapp("fabric", "trace", "s9/eth0", mac(2), "--api", url).status == 1
