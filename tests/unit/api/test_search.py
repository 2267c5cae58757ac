"""What is found by a part of its name, and who has made a network card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ofapp.api.openapi import OpenAPI
from ofapp.api.resources.hosts import search
from ofapp.api.resources.hosts.vendors import Vendors, blueprint
from ofapp.controller.network import Network
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, lldp_network, mac

LIST = """Registry,Assignment,Organization Name,Organization Address
MA-L,020000,"Example, Inc.",1 Road
MA-L,001B21,Intel Corporate,Somewhere
MA-L,00D0EF,IGT
"""


@pytest.fixture
def vendors(tmp_path: Path) -> Vendors:
    path = tmp_path / "oui.csv"
    path.write_text(LIST)
    return Vendors(path)


def find(client: Any, text: str) -> search.Found:
    answer = client.get("/v1/search", query_string={"q": text})
    assert answer.status_code == 200, answer.text
    return search.Found.model_validate(answer.json)


def test_bridges_by_name_and_by_datapath_id(client: Any) -> None:
    for text in ("BR0", DPID):
        found = find(client, text)
        assert [(own.datapath_id, own.bridge) for own in found.bridges] == [(DPID, "br0")]
        assert not found.more


def test_ports_by_a_part_of_their_name(client: Any) -> None:
    found = find(client, "th2")
    assert [(own.bridge, own.port.name) for own in found.ports] == [
        ("br0", "eth2"),
        ("br1", "eth2"),
    ]


def test_hosts_by_a_part_of_their_address_with_or_without_colons(client: Any) -> None:
    (whole,) = {own.mac for own in find(client, mac(1)).hosts}
    assert whole == mac(1)
    assert mac(1) in {own.mac for own in find(client, mac(1)[6:]).hosts}
    assert mac(1) in {own.mac for own in find(client, mac(1).replace(":", "")[4:]).hosts}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", {mac(1)}),
        ("10.0.0.", {mac(1), mac(10)}),
        ("FE80:0:0::1", {mac(1)}),
        ("fe80:", {mac(1)}),
        ("0.0.1", set()),  # in the middle
        ("10.0.0.2", set()),
        ("10.0.0.999", set()),
    ],
)
def test_hosts_by_the_ip_address_that_they_were_heard_with(
    client: Any, text: str, expected: set[str]
) -> None:
    assert {own.mac for own in find(client, text).hosts} == expected


def test_a_host_is_reported_with_what_every_bridge_has_heard(client: Any) -> None:
    (host,) = find(client, "10.0.0.1").hosts
    assert host.addresses == ["fe80::1", "10.0.0.1"]


def test_neighbours_by_what_they_say_of_themselves(clients: Clients) -> None:
    client = clients(lldp_network())
    (said,) = find(client, "<SCRIPT>").neighbours
    assert said.lldp is not None
    assert (said.port.name, said.chassis_id) == ("eth3", "them")


def test_what_is_not_there_is_not_found(client: Any) -> None:
    found = find(client, "nowhere")
    assert (found.bridges, found.ports, found.hosts, found.more) == ([], [], [], False)


@pytest.mark.parametrize("query", ["", "?q=a", "?q=" + "a" * 65, "?q=ab&other=1"])
def test_what_cannot_be_asked(client: Any, query: str) -> None:
    assert client.get(f"/v1/search{query}").status_code == 422


def test_no_more_than_a_hundred_are_reported(client: Any, network: Any) -> None:
    bridge = network.bridges[1]
    for number in range(200):
        network.changes.fdb.add_static(bridge, 0, 0x0600_0000_0000 + number, "eth2")
    found = find(client, "06:00:00")
    assert len(found.hosts) == 100
    assert found.more


def test_vendors_by_prefix_and_by_name(vendors: Vendors) -> None:
    assert vendors.name(0x001B21) == "Intel Corporate"
    assert vendors.name(0x123456) is None
    assert vendors.prefixes("INTEL") == {0x001B21}
    assert vendors.prefixes("example, inc") == {0x020000}


def test_without_the_list_nobody_is_known(tmp_path: Path) -> None:
    vendors = Vendors(tmp_path / "none.csv")
    assert vendors.name(0x001B21) is None
    assert vendors.prefixes("intel") == frozenset()


def test_the_vendors_of_some_prefixes(
    vendors: Vendors, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ofapp.api.resources.hosts.vendors.KNOWN", vendors)
    app = OpenAPI("vendors")
    app.register_api(blueprint(network))
    client = app.test_client()
    answer = client.get("/v1/vendors?prefix=00:1B:21,12:34:56").json
    assert answer == {"vendors": {"00:1b:21": "Intel Corporate"}}
    assert client.get("/v1/vendors?prefix=00:1b").status_code == 422
