"""Prometheus' view agrees with the API's."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ofapp.bridge.params.params import PortParams
from ofapp.controller.network import Network
from tests.unit.api.clients import Clients
from tests.unit.api.network import DPID, FULL, first_hop_network, mac, port_counters, standing

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
    network.bridges[1].learning.limits.set_port(1, "eth1", PortParams(40))
    client.put(f"/simpleswitch/mactable/{DPID}", json={"mac": mac(99), "port": 1})
    assert value(client, "ofapp_port_fdb_refused_total", **BR0, port="eth1") == 1


def test_counters_of_ports_that_are_zero_can_be_left_out(client: Any, network: Network) -> None:
    def counted() -> dict[str, str]:
        text = client.get("/metrics?zeros=false").text
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if "ofapp_port_" in line)

    labels = f'{{bridge="br0",datapath_id="{DPID}",port="eth1"}}'
    assert f"ofapp_port_up{labels}" in counted()
    assert f"ofapp_port_fdb_refused_total{labels}" not in counted()
    network.bridges[1].learning.limits.set_port(1, "eth1", PortParams(40))
    client.put(f"/simpleswitch/mactable/{DPID}", json={"mac": mac(99), "port": 1})
    assert counted()[f"ofapp_port_fdb_refused_total{labels}"] == "1.0"
    assert client.get("/metrics?zeros=maybe").status_code == 422


def test_events_by_kind(client: Any) -> None:
    assert value(client, "ofapp_events_total", kind="port.added") == 8
    client.put(f"/simpleswitch/mactable/{FULL}", json={"mac": mac(99), "port": 1})
    assert value(client, "ofapp_events_total", kind="fdb.limit") == 1


def test_a_connection(client: Any, network: Network) -> None:
    network.datapaths[1] = SimpleNamespace(  # type: ignore[assignment]
        channel=SimpleNamespace(
            address=("192.0.2.7", 4711), counters={"malformed_messages": 3}, round_trip=0.002
        ),
        port_counters=port_counters(),
        packet_ins={"sighting": 4, "bpdu": 5, "snooped": 6},
        in_line=True,
        status=standing(
            drops={"reserved": 9},
            held_back={"sighting": {1: 5}, "bpdu": {}, "snooped": {1: 7}},
        ),
    )
    assert value(client, "ofapp_bridge_connected", **BR0) == 1
    assert value(client, "ofapp_bridge_in_line", **BR0) == 1
    assert value(client, "ofapp_channel_total", **BR0, what="malformed_messages") == 3
    assert value(client, "ofapp_dropped_frames_total", **BR0, rule="reserved") == 9
    for kind, count in (("sighting", 5), ("bpdu", 0), ("snooped", 7)):
        labels = BR0 | {"port": "eth1", "kind": kind}
        assert value(client, "ofapp_port_held_back_total", **labels) == count
    assert value(client, "ofapp_channel_echo_round_trip_seconds", **BR0) == 0.002
    assert value(client, "ofapp_packet_ins_total", **BR0, kind="bpdu") == 5
    port = BR0 | {"port": "eth1"}
    assert value(client, "ofapp_port_receive_frames_total", **port) == 1
    assert value(client, "ofapp_port_transmit_errors_total", **port) == 8
    assert value(client, "ofapp_port_transmit_bytes_total", **BR0, port="eth2") == 4
    assert value(client, "ofapp_port_transmit_errors_total", **BR0, port="eth2") is None
    assert value(client, "ofapp_port_receive_frames_total", **BR1, port="eth1") is None


def test_a_bridge_that_is_gone_is_exported_no_more(client: Any, network: Network) -> None:
    assert "br1" in client.get("/metrics").text
    assert client.delete(f"/v1/bridges/{FULL}").status_code == 204
    assert "br1" not in client.get("/metrics").text


def test_the_controller(client: Any, network: Network) -> None:
    network.heartbeat.lateness.observe(0.03)
    network.heartbeat.lateness.observe(60)
    for bound, count in (("0.025", 0), ("0.05", 1), ("2.5", 1), ("+Inf", 2)):
        assert value(client, "ofapp_loop_lateness_seconds_bucket", le=bound) == count
    assert value(client, "ofapp_loop_lateness_seconds_count") == 2
    assert value(client, "ofapp_config_last_reload_successful") == 1
    loaded = value(client, "ofapp_config_last_reload_success_timestamp_seconds")
    assert loaded == network.reloader.loaded
    assert value(client, "process_resident_memory_bytes")
    assert f'ofapp_build_info{{eventlet="{version("eventlet")}"' in client.get("/metrics").text


def test_a_refused_file(client: Any, network: Network, tmp_path: Path) -> None:
    file = tmp_path / "ofapp.yaml"
    network.reloader.find = lambda: file
    file.write_text("nonsense: 1")
    assert client.post("/v1/config/reload?dry_run=true").status_code == 409
    assert value(client, "ofapp_config_last_reload_successful") == 1  # it was not meant to count
    assert client.post("/v1/config/reload").status_code == 409
    assert value(client, "ofapp_config_last_reload_successful") == 0
    file.write_text("defaults: {stp: {enabled: false}}")
    assert client.post("/v1/config/reload?force=true").status_code == 200
    assert value(client, "ofapp_config_last_reload_successful") == 1


def test_bindings_and_limits_of_guarded_ports(clients: Clients) -> None:
    network = first_hop_network()
    client, bridge = clients(network), network.bridges[1]
    status = bridge.first_hop.status(0.0)
    bridge.first_hop.status = lambda _: replace(  # type: ignore[method-assign]
        status, refused={("eth2", "arp"): 4}, counters={"bound": 2, "dhcp_giaddr": 1}
    )
    assert value(client, "ofapp_bindings", **BR0, origin="api") == 2
    assert value(client, "ofapp_bindings", **BR0, origin="dhcp") == 0
    port = BR0 | {"port": "eth2"}
    assert value(client, "ofapp_port_bindings", **port) == 0  # those of users do not count
    assert value(client, "ofapp_port_bindings_max", **port) == 16
    assert value(client, "ofapp_port_bindings_full", **port) == 0
    assert value(client, "ofapp_port_bindings_refused_total", **port) == 0
    assert value(client, "ofapp_port_refused_samples_total", **port, claim="arp") == 4
    assert value(client, "ofapp_first_hop_total", **BR0, what="dhcp_giaddr") == 1
    assert value(client, "ofapp_port_bindings", **BR0, port="eth3") is None
