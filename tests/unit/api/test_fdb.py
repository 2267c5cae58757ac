"""Forwarding databases: what filters select, static entries, flushing."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from ofapp.api.resources.bridge import fdb
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import AskServer
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as Controlled
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, OWN, STATIC, learn, mac

FDB = f"/v1/bridges/{DPID}/fdb"


def macs(client: Any, **query: Any) -> list[str]:
    answer = client.get(FDB, query_string=query)
    assert answer.status_code == 200, answer.text
    return [entry.mac for entry in fdb.EntryPage.model_validate(answer.json).entries]


def test_without_a_filter_everything_in_order(client: Any) -> None:
    assert macs(client) == [OWN, *(mac(number) for number in range(1, 61)), STATIC]


def test_hosts_that_wait_for_mac_authentication_are_locked_entries(
    client: Any, network: Network
) -> None:
    bridge = network.bridges[int(DPID, 16)]
    waits, number = mac(30).replace("54:", "55:", 1), bridge.ports.numbers["eth1"]
    mab = PortParams(port_access=Controlled("mab"))
    params = replace(bridge.params, port_access=AccessParams("192.0.2.1"), ports={"eth1": mab})
    bridge.set_params(params, time.monotonic())
    head = b"\xff" * 6 + parse_mac(waits).to_bytes(6, "big") + b"\x08\0"
    (asked,) = bridge.hear("first_frame", [(number, head)], time.monotonic())
    assert isinstance(asked, AskServer)
    assert macs(client, vlan=0, port="eth1", type="learned")[-1] == waits
    assert waits not in macs(client, type="static")
    assert waits not in macs(client, vlan=7)
    assert macs(client) == sorted(
        macs(client), key=lambda each: (each != OWN, _vlan(client, each), each)
    )
    (entry,) = client.get(FDB, query_string={"mac": waits}).json["entries"]
    assert (entry["flags"], entry["type"], entry["port"]["name"]) == (["locked"], "learned", "eth1")
    answer = bridge.port_access.answer(asked.number, Answer("accept"), time.monotonic())
    bridge.carry_out(answer, time.monotonic())
    assert macs(client, mac=waits) == [], "its frames may enter: it is learned with the next frame"


def _vlan(client: Any, mac: str) -> int:
    (entry,) = client.get(FDB, query_string={"mac": mac}).json["entries"]
    return entry["vlan"] or 0


def test_a_slash_at_the_end_of_a_path_changes_nothing(client: Any) -> None:
    for path in ("/v1/bridges", FDB, f"/v1/bridges/{DPID}/ports/eth1"):
        plain, slashed = client.get(path), client.get(f"{path}/")
        assert slashed.status_code == plain.status_code == 200
        assert slashed.json.keys() == plain.json.keys()
    assert client.get("/v1/bridges//").status_code == 404
    assert client.put(f"{FDB}/0/{mac(99)}/", json={"port": "eth1"}).status_code == 201
    assert mac(99) in macs(client)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"mac": mac(41)}, [mac(41)]),
        ({"mac": mac(41).upper().replace(":", "-")}, [mac(41)]),
        ({"mac": "5254.0000.0029"}, [mac(41)]),
        ({"mac": "525400000029"}, [mac(41)]),
        ({"mac": mac(99)}, []),
        ({"mac": mac(41), "vlan": 0}, []),
        ({"mac": mac(41), "vlan": 7, "port": "eth2", "type": "learned"}, [mac(41)]),
        ({"mac": mac(41), "port": "eth1"}, []),
        ({"mac": STATIC, "type": "learned"}, []),
        ({"mac": STATIC, "type": "static"}, [STATIC]),
        ({"mac": mac(1), "type": "static"}, []),
        ({"mac": OWN}, [OWN]),
        ({"vlan": 9}, [OWN]),
        ({"vlan": 9, "type": "learned"}, []),
        ({"vlan": 7, "type": "learned"}, [mac(number) for number in range(41, 61)]),
        ({"port": "eth3"}, [STATIC]),
        ({"port": "3"}, [STATIC]),
        ({"port": "eth3", "type": "learned"}, []),
        ({"port": "eth1", "type": "static"}, []),
        ({"port": "br0"}, [OWN]),
        ({"port": "LOCAL"}, [OWN]),
        ({"port": str(LOCAL_PORT)}, [OWN]),
        ({"type": "static"}, [STATIC]),
        ({"type": "static", "vlan": 0}, []),
        ({"type": "local"}, [OWN]),
        ({"type": "local", "port": "eth1"}, []),
        ({"type": "learned", "vlan": 0}, [mac(number) for number in range(1, 41)]),
        ({"ip": "10.0.0.1"}, [mac(1)]),
        ({"ip": "FE80:0::1"}, [mac(1)]),
        ({"ip": "10.0.0.10", "port": "eth1"}, [mac(10)]),
        ({"ip": "10.0.0.10", "port": "eth2"}, []),
        ({"ip": "10.0.0.1", "type": "local"}, []),
        ({"ip": "10.0.0.2"}, []),
    ],
    ids=str,
)
def test_filters(client: Any, query: dict[str, Any], expected: list[str]) -> None:
    assert macs(client, **query) == expected


def test_an_entry_tells_where_and_since_when(client: Any, bridge: Bridge) -> None:
    entry = bridge.fdb.tables[7][parse_mac(mac(41))]
    entry.updated, entry.used = time.monotonic() - 100, time.monotonic() - 50
    (shown,) = client.get(FDB, query_string={"mac": mac(41)}).json["entries"]
    assert 100 <= shown.pop("updated") < 101
    assert 50 <= shown.pop("used") < 51
    port = {"number": 2, "name": "eth2"}
    about = {"type": "learned", "flags": [], "addresses": []}
    assert shown == {"mac": mac(41), "vlan": 7, "port": port, **about}


def test_an_entry_tells_the_addresses_it_was_heard_with_the_last_first(client: Any) -> None:
    (entry,) = client.get(FDB, query_string={"mac": mac(1)}).json["entries"]
    assert entry["addresses"] == ["fe80::1", "10.0.0.1"]


def test_a_local_entry_is_in_every_vlan_and_has_no_age(client: Any) -> None:
    assert client.get(FDB, query_string={"type": "local"}).json["entries"] == [
        {
            "mac": OWN,
            "vlan": None,
            "port": {"number": LOCAL_PORT, "name": "br0"},
            "type": "local",
            "flags": [],
            "updated": None,
            "used": None,
            "addresses": [],
        }
    ]


def test_an_address_is_found_on_all_bridges(client: Any) -> None:
    page = fdb.BridgeEntryPage.model_validate(client.get(f"/v1/fdb?mac={mac(1)}").json)
    found = [(entry.datapath_id, entry.bridge, entry.port.name) for entry in page.entries]
    assert found == [(DPID, "br0", "eth1"), (FULL, "br1", "eth3")]


def test_a_port_that_only_some_bridges_have(client: Any, network: Network) -> None:
    network.bridges[0xFF].remove_port(1, time.monotonic())
    entries = client.get("/v1/fdb?port=eth1").json["entries"]
    assert {entry["datapath_id"] for entry in entries} == {DPID}


def test_digits_are_always_a_number(client: Any, network: Network, bridge: Bridge) -> None:
    from ofapp.bridge.ports.port import Port

    bridge.put_port(Port(9, "2#9", 9, True), time.monotonic())
    before = macs(client, port="2")
    learn(network, bridge, (9, 0, mac(99)))
    assert macs(client, port="2") == before
    assert macs(client, port="2#9") == macs(client, port="9") == [mac(99)]


@pytest.mark.parametrize(
    ("query", "field", "status"),
    [
        ({"mac": "52:54"}, "mac", 422),
        ({"vlan": "4095"}, "vlan", 422),
        ({"vlan": "-1"}, "vlan", 422),
        ({"vlan": "1.0"}, "vlan", 422),
        ({"type": "dynamic"}, "type", 422),
        ({"limit": "0"}, "limit", 422),
        ({"limit": "10001"}, "limit", 422),
        ({"cursor": "x"}, "cursor", 422),
        ({"cursor": "/" * 24}, "cursor", 422),
        ({"port": ""}, "port", 422),
        ({"port": "eth9"}, "port", 404),
        ({"prot": "eth1"}, "prot", 422),
        ({"ip": "10.0.0"}, "ip", 422),
        ({"vlan": ["1", "2"]}, "vlan", 422),
    ],
    ids=str,
)
def test_a_bad_query_is_named_by_field(
    client: Any, query: dict[str, Any], field: str, status: int
) -> None:
    answer = client.get(FDB, query_string=query)
    assert answer.status_code == status
    assert [error["field"] for error in answer.json["errors"]] == [field]


# Static entries


def put(client: Any, address: str, port: Any, vlan: Any = 0) -> Any:
    return client.put(f"{FDB}/{vlan}/{address}", json={"port": port})


def test_a_static_entry_is_made_changed_and_removed(client: Any) -> None:
    made = put(client, mac(99), "eth2", 5)
    assert made.status_code == 201
    entry = fdb.Entry.model_validate(made.json)
    assert (entry.mac, entry.vlan, entry.port.name, entry.type) == (mac(99), 5, "eth2", "static")
    changed = put(client, mac(99), "eth3", 5)
    assert (changed.status_code, changed.json["port"]["name"]) == (200, "eth3")
    assert client.delete(f"{FDB}/5/{mac(99)}").status_code == 204
    assert macs(client, mac=mac(99)) == []
    gone = client.delete(f"{FDB}/5/{mac(99)}")
    assert (gone.status_code, gone.json["errors"][0]["field"]) == (404, "mac")


def test_an_entry_of_a_program_is_made_and_removed(client: Any) -> None:
    """It replaces what was learned, does not count as static, and is no static one's successor."""
    path, body = f"{FDB}/5/{mac(99)}", {"port": "eth2", "type": "extern_learn"}
    made = client.put(path, json=body)
    assert made.status_code == 201, made.text
    entry = fdb.Entry.model_validate(made.json)
    assert (entry.type, entry.flags, entry.port.name) == ("learned", ["extern_learn"], "eth2")
    assert client.put(path, json=body | {"port": "eth3"}).json["port"]["name"] == "eth3"
    assert client.put(path, json=body).status_code == 200
    assert macs(client, type="static") == [STATIC]
    assert client.delete(path).status_code == 204
    assert macs(client, mac=mac(99)) == []
    assert client.delete(path).status_code == 404
    refused = client.put(f"{FDB}/7/{STATIC}", json=body)
    assert (refused.status_code, refused.json["errors"][0]["field"]) == (409, "mac")
    assert "delete that first" in refused.json["detail"]
    assert client.put(path, json=body | {"type": "sticky"}).status_code == 422


