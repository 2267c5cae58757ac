"""Addresses that are held down, sticky ones, and limits that drop: told, counted, let go."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.api.resources.bridge import bridges, fdb
from ofapp.api.resources.bridge import ports as ports_api
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, add_bridge, guarded_network, mac
from tests.unit.api.test_metrics import BR0, value

HELD = f"/v1/bridges/{DPID}/fdb/held"


@pytest.fixture
def network() -> Network:
    """`guarded_network`, and a bridge more."""
    network = guarded_network()
    add_bridge(network, 0xFF, "br1")
    return network


def test_who_is_held_and_why(client: Any) -> None:
    answer = fdb.HeldList.model_validate(client.get(HELD).json).held
    assert [
        (held.mac, held.vlan, held.port.name, held.elsewhere.name, held.reason) for held in answer
    ] == [(mac(1), 0, "eth2", "eth1", "sticky"), (mac(2), 7, "eth2", "eth1", "sticky")]
    assert all(50 < held.seconds_left <= 60 for held in answer)
    assert client.get("/v1/bridges/00000000000000ff/fdb/held").json == {"held": []}
    assert client.get("/v1/bridges/0000000000000bad/fdb/held").status_code == 404


def test_entries_carry_flags_and_are_learned_ones(client: Any) -> None:
    entries = fdb.EntryPage.model_validate(
        client.get(f"/v1/bridges/{DPID}/fdb?type=learned").json
    ).entries
    assert [(entry.mac, entry.flags) for entry in entries] == [
        (mac(1), ["sticky", "held"]),
        (mac(3), []),
        (mac(2), ["sticky", "held"]),
    ]


def test_one_is_let_go(client: Any) -> None:
    assert client.delete(f"{HELD}/7/{mac(2)}").status_code == 204
    again = client.delete(f"{HELD}/7/{mac(2)}")
    assert again.status_code == 404
    assert again.json["errors"][0]["field"] == "mac"
    assert [held["mac"] for held in client.get(HELD).json["held"]] == [mac(1)]
    assert client.get("/v1/events?kind=fdb").json["events"][-1]["kind"] == "fdb.held.cleared"


def test_a_flush_frees_what_is_held_and_sticky(client: Any) -> None:
    assert client.delete(f"/v1/bridges/{DPID}/fdb?port=eth2").json == {"flushed": 2}
    assert client.get(HELD).json == {"held": []}


def test_limits_that_are_reached(client: Any) -> None:
    bridge = bridges.Bridge.model_validate(client.get(f"/v1/bridges/{DPID}").json)
    (vlan,) = bridge.limits.vlans
    assert (vlan.vlan, vlan.learned, vlan.limit, vlan.refused, vlan.dropping) == (7, 1, 1, 1, True)
    ports = ports_api.PortList.model_validate(client.get(f"/v1/bridges/{DPID}/ports").json).ports
    assert [(port.name, port.refused, port.dropping) for port in ports] == [
        ("eth1", 0, False),
        ("eth2", 0, False),
        ("eth3", 1, True),
        ("br0", 0, False),
    ]


def test_metrics(client: Any) -> None:
    assert value(client, "ofapp_fdb_held", **BR0) == 2
    assert value(client, "ofapp_vlan_fdb_learned", **BR0, vlan="7") == 1
    assert value(client, "ofapp_vlan_fdb_refused_total", **BR0, vlan="7") == 1
    assert value(client, "ofapp_learning_total", **BR0, what="held") == 2
