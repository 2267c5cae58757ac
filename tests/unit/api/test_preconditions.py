"""If-Match: a change is not lost to that of another client, which has not seen it."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.api.app import create_app
from ofapp.cli.client import _settings_path
from ofapp.controller.access import UserRole
from tests.unit.api.network import DPID, learn, mac, stp_network

BRIDGE = f"/v1/bridges/{DPID}"
PORT = f"{BRIDGE}/ports/eth1"


@pytest.fixture
def client(clients: Any) -> Any:
    return clients(stp_network())


SETTINGS = [
    (PORT, PORT, {"isolated": True}, {"isolated": False}),
    (PORT, f"{BRIDGE}/stp/ports/eth1", {"priority": 64}, {"priority": 32}),
    (PORT, f"{BRIDGE}/multicast/ports/eth1", {"mcast_router": 2}, {"mcast_router": 0}),
    (f"{BRIDGE}/stp", f"{BRIDGE}/stp", {"priority": 4096}, {"priority": 8192}),
    (BRIDGE, f"{BRIDGE}/stp", {"priority": 4096}, {"priority": 8192}),
    (
        f"{BRIDGE}/multicast",
        f"{BRIDGE}/multicast",
        {"mcast_querier": True},
        {"mcast_querier": False},
    ),
    (f"{BRIDGE}/lldp", f"{BRIDGE}/lldp", {"tx_interval": 10}, {"tx_interval": 20}),
]


@pytest.mark.parametrize(("read", "path", "first", "second"), SETTINGS)
def test_of_two_changes_of_one_reading_the_second_is_refused(
    client: Any, read: str, path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    seen = {"If-Match": client.get(read).headers["ETag"]}
    assert client.patch(path, json=first, headers=seen).status_code == 200
    refused = client.patch(path, json=second, headers=seen)
    assert (refused.status_code, refused.content_type) == (412, "application/problem+json")
    assert "read them again" in refused.json["detail"]
    seen = {"If-Match": client.get(read).headers["ETag"]}
    assert client.patch(path, json=second, headers=seen).status_code == 200


def test_all_settings_of_a_bridge_can_be_changed_as_they_were_read(client: Any) -> None:
    rules = client.application.url_map.iter_rules()
    paths = {str(rule) for rule in rules if "PATCH" in rule.methods and "<dpid>" in str(rule)}
    assert f"{BRIDGE.replace(DPID, '<dpid>')}/loop-protect/ports/<port>" in paths
    for path in paths:
        there = path.replace("<dpid>", DPID).replace("<port>", "eth1").replace("<vlan>", "7")
        known = there if there.endswith("/settings") else _settings_path(there)
        read = {"If-Match": client.get(known).headers.get("ETag")}
        if "<lag>" not in there:  # there is none
            refused = client.patch(there, json={"x": 1}, headers=read)
            assert (refused.status_code, path) == (422, path), refused.json


def test_what_is_counted_does_not_matter(clients: Any, network: Any, bridge: Any) -> None:
    client = clients(network)
    tag = client.get(PORT).headers["ETag"]
    learn(network, bridge, (1, 0, mac(77)))
    assert client.get(PORT).headers["ETag"] != tag
    assert client.patch(PORT, json={"isolated": True}, headers={"If-Match": tag}).status_code == 200


def test_what_is_set_elsewhere_does_not_matter(client: Any) -> None:
    tag = client.get(PORT).headers["ETag"]
    assert client.patch(f"{BRIDGE}/ports/eth2", json={"isolated": True}).status_code == 200
    assert client.patch(f"{BRIDGE}/stp", json={"priority": 4096}).status_code == 200
    assert client.patch(PORT, json={"isolated": True}, headers={"If-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("seen", "status"),
    [("*", 200), ('"other", {tag}', 200), ('"other"', 412), ("nonsense", 412), ('W/""', 412)],
)
def test_lists_of_etags(client: Any, seen: str, status: int) -> None:
    tag = client.get(PORT).headers["ETag"]
    headers = {"If-Match": seen.format(tag=tag)}
    assert client.patch(PORT, json={"isolated": True}, headers=headers).status_code == status
    assert client.patch(PORT, json={"isolated": False}).status_code == 200, "without it, always"


def test_every_change_goes_by_it(client: Any) -> None:
    stale = {"If-Match": '"0000"'}
    for method, path, status in (
        ("PUT", f"{PORT}/vlans/7", 412),
        ("DELETE", f"{PORT}/vlans/7", 412),
        ("DELETE", f"{BRIDGE}/multicast/vlans/7", 412),
        ("POST", f"{BRIDGE}/stp/ports/eth1/recover", 412),
        ("DELETE", BRIDGE, 412),
        ("POST", "/v1/tokens", 412),
        ("DELETE", f"{BRIDGE}/fdb", 412),
        ("PATCH", f"{BRIDGE}/ports/nope", 404),
        ("PATCH", "/v1/bridges/nope/stp", 404),
    ):
        body = {"name": "a", "role": "viewer"} if path.startswith("/v1/tokens") else {}
        assert client.open(path, method=method, json=body, headers=stale).status_code == status
    assert client.get(BRIDGE).status_code == 200


def test_the_command_reads_what_it_sets(client: Any) -> None:
    assert _settings_path(f"{BRIDGE}/stp/ports/a%2Fb") == f"{BRIDGE}/ports/a%2Fb"
    assert _settings_path(f"{BRIDGE}/lags/lag0") == f"{BRIDGE}/lags/lag0"
    for path in ("/multicast/vlans/7", "/stp", "/lldp"):
        assert _settings_path(BRIDGE + path) == BRIDGE


def test_tokens(network: Any) -> None:
    secret, _ = network.access.tokens.create("one", UserRole.ADMIN, "test", 0)
    client = create_app(network).test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    tag = client.get("/v1/tokens").headers["ETag"]
    made = [
        client.post("/v1/tokens", json={"name": name, "role": "viewer"}, headers={"If-Match": tag})
        for name in ("two", "three")
    ]
    assert [answer.status_code for answer in made] == [201, 412]
