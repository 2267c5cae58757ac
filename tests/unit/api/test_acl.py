"""Access lists over the API and for Prometheus."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ofapp.api.resources.bridge.acls import AclList
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, acl_network

LAST = "ip_dst=10.0.0.0/8 tcp_dst=80,443"


@pytest.fixture
def network() -> Network:
    return acl_network()


def acls(client: Any, dpid: str = DPID) -> AclList:
    answer = client.get(f"/v1/bridges/{dpid}/acls")
    assert answer.status_code == 200
    return AclList.model_validate(answer.json, strict=True)


def test_rules_in_order_with_what_they_have_hit(client: Any) -> None:
    answer = acls(client)
    guests, spare = answer.acls
    assert answer.metered
    assert (guests.name, [port.name for port in guests.ports]) == ("guests", ["eth1", "eth2"])
    assert [
        (r.name, r.match, r.action, r.rate, r.packets, r.bytes, r.over_rate) for r in guests.rules
    ] == [
        ("dhcp", "udp_src=67", "drop", None, 1, 100, 0),
        ("arp", "eth_type=arp", "allow", 50, 2, 200, 5),
        (LAST, LAST, "allow", None, 3, 300, 0),
        ("implicit-drop", "any", "drop", None, 4, 400, 0),
    ]
    assert (spare.name, spare.ports) == ("spare", [])
    assert [(rule.name, rule.packets, rule.since) for rule in spare.rules] == [
        ("any", None, None),
        ("implicit-drop", None, None),
    ]


def test_since_when_and_where_copies_go(client: Any) -> None:
    dhcp, arp, web, _ = acls(client).acls[0].rules
    assert dhcp.since is not None
    age = (datetime.now(UTC) - datetime.fromisoformat(dhcp.since)).total_seconds()
    assert 59 < age < 120
    assert dhcp.mirror is not None
    assert (dhcp.mirror.number, dhcp.mirror.name) == (None, "gone")
    assert arp.mirror is None
    assert web.mirror is not None
    assert (web.mirror.number, web.mirror.name) == (3, "eth3")


def test_a_switch_that_is_away_tells_nothing(client: Any, network: Network) -> None:
    del network.datapaths[1]
    answer = acls(client)
    assert answer.metered is None
    assert [rule.packets for rule in answer.acls[0].rules] == [None] * 4


def test_a_bridge_without_lists_and_no_bridge(client: Any) -> None:
    assert acls(client, FULL).acls == []
    answer = client.get("/v1/bridges/00000000000000aa/acls")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "dpid")
    assert client.get(f"/v1/bridges/{DPID}/acls?name=guests").status_code == 422


def test_metrics(client: Any) -> None:
    found = {
        (sample.name, sample.labels["rule"], sample.labels["action"]): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name.startswith("ofapp_acl") and sample.name.endswith("_total")
    }
    rules = [("dhcp", "drop"), ("arp", "allow"), (LAST, "allow"), ("implicit-drop", "drop")]
    expected = {("ofapp_acl_packets_total", *rule): n for n, rule in enumerate(rules, 1)}
    expected |= {("ofapp_acl_bytes_total", *rule): 100 * n for n, rule in enumerate(rules, 1)}
    assert found == expected | {("ofapp_acl_over_rate_total", "arp", "allow"): 5}
