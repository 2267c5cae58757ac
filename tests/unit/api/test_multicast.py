"""Multicast snooping, seen and administered."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.resources.bridge.multicast.models import (
    FamilyStatus,
    MulticastPortStatus,
    MulticastStatus,
)
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, LookAgain
from ofapp.config.multicast import (
    MulticastBridge,
    MulticastPort,
    MulticastPortVlan,
    MulticastVlan,
)
from ofapp.controller.events import Interest
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, mcast_network
from tests.unit.api.test_metrics import BR0, value
from tests.unit.bridge.multicast.lan import V4

MULTICAST = f"/v1/bridges/{DPID}/multicast"
OFF = f"/v1/bridges/{FULL}/multicast"


@pytest.fixture
def network() -> Network:
    """See `mcast_network`."""
    return mcast_network()


def status(client: Any, path: str = MULTICAST) -> MulticastStatus:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return MulticastStatus.model_validate(answer.json)


def family(client: Any, vlan: int = 0) -> FamilyStatus:
    return next(answer.ipv4 for answer in status(client).vlans if answer.vlan == vlan)


def names(ports: Any) -> list[str]:
    return [port.name for port in ports]


# Seeing it


def test_where_another_querier_asks_multicast_is_restricted(client: Any) -> None:
    answer = family(client)
    assert (answer.forwarding, answer.reason) == ("restrict", "another querier asks for members")
    assert answer.groups == 3
    assert answer.unregistered is not None
    assert names(answer.unregistered) == ["eth3"]
    querier = answer.querier
    assert (querier.enabled, querier.state, querier.address) == (False, "other", "10.0.0.5")
    assert querier.port is not None
    assert (querier.port.name, querier.version) == ("eth3", 3)
    assert querier.timer is not None
    assert 235 < querier.timer < 246


def test_a_router_port_says_why_and_how_long(client: Any) -> None:
    (router,) = family(client).router_ports
    assert (router.port.name, router.reasons, router.routers) == ("eth3", ["query"], ["10.0.0.5"])
    assert router.timer is not None
    assert 235 < router.timer < 246


def test_a_router_is_reported_however_it_was_heard(
    client: Any, network: Network, bridge: Bridge
) -> None:
    """By a PIM hello, too: what an answer's model does not know would be no answer."""
    effects = bridge.hear("snooped", [(2, V4.hello(src="10.0.0.6"))], time.monotonic())
    network.dispatcher.apply(bridge, effects)
    ports = client.get(MULTICAST).json["vlans"][0]["ipv4"]["router_ports"]
    assert [port["reasons"] for port in ports] == [["pim_hello"], ["query"]]


def test_without_a_querier_multicast_floods_and_it_says_why(client: Any) -> None:
    answer = family(client, 7)
    assert (answer.forwarding, answer.unregistered) == ("flood", None)
    assert answer.reason == "there is no querier, so members would not be known"
    assert (answer.querier.state, answer.querier.timer, answer.groups) == ("none", None, 2)
    assert answer.router_ports == []


def test_our_own_querier_and_what_it_waits_for(client: Any, bridge: Bridge) -> None:
    client.patch(f"{MULTICAST}/vlans/7", json={"mcast_querier": True})
    answer = family(client, 7)
    assert answer.reason == "this bridge asks for members since a moment, answers are awaited"
    assert (answer.forwarding, answer.querier.state) == ("flood", "self")
    assert answer.querier.timer is not None
    assert 25 < answer.querier.timer <= 31.25
    bridge.tick(time.monotonic() + 11)
    answer = family(client, 7)
    assert (answer.forwarding, answer.reason) == ("restrict", "this bridge asks for members")
    assert answer.unregistered == []


def test_a_vlan_that_is_not_snooped(client: Any) -> None:
    client.patch(f"{MULTICAST}/vlans/0", json={"mcast_snooping": False})
    answer = family(client)
    assert (answer.forwarding, answer.reason) == ("flood", "snooping is off in this VLAN")


def test_unregistered_groups_that_flood_by_configuration(client: Any) -> None:
    client.patch(f"{MULTICAST}/vlans/0", json={"mcast_flood_unregistered": True})
    answer = family(client)
    assert (answer.forwarding, answer.unregistered) == ("restrict", None)
    assert answer.reason.endswith("unregistered groups flood by mcast_flood_unregistered")


