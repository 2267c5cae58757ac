"""Loop protection over the API, in metrics, among problems, in the doctor and by command."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.controller.network import Network
from tests.unit.api.network import DPID, looped_network
from tests.unit.api.test_metrics import value

PATH = f"/v1/bridges/{DPID}/loop-protect"


@pytest.fixture
def network() -> Network:
    return looped_network()


def held(client: Any) -> dict[str, Any]:
    return {port["name"]: port["held"] for port in client.get(PATH).json["ports"] if port["held"]}


def test_a_held_port_has_its_reason_and_its_end(client: Any) -> None:
    answer = client.get(PATH).json
    assert answer["enabled"]
    assert answer["counters"]["held"] == 1
    (port,) = held(client).values()
    assert (port["other"], port["times"], port["seconds"]) == ("eth1", 1, 30)
    assert 0 < port["left"] <= 30
    labels = {"datapath_id": DPID, "bridge": "br0"}
    assert value(client, "ofapp_loop_protect_held", port="eth2", **labels) == 1
    assert value(client, "ofapp_loop_protect_held", port="eth1", **labels) == 0
    assert value(client, "ofapp_loop_protect_frames_total", what="held", **labels) == 1


def test_the_problem_names_both_ports_and_the_doctor_the_remedy(
    client: Any, network: Network
) -> None:
    bridge = network.bridges[1]
    (problem,) = (each for each in bridge.problems(0.0) if each.of.name == "loop_protect.held")
    worded = problem.worded("br0", bridge.port_at)
    assert "eth1" in worded.message
    assert "eth2" in worded.message
    assert worded.remedy == "ofapp loop-protect free br0 eth2"
    answer = client.get(f"/v1/bridges/{DPID}/diagnosis?host=eth2").text
    assert "loop from it to port eth1" in answer


def test_a_port_is_freed_once(client: Any) -> None:
    assert client.post(f"{PATH}/ports/eth2/free").status_code == 200
    assert held(client) == {}
    refused = client.post(f"{PATH}/ports/eth2/free")
    assert refused.status_code == 409
    assert "does not hold port eth2" in refused.text


def test_it_is_set_while_it_runs(client: Any, network: Network) -> None:
    assert client.patch(PATH, json={"hold": 5}).json["parameters"]["hold"] == 5
    ports = client.patch(f"{PATH}/ports/eth2", json={"enabled": False}).json["ports"]
    assert "eth2" not in {port["name"] for port in ports}, "it is freed, and sends no more"
    assert client.patch(PATH, json={"enabled": False}).json["ports"] == []
    assert network.bridges[1].loop_protect.next_wakeup() is None
    for body in ({"hold": 0}, {"interval": 0.1}, {"holds": 5}):
        assert client.patch(PATH, json=body).status_code == 422
