"""Prometheus' view agrees with the API's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, mac

BR0 = {"datapath_id": DPID, "bridge": "br0"}
BR1 = {"datapath_id": FULL, "bridge": "br1"}


def value(client: Any, name: str, **labels: str) -> float | None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return float(sample.value)
    return None


def test_bridges(client: Any) -> None:
    assert value(client, "ofapp_bridge_connected", **BR0) == 0
    assert value(client, "ofapp_fdb_entries", **BR0, type="learned") == 60
    assert value(client, "ofapp_fdb_entries", **BR0, type="static") == 1
    assert value(client, "ofapp_fdb_entries", **BR0, type="local") == 1
    assert value(client, "ofapp_fdb_max_learned", **BR1) == 1
    assert value(client, "ofapp_learning_total", **BR0, what="learned") == 60


def test_ports(client: Any, network: Network) -> None:
    assert value(client, "ofapp_port_up", **BR0, port="eth1") == 1
    assert value(client, "ofapp_port_fdb_learned", **BR0, port="eth2") == 20
    network.bridges[1].learning.limits.set_port(1, "eth1", 40, False)
    client.put(f"/simpleswitch/mactable/{DPID}", json={"mac": mac(99), "port": 1})
    assert value(client, "ofapp_port_fdb_refused_total", **BR0, port="eth1") == 1


def test_events_by_kind(client: Any) -> None:
    assert value(client, "ofapp_events_total", kind="port.added") == 8
    client.put(f"/simpleswitch/mactable/{FULL}", json={"mac": mac(99), "port": 1})
    assert value(client, "ofapp_events_total", kind="fdb.limit") == 1


def test_a_connection(client: Any, network: Network) -> None:
    network.sessions[1] = SimpleNamespace(  # type: ignore[assignment]
        channel=SimpleNamespace(address=("192.0.2.7", 4711), counters={"malformed_messages": 3}),
        in_line=True,
        refused=[],
        owner=None,
        drops={"reserved": 9},
        held_back={"sighting": {1: 5}, "bpdu": {}, "snooped": {1: 7}},
    )
    assert value(client, "ofapp_bridge_connected", **BR0) == 1
    assert value(client, "ofapp_bridge_in_line", **BR0) == 1
    assert value(client, "ofapp_channel_total", **BR0, what="malformed_messages") == 3
    assert value(client, "ofapp_dropped_frames_total", **BR0, rule="reserved") == 9
    for kind, count in (("sighting", 5), ("bpdu", 0), ("snooped", 7)):
        labels = BR0 | {"port": "eth1", "kind": kind}
        assert value(client, "ofapp_port_held_back_total", **labels) == count
