"""While a bridge's ports are not known yet, nothing below it is missing: it is asked again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.api.app import create_app
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, empty_network
from tests.unit.api.test_access import routes, url

BRIDGE = f"/v1/bridges/{DPID}"


@pytest.fixture
def network() -> Network:
    """A bridge whose switch has just connected."""
    network = empty_network()
    network.bridges[1] = Bridge(1, network.running.of(1).params())
    return network


def test_nothing_below_it_is_missing_or_empty(network: Network, client: Any) -> None:
    asked = {
        (method, url(rule).replace("0000000000000009", DPID))
        for method, rule in routes(create_app(network))
        if "<dpid>" in rule and rule != "/v1/bridges/<dpid>" and method in ("GET", "DELETE")
    }
    assert len(asked) > 15
    for method, path in sorted(asked):
        needed = {"host": "eth0"} if path.endswith("/diagnosis") else {}
        reply = client.open(path, method=method, query_string=needed)
        assert (reply.status_code, reply.headers.get("Retry-After")) == (503, "1"), (method, path)
        assert "not known yet" in reply.json["detail"]


def test_no_change_of_a_port_is_refused_for_good(client: Any) -> None:
    mac = "52:54:00:00:00:01"
    for method, path, body in (
        ("PATCH", f"{BRIDGE}/ports/eth1", {"isolated": True}),
        ("PUT", f"{BRIDGE}/fdb/1/{mac}", {"port": "eth1"}),
        ("PUT", f"/simpleswitch/mactable/{DPID}", {"mac": mac, "port": 1}),
    ):
        reply = client.open(path, method=method, json=body)
        assert (reply.status_code, reply.headers.get("Retry-After")) == (503, "1"), path


def test_a_controller_on_standby_answers_that_it_knows_nothing(
    network: Network, client: Any
) -> None:
    network.datapaths[1] = SimpleNamespace(status=lambda: SimpleNamespace(owner="another"))  # type: ignore[assignment]
    assert client.get(f"{BRIDGE}/fdb").json["entries"] == []


def test_the_bridge_itself_is_there(client: Any) -> None:
    assert client.get(BRIDGE).status_code == 200
    assert client.get("/v1/bridges").json["bridges"][0]["datapath_id"] == DPID


def test_then_a_port_that_is_missing_does_not_exist(network: Network, client: Any) -> None:
    network.bridges[1].set_ports([Port(1, "eth1", 1, True)], 0.0)
    assert client.get(f"{BRIDGE}/ports/eth1").status_code == 200
    assert client.get(f"{BRIDGE}/ports/eth2").status_code == 404


def test_a_bridge_that_does_not_exist_is_missing(client: Any) -> None:
    assert client.get("/v1/bridges/00000000000000aa/ports/eth1").status_code == 404
