"""Settings and VLANs of ports over the API."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from ofapp.api.resources.bridge.ports import LimitedKind, PortDetail, VlanStatus
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.vlan import TRANSPARENT, PortVlans, access, trunk
from ofapp.config.port import vlan_section, with_vlan, without_vlan
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, mcast_network, port_counters, standing

BRIDGE = f"/v1/bridges/{DPID}"


@pytest.fixture
def network() -> Network:
    return mcast_network()


def patch(client: Any, port: str, **values: Any) -> Any:
    return client.patch(f"{BRIDGE}/ports/{port}", json=values)


def test_a_policy_is_set_and_shown(client: Any, bridge: Bridge) -> None:
    answer = patch(client, "eth1", isolated=True, storm={"broadcast": 100})
    assert answer.status_code == 200, answer.text
    port = PortDetail.model_validate(answer.json)
    assert port.settings == {"isolated": True, "storm": {"broadcast": 100}}
    number = port.number
    assert bridge.port_policies.policy(number).isolated
    assert bridge.port_policies.policy(number).storm.broadcast == 100
    assert client.get(f"{BRIDGE}/ports/eth1").json == answer.json
    assert patch(client, "eth1", isolated=False).json["settings"] == {"storm": {"broadcast": 100}}


def test_storm_control_is_taken_away_with_null(client: Any, bridge: Bridge) -> None:
    patch(client, "eth1", storm={"broadcast": 100})
    assert patch(client, "eth1", storm=None).json["settings"] == {}
    answer = patch(client, "eth1", vlan=None)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (422, "vlan")
    assert "transparent" in answer.json["detail"]
    assert patch(client, "eth1", vlan="transparent").status_code == 200


def test_what_a_switch_has_counted_is_reported_to_who_asks(client: Any, network: Network) -> None:
    assert client.get(f"{BRIDGE}/ports/eth1?counters=true").json["counters"] is None  # away
    network.datapaths[1] = SimpleNamespace(status=standing(), port_counters=port_counters())  # type: ignore[assignment]
    assert client.get(f"{BRIDGE}/ports/eth1").json["counters"] is None  # not wanted
    shown = PortDetail.model_validate(client.get(f"{BRIDGE}/ports/eth2?counters=true").json)
    assert shown.counters is not None
    assert (shown.counters.rx_frames, shown.counters.tx_frames) == (1, 2)
    assert shown.counters.tx_errors is None
    ports = client.get(f"{BRIDGE}/ports?counters=true").json["ports"]
    assert [port["counters"] is None for port in ports] == [False, False, True, True]


def test_every_rate_that_is_kept_can_be_reported() -> None:
    kept = {"sighting", "bpdu", "lacp", "lldp", "snooped", "loop_protect"}
    kept |= {"dhcp", "dhcp_server", "nd", "nd_trusted", "router", "answer", "eapol"}
    storms = {"broadcast", "multicast", "unknown_unicast", "rate_in", "rate_out"}
    assert {*get_args(LimitedKind)} == kept | storms | {"learning"}


def test_link_changes_are_counted(client: Any, bridge: Bridge) -> None:
    port = bridge.ports.named("eth1")
    assert port is not None
    for up in (False, True, True):
        bridge.put_port(replace(port, up=up, speed_mbps=1000), 1.0)
    shown = client.get(f"{BRIDGE}/ports/eth1").json
    assert (shown["link_changes"], shown["speed_mbps"], shown["full_duplex"]) == (2, 1000, True)
    bridge.remove_port(port.number, 2.0)
    bridge.put_port(port, 3.0)
    assert client.get(f"{BRIDGE}/ports/eth1").json["link_changes"] == 0


def test_a_port_that_is_shut_is_disabled(client: Any, bridge: Bridge) -> None:
    assert patch(client, "eth1", shutdown=True).json["state"] == "disabled"
    assert patch(client, "eth1", shutdown=False).json["state"] != "disabled"


@pytest.mark.parametrize(
    ("values", "status", "field"),
    [
        ({"isolated": "yes"}, 422, "isolated"),
        ({"isolatd": True}, 422, "isolatd"),
        ({"description": "x" * 256}, 422, "description"),
        ({"fdb_max_learned": -1}, 422, "fdb_max_learned"),
        ({"storm": {"unknown_unicast": 0}}, 422, "storm.unknown_unicast"),
        ({"vlan": 4095}, 422, "vlan"),
        ({"vlan": "nowhere"}, 409, "vlan"),
        ({"acl": "nobodys"}, 409, "acl"),
        ({"storm": {"broadcast": 0}}, 422, "storm"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    client: Any, bridge: Bridge, values: dict[str, Any], status: int, field: str
) -> None:
    before = bridge.params
    answer = patch(client, "eth1", **values)
    assert answer.status_code == status, answer.text
    assert field in str(answer.json["errors"])
    assert bridge.params == before
    assert client.get(f"{BRIDGE}/ports/eth1").json["settings"] == {}


def test_a_port_joins_and_leaves_vlans(client: Any, bridge: Bridge) -> None:
    path = f"{BRIDGE}/ports/eth1/vlans"
    assert client.put(f"{path}/10", json={"pvid": True, "untagged": True}).status_code == 200
    answer = client.put(f"{path}/20", json={})
    assert answer.json["settings"] == {"vlan": {"trunk": [10, 20], "native": 10}}
    ports = VlanStatus.model_validate(client.get(f"{BRIDGE}/vlans").json).ports
    (shown,) = (port for port in ports if port.port.name == "eth1")
    assert (shown.mode, shown.vlans, shown.pvid, shown.untagged) == ("trunk", "10,20", 10, [10])
    assert bridge.port_policies.aware
    assert client.delete(f"{path}/10").status_code == 200
    assert client.delete(f"{path}/10").status_code == 409
    assert client.delete(f"{path}/20").status_code == 409  # the last
    assert client.put(f"{path}/30", json={"untagged": True}).status_code == 409
    assert client.put(f"{path}/0", json={}).status_code == 422
    assert patch(client, "eth1", vlan="transparent").json["settings"] == {}
    assert not bridge.port_policies.aware


class TestMembership:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (TRANSPARENT, PortVlans(frozenset({7}))),
            (access(5), trunk(frozenset({5, 7}), native=5)),
            (trunk(frozenset({1})), trunk(frozenset({1, 7}))),
            (trunk(frozenset({7}), native=7), trunk(frozenset({7}))),
        ],
    )
    def test_joining(self, before: PortVlans, after: PortVlans) -> None:
        assert with_vlan(before, 7, pvid=False, untagged=False) == after

    def test_another_native_vlan(self) -> None:
        after = with_vlan(access(5), 7, pvid=True, untagged=True)
        assert after == trunk(frozenset({5, 7}), native=7)

    @pytest.mark.parametrize(
        "vlans", [TRANSPARENT, access(5), trunk(), trunk(frozenset({1, 2, 9}), 2, True)]
    )
    def test_what_is_said_is_what_is_meant(self, vlans: PortVlans) -> None:
        assert vlan_section(vlans).params(int) == vlans

    def test_leaving(self) -> None:
        assert without_vlan(trunk(frozenset({5, 7}), native=7), 7) == trunk(frozenset({5}))


def test_a_community_and_isolation_exclude_each_other(client: Any) -> None:
    assert patch(client, "eth1", isolated=True).status_code == 200
    answer = patch(client, "eth1", community=1)
    assert answer.status_code == 409
    assert "set isolated to false" in answer.text
    assert patch(client, "eth1", isolated=False, community=1).status_code == 200
