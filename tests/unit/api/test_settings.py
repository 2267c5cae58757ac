"""All settings of a bridge in one request."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, mcast_network

PATH = f"/v1/bridges/{DPID}/settings"


@pytest.fixture
def network() -> Network:
    return mcast_network()


def patch(client: Any, query: str = "", **settings: Any) -> Any:
    return client.patch(PATH + query, json={"settings": settings})


def test_several_sections_change_in_one_request_and_once(client: Any, bridge: Bridge) -> None:
    given = {
        "ageing_time": 60,
        "vlans": {"10": {"name": "office"}},
        "stp": {"enabled": True, "priority": 4096},
        "acls": {"web": [{"name": "web", "match": {"tcp_dst": 80}, "action": "allow"}]},
        "ports": {"eth1": {"vlan": "office", "acl": "web"}, "2": {"isolated": True}},
    }
    answer = patch(client, **given)
    assert answer.status_code == 200, answer.text
    assert bridge.params.ageing_time == 60
    assert bridge.params.stp is not None
    assert bridge.params.stp.priority == 4096
    assert bridge.params.port("eth1").policy.acl == "web"
    assert bridge.params.port("eth2").policy.isolated
    assert "ageing_time: default -> 60" in answer.json["changes"]
    shown = client.get(PATH).json["settings"]
    assert shown == answer.json["after"]
    assert shown["ports"]["eth1"] == {"vlan": "office", "acl": "web"}
    assert shown["ports"]["eth2"] == {"isolated": True, "multicast": {"mcast_fast_leave": True}}
    again = patch(client, **given)
    assert (again.json["changes"], again.json["before"]) == ([], shown)


def test_a_dry_run_shows_the_changes_and_makes_none(client: Any, bridge: Bridge) -> None:
    before = client.get(PATH).json["settings"]
    answer = patch(client, "?dry_run=true", ports={"eth1": {"isolated": True}})
    assert answer.json["changes"] == ["ports.eth1.isolated: default -> true"]
    assert answer.json["after"]["ports"]["eth1"] == {"isolated": True}
    assert client.get(PATH).json["settings"] == before
    assert not bridge.params.port("eth1").policy.isolated
    assert answer.json["planned"] == {"sent": None, "items": [], "lines": []}  # no switch
    assert patch(client).json["planned"] is None


def test_null_resets_a_value_and_removes_a_section(client: Any, bridge: Bridge) -> None:
    before = client.get(PATH).json["settings"]
    patch(client, ageing_time=60, vlans={"20": {"name": "office"}}, ports={"eth1": {"vlan": 20}})
    patch(client, ageing_time=None, vlans={"20": None}, ports={"eth1": None})
    assert bridge.params.ageing_time == 300
    assert client.get(PATH).json["settings"] == before


def test_trust_sets_its_parts_and_takes_them_away_again(client: Any, bridge: Bridge) -> None:
    patch(client, ports={"eth1": {"trust": "guest"}})
    assert bridge.params.port("eth1").first_hop.arp_inspection
    patch(client, ports={"eth1": {"trust": "none"}})
    assert not bridge.params.port("eth1").first_hop.arp_inspection


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"stp": {"priority": 5}}, "stp.priority", "multiple of 4096"),
        ({"ports": {"eth1": {"isolate": True}}}, "ports.eth1.isolate", "did you mean isolated"),
        ({"ports": {"eth1": {"trust": "friend"}}}, "ports.eth1.trust", "must be"),
        ({"ports": {"eth1": 5}}, "ports.eth1", "section"),
        ({"ports": 5}, "ports", "section"),
        ({"ports": {"eth1": {"vlan": "guests"}}}, "ports.eth1.vlan.access", "no VLAN guests"),
        ({"ports": {"eth*": {"isolated": True}}}, "ports.eth*", "pattern"),
        ({"ports": {"99": {"isolated": True}}}, "ports.99", "no port"),
        ({"ports": {"1": {}, "eth1": {}}}, "ports.eth1", "given, too"),
        ({"static": []}, "static", "one by one"),
        ({"lags": {"eth1": {"members": ["x"]}}}, "lags.eth1", "has the name of port eth1"),
        ({"lags": {"lag0": {}}}, "lags.lag0.members", "missing"),
    ],
)
def test_a_fault_is_named_by_its_path_and_nothing_changes(
    client: Any, given: dict[str, Any], field: str, words: str
) -> None:
    before = client.get(PATH).json
    for query in ("", "?dry_run=true"):
        answer = client.patch(PATH + query, json={"settings": {"ageing_time": 60, **given}})
        assert answer.status_code == 409, answer.text
        assert [error["field"] for error in answer.json["errors"]] == [field]
        assert words in answer.json["detail"]
    assert client.get(PATH).json == before


def test_the_change_is_in_the_audit_trail_and_an_event(client: Any, network: Network) -> None:
    patch(client, ports={"eth1": {"isolated": True}})
    kinds = {one.event.kind: one.event.message for one in network.events.since(0)}
    assert "ports.eth1.isolated" in kinds["config.set"]
    assert "ports.eth1.isolated: default -> true" in kinds["audit.change"]


def test_if_match_refuses_what_would_overwrite_another_change(client: Any) -> None:
    tag = client.get(PATH).headers["ETag"]
    patch(client, ports={"eth1": {"isolated": True}})
    answer = client.patch(PATH, json={"settings": {"ageing_time": 60}}, headers={"If-Match": tag})
    assert answer.status_code == 412