def test_router_ports_by_configuration_and_by_topology_change(
    client: Any, network: Network, bridge: Bridge
) -> None:
    client.patch(f"{MULTICAST}/ports/eth1", json={"mcast_router": 2})
    client.patch(f"{MULTICAST}/ports/eth2", json={"mcast_flood_unregistered": True})
    snooper = bridge.multicast
    now = time.monotonic()
    network.dispatcher.apply(bridge, snooper.set_port_states({0xFFFFFFFE: (True, False)}, now))
    network.dispatcher.apply(bridge, snooper.change_topology(now))
    answer = family(client)
    assert [(router.port.name, router.reasons) for router in answer.router_ports] == [
        ("eth1", ["permanent"]),
        ("eth3", ["query"]),
        ("br0", ["topology-change"]),
    ]
    assert answer.router_ports[0].timer is None
    assert answer.unregistered is not None
    assert names(answer.unregistered) == ["eth1", "eth2", "eth3", "br0"]


def test_topology_changes_are_counted(client: Any, network: Network, bridge: Bridge) -> None:
    snooper = bridge.multicast
    now = time.monotonic()
    for _ in range(3):
        network.dispatcher.apply(bridge, snooper.change_topology(now))
    answer = status(client).topology_changes
    assert (answer.heard, answer.delayed) == (3, 2)


def test_ports_tell_what_they_heard(client: Any, network: Network, bridge: Bridge) -> None:
    damaged = V4.damaged()
    network.dispatcher.apply(bridge, bridge.hear("snooped", [(1, damaged)], time.monotonic()))
    ports = {port.name: port for port in status(client).ports}
    assert ports["eth1"].counters["rx_igmp_v2_report"] == 1
    assert ports["eth1"].counters["drop_igmp_checksum"] == 1
    assert (ports["eth1"].groups, ports["eth2"].groups) == (1, 3)
    assert ports["eth3"].counters["rx_igmp_v3_query"] == 1
    assert ports["eth2"].parameters == MulticastPort(mcast_fast_leave=True)


def test_entries_and_their_limit(client: Any) -> None:
    answer = status(client)
    assert (answer.entries.used, answer.entries.limit, answer.vlans_refused) == (6, 4096, 0)
    assert answer.parameters == MulticastBridge(vlans={10: MulticastVlan(mcast_querier=True)})


def test_a_bridge_that_does_not_snoop(client: Any) -> None:
    answer = status(client, OFF)
    assert (answer.enabled, answer.vlans, answer.entries.used) == (False, [], 0)
    assert names(answer.ports) == ["eth1", "eth2", "eth3", "br1"]
    assert not answer.parameters.mcast_snooping


def test_metrics_agree(client: Any) -> None:
    place = BR0 | {"vlan": "0", "family": "ipv4"}
    assert value(client, "ofapp_mcast_groups", **place) == 3
    assert value(client, "ofapp_mcast_restricts", **place) == 1
    assert value(client, "ofapp_mcast_router_ports", **place) == 1
    assert value(client, "ofapp_mcast_querier", **place, state="other") == 1
    assert value(client, "ofapp_mcast_querier", **place, state="self") == 0
    own = BR0 | {"vlan": "10", "family": "ipv6"}
    assert value(client, "ofapp_mcast_querier", **own, state="self") == 1
    assert value(client, "ofapp_mcast_groups", **BR0, vlan="7", family="ipv4") == 2
    assert value(client, "ofapp_mcast_entries", **BR0) == 6
    assert value(client, "ofapp_mcast_hash_max", **BR0) == 4096
    assert value(client, "ofapp_mcast_vlans_refused_total", **BR0) == 0
    labels = BR0 | {"port": "eth2", "what": "rx_igmp_v3_report"}
    assert value(client, "ofapp_port_mcast_total", **labels) == 3
    off = {"datapath_id": FULL, "bridge": "br1"}
    assert value(client, "ofapp_mcast_entries", **off) is None


# Administering


def test_a_parameter_is_changed_and_the_others_stay(client: Any) -> None:
    client.patch(MULTICAST, json={"mcast_query_interval": 60})
    answer = MulticastStatus.model_validate(client.patch(MULTICAST, json={"strict": True}).json)
    assert answer.parameters == MulticastBridge(
        mcast_query_interval=60, strict=True, vlans={10: MulticastVlan(mcast_querier=True)}
    )


def test_a_querier_is_turned_on_at_run_time(client: Any) -> None:
    assert family(client, 7).querier.state == "none"
    client.patch(MULTICAST, json={"mcast_querier": True})
    assert family(client, 7).querier.state == "self"
    assert family(client).querier.state == "other"  # ours, 0.0.0.0, yields to every other


