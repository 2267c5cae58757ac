"""What scripts for Ryu's simple_switch_rest_13 call."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, OWN, STATIC, learn, mac

TABLE = f"/simpleswitch/mactable/{DPID}"


def test_the_table_is_addresses_and_port_numbers(client: Any) -> None:
    answer = client.get(TABLE)
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    expected = {mac(number): 1 for number in range(1, 41)}
    expected |= {mac(number): 2 for number in range(41, 61)}
    assert answer.json == expected | {STATIC: 3, OWN: LOCAL_PORT}


def test_an_empty_table_is_an_empty_object(client: Any, network: Network) -> None:
    bridge = network.bridges[1]
    network.changes.fdb.flush(bridge)
    bridge.remove_port(3, time.monotonic())  # the static entry has no port number then
    bridge.learning.local.clear()
    assert client.get(TABLE).json == {}


def test_a_big_table_is_whole(client: Any, network: Network) -> None:
    learn(network, network.bridges[1], *((1, 0, mac(number)) for number in range(100, 12_000)))
    assert len(client.get(TABLE).json) == 11_900 + 62


def test_untagged_goes_first(client: Any, network: Network) -> None:
    learn(network, network.bridges[1], (3, 0, mac(41)), (3, 9, mac(1)), (1, 9, mac(60)))
    table = client.get(TABLE).json
    assert (table[mac(41)], table[mac(1)], table[mac(60)]) == (3, 1, 2)


def test_an_entry_is_taught_and_the_table_returned(client: Any) -> None:
    """As `curl -X PUT -d` sends it, which calls it a form."""
    answer = client.put(
        TABLE,
        data=f'{{"mac" : "{mac(99)}", "port" : 2}}',
        content_type="application/x-www-form-urlencoded",
    )
    assert (answer.status_code, answer.json[mac(99)]) == (200, 2)
    (entry,) = client.get(f"/v1/fdb?mac={mac(99)}").json["entries"]
    assert (entry["vlan"], entry["type"], entry["port"]["number"]) == (0, "learned", 2)


def test_an_entry_is_moved(client: Any) -> None:
    assert client.put(TABLE, json={"mac": mac(1), "port": 3}).json[mac(1)] == 3


def test_above_the_cap_nothing_is_taught(client: Any) -> None:
    answer = client.put(f"/simpleswitch/mactable/{FULL}", json={"mac": mac(9), "port": 1})
    assert answer.status_code == 200
    assert mac(9) not in answer.json


@pytest.mark.parametrize("dpid", ["00000000000000aa", "1", "x", "br0"])
def test_what_is_no_bridge_is_not_found(client: Any, dpid: str) -> None:
    path = f"/simpleswitch/mactable/{dpid}"
    assert client.get(path).status_code == 404
    assert client.put(path, json={"mac": mac(1), "port": 1}).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("{", 400, None),
        ("", 400, None),
        ('{"port": 1}', 422, "mac"),
        (f'{{"mac": "{mac(1)}"}}', 422, "port"),
        (f'{{"mac": "{mac(1)}", "port": "1"}}', 422, "port"),
        (f'{{"mac": "{mac(1)}", "port": true}}', 422, "port"),
        (f'{{"mac": "{mac(1)}", "port": 9}}', 409, "port"),
        ('{"mac": "01:00:5e:00:00:01", "port": 1}', 422, "mac"),
        ('{"mac": 5, "port": 1}', 422, "mac"),
    ],
)
def test_what_cannot_be_taught(client: Any, body: str, status: int, field: str | None) -> None:
    answer = client.put(TABLE, data=body)
    assert answer.status_code == status
    assert [error["field"] for error in answer.json["errors"]] == ([field] if field else [])