@pytest.mark.parametrize(
    ("port", "field"), [({"vlan": 10}, "vlan"), ({"locked": True}, "port"), ({}, None)]
)
def test_an_entry_of_a_program_is_refused_where_it_could_not_be_learned(
    client: Any, port: dict[str, Any], field: str | None
) -> None:
    assert client.patch(f"/v1/bridges/{DPID}/ports/eth2", json=port).status_code == 200
    answer = client.put(f"{FDB}/5/{mac(99)}", json={"port": "eth2", "type": "extern_learn"})
    if field is None:
        assert answer.status_code == 201
    else:
        assert (answer.status_code, answer.json["errors"][0]["field"]) == (409, field)
        assert macs(client, mac=mac(99)) == []


@pytest.mark.parametrize("text", ["eth2", "2"])
def test_a_learned_entry_becomes_static(client: Any, text: str) -> None:
    assert put(client, mac(1), text).status_code == 201
    (entry,) = client.get(FDB, query_string={"mac": mac(1)}).json["entries"]
    assert (entry["type"], entry["port"]["name"]) == ("static", "eth2")


def test_a_static_entry_whose_port_is_away_tells_the_ports_name(
    client: Any, bridge: Bridge
) -> None:
    bridge.remove_port(3, time.monotonic())
    (entry,) = client.get(FDB, query_string={"type": "static"}).json["entries"]
    assert entry["port"] == {"number": None, "name": "eth3"}