def test_snooping_is_turned_off_and_on_and_the_switch_is_looked_at(
    client: Any, network: Network, bridge: Bridge
) -> None:
    asked: list[str] = []

    def apply(effects: list[Effect]) -> None:
        asked.append("apply")
        asked.extend("look" for effect in effects if isinstance(effect, LookAgain))

    network.datapaths[1] = SimpleNamespace(apply=apply, reconfigure=apply)  # type: ignore[assignment]
    answer = client.patch(MULTICAST, json={"mcast_snooping": False}).json
    assert (answer["enabled"], answer["vlans"]) == (False, [])
    assert not bridge.multicast.runs
    assert asked == ["apply", "look"]
    client.patch(MULTICAST, json={"mcast_hash_max": 9})
    assert asked == ["apply", "look", "apply"]
    answer = client.patch(MULTICAST, json={"mcast_snooping": True}).json
    assert answer["enabled"]
    assert {vlan["vlan"] for vlan in answer["vlans"]} == {0, 7, 10}  # 7 has a permanent entry
    assert asked[-2:] == ["apply", "look"]


def test_it_is_turned_on_where_the_file_has_it_off(client: Any) -> None:
    assert client.patch(OFF, json={"mcast_snooping": True}).json["enabled"]
    assert [vlan.vlan for vlan in status(client, OFF).vlans] == [0]


def test_a_change_is_reported_once_and_with_its_values(client: Any, network: Network) -> None:
    for _ in range(2):
        client.patch(MULTICAST, json={"mcast_querier": True, "mcast_hash_max": 4096})
        client.patch(f"{MULTICAST}/ports/eth2", json={"mcast_router": 0})
    events = [record.event for record in network.events.since(0, Interest(("mcast",)))]
    events = [event for event in events if event.kind.endswith("set")]
    assert [(event.kind, event.data) for event in events] == [
        ("mcast.set", {"mcast_querier": True}),
        ("mcast.port.set", {"mcast_router": 0, "port_name": "eth2"}),
    ]
    assert events[0].message == "multicast: mcast_querier = true"
    assert events[1].message == "port eth2 (2): mcast_router = 0"


def test_a_vlan_differs_from_its_bridge_and_no_more(client: Any) -> None:
    path = f"{MULTICAST}/vlans/7"
    client.patch(path, json={"mcast_querier": True})
    shown = client.patch(path, json={"mcast_igmp_version": 2}).json
    assert shown["parameters"]["vlans"] == {
        "10": {"mcast_querier": True},
        "7": {"mcast_querier": True, "mcast_igmp_version": 2},
    }
    assert (family(client, 7).querier.state, family(client, 7).querier.version) == ("self", 2)
    # What equals the default is its own word, where the bridge says otherwise.
    client.patch(MULTICAST, json={"mcast_querier": True})
    client.patch(f"{MULTICAST}/vlans/10", json={"mcast_querier": False})
    assert family(client, 10).querier.state == "none"
    assert client.delete(f"{MULTICAST}/vlans/10").status_code == 200
    assert family(client, 10).querier.state == "self"
    answer = client.delete(f"{MULTICAST}/vlans/10")
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "vlan")


@pytest.mark.parametrize("port", ["eth2", "2"])
def test_a_port_is_administered_by_name_or_number(client: Any, port: str) -> None:
    answer = client.patch(f"{MULTICAST}/ports/{port}", json={"mcast_max_groups": 3})
    shown = MulticastPortStatus.model_validate(answer.json)
    assert (shown.name, shown.groups) == ("eth2", 3)
    assert shown.parameters == MulticastPort(mcast_fast_leave=True, mcast_max_groups=3)


def test_a_vlan_of_a_port_goes_before_the_port(client: Any) -> None:
    """A router port there is one for good, and a port that is none is one in no other VLAN."""
    path = f"{MULTICAST}/ports/eth1/vlans/7"
    assert client.patch(f"{MULTICAST}/ports/eth1", json={"mcast_router": 0}).status_code == 200
    answer = client.patch(path, json={"mcast_router": 2})
    assert answer.status_code == 200, answer.text
    own = {7: MulticastPortVlan(mcast_router=2)}
    shown = MulticastPortStatus.model_validate(answer.json)
    assert shown.parameters == MulticastPort(mcast_router=0, vlans=own)
    (router,) = (one for one in family(client, 7).router_ports if one.port.name == "eth1")
    assert (router.reasons, router.timer) == (["permanent"], None)
    assert "eth1" not in names(one.port for one in family(client).router_ports)
    assert client.patch(path, json={"mcast_router": None}).status_code == 200
    assert "eth1" not in names(one.port for one in family(client, 7).router_ports)


@pytest.mark.parametrize(
    ("path", "body", "field", "detail"),
    [
        ("", {"mcast_hash_max": 0}, "mcast_hash_max", "must be a whole number from 1 to"),
        ("", {"mcast_hash_max": "6"}, "mcast_hash_max", "from 1 to 16777216, not"),
        ("", {"mcast_query_interval": 10**400}, "mcast_query_interval", ""),
        ("", {"mcast_query_interval": None}, "mcast_query_interval", ""),
        ("", {"mcast_querier": 1}, "mcast_querier", ""),
        ("", {"mcast_querier_address4": "10.0.0"}, "mcast_querier_address4", "must be an IPv4"),
        ("", {"mcast_querier_address6": "2001:db8::1"}, "mcast_querier_address6", "link-local"),
        ("", {"vlans": [{"vlan": 4095}]}, "vlans.0.vlan", ""),
        ("", {"vlans": None}, "vlans", ""),
        ("", {"vlans": [{"mcast_querier": True}]}, "vlans.0.vlan", ""),
        (
            "",
            {"vlans": [{"vlan": 7, "mcast_mld_version": 3}]},
            "vlans.0.mcast_mld_version",
            "from 1",
        ),
        ("/vlans/7", {"mcast_hash_max": 1}, "mcast_hash_max", ""),
        ("/vlans/7", {"mcast_mld_version": 3}, "mcast_mld_version", "from 1 to 2"),
        ("/vlans/4095", {}, "vlan", ""),
        ("/ports/eth2", {"mcast_router": 3}, "mcast_router", "from 0 to 2, not 3"),
        ("/ports/eth2", {"mcast_querier": True}, "mcast_querier", ""),
        ("/ports/eth2/vlans/7", {"mcast_router": 3}, "mcast_router", "from 0 to 2, not 3"),
        ("/ports/eth2/vlans/7", {"mcast_fast_leave": True}, "mcast_fast_leave", ""),
        ("/ports/eth2/vlans/4095", {"mcast_router": 1}, "vlan", ""),
    ],
)
def test_a_wrong_value_is_refused_by_field(
    client: Any, path: str, body: dict[str, Any], field: str, detail: str
) -> None:
    before = status(client).parameters
    answer = client.patch(MULTICAST + path, json=body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json["errors"]] == [field]
    assert detail in answer.json["detail"]
    assert status(client).parameters == before


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("", "mcast_query_response_interval"),
        ("/vlans/7", "vlans.7.mcast_query_response_interval"),
    ],
)
def test_values_that_do_not_go_together_are_named(client: Any, path: str, field: str) -> None:
    answer = client.patch(MULTICAST + path, json={"mcast_query_interval": 5})
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (409, field)
    both = {"mcast_query_interval": 5, "mcast_query_response_interval": 1}
    assert client.patch(MULTICAST + path, json=both).status_code == 200


def test_values_of_a_bridge_and_its_vlans_that_go_together_are_taken_together(client: Any) -> None:
    client.patch(f"{MULTICAST}/vlans/7", json={"mcast_query_interval": 20})
    slow = {"mcast_query_response_interval": 30}
    answer = client.patch(MULTICAST, json=slow)
    assert answer.status_code == 409
    assert "in one go" in answer.json["detail"]
    answer = client.patch(
        MULTICAST, json=slow | {"vlans": [{"vlan": 7, "mcast_query_interval": 60}]}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json["parameters"]["vlans"] == {
        "7": {"mcast_query_interval": 60},
        "10": {"mcast_querier": True},
    }


@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("get", ""),
        ("patch", ""),
        ("patch", "/vlans/7"),
        ("delete", "/vlans/7"),
        ("patch", "/ports/1"),
    ],
)
def test_an_unknown_bridge_is_not_found(client: Any, method: str, below: str) -> None:
    body = {"json": {}} if method == "patch" else {}
    answer = getattr(client, method)(f"/v1/bridges/00000000000000aa/multicast{below}", **body)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "dpid")


def test_an_unknown_port_is_not_found(client: Any) -> None:
    answer = client.patch(f"{MULTICAST}/ports/eth9", json={})
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "port")