@pytest.mark.parametrize(
    ("vlan", "address", "body", "field", "status"),
    [
        (0, "01:00:5e:00:00:01", {"port": "eth1"}, "mac", 422),
        (0, "00:00:00:00:00:00", {"port": "eth1"}, "mac", 422),
        (0, "x", {"port": "eth1"}, "mac", 422),
        (4095, mac(99), {"port": "eth1"}, "vlan", 422),
        ("x", mac(99), {"port": "eth1"}, "vlan", 422),
        (0, mac(99), {}, "port", 422),
        (0, mac(99), {"port": 1}, "port", 422),
        (0, mac(99), {"port": "eth1", "vlan": 2}, "vlan", 422),
        (0, mac(99), {"port": "eth9"}, "port", 409),
        (0, OWN, {"port": "eth1"}, "mac", 409),
        (0, OWN, {"port": "eth1", "type": "extern_learn"}, "mac", 409),
    ],
)
def test_an_impossible_static_entry_is_refused_by_field(
    client: Any, vlan: Any, address: str, body: dict[str, Any], field: str, status: int
) -> None:
    answer = client.put(f"{FDB}/{vlan}/{address}", json=body)
    assert answer.status_code == status
    assert [error["field"] for error in answer.json["errors"]] == [field]
    assert macs(client, type="static") == [STATIC]


# Flushing


@pytest.mark.parametrize(
    ("query", "flushed"),
    [
        ({}, 60),
        ({"port": "eth1"}, 40),
        ({"port": "2"}, 20),
        ({"port": "eth3"}, 0),
        ({"vlan": 7}, 20),
        ({"mac": mac(5)}, 1),
        ({"port": "eth1", "vlan": 7}, 0),
    ],
    ids=str,
)
def test_flush(client: Any, query: dict[str, Any], flushed: int) -> None:
    answer = client.delete(FDB, query_string=query)
    assert (answer.status_code, answer.json) == (200, {"flushed": flushed})
    assert len(macs(client, type="learned")) == 60 - flushed
    assert macs(client, type="static") == [STATIC]


@pytest.mark.parametrize(
    ("query", "field"),
    [({"prot": "eth1"}, "prot"), ({"type": "learned"}, "type"), ({"port": "x"}, "port")],
)
def test_a_flush_that_is_not_understood_forgets_nothing(
    client: Any, query: dict[str, Any], field: str
) -> None:
    answer = client.delete(FDB, query_string=query)
    assert answer.status_code in (404, 422)
    assert answer.json["errors"][0]["field"] == field
    assert len(macs(client, type="learned")) == 60
