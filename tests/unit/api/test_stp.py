"""Spanning tree, seen and administered."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ofapp.api.resources.bridge.stp import StpBridgeStatus, StpPortStatus
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import BridgeParams, Link, PortParams, SendBpdu, SpanningTree
from ofapp.config.stp import StpBridge, StpPort
from ofapp.controller.configuration.changes.settings import STP as SECTION
from ofapp.controller.events import Interest
from ofapp.controller.network import Network
from tests.support.waiting import wait_for
from tests.unit.api.network import DPID, FULL, stp_network
from tests.unit.api.test_metrics import value

STP = f"/v1/bridges/{DPID}/stp"
OFF = f"/v1/bridges/{FULL}/stp"
RELATION = "2 × (forward delay − 1) ≥ max age ≥ 2 × (hello time + 1) does not hold: "


@pytest.fixture
def network() -> Network:
    """See `stp_network`."""
    return stp_network()


@pytest.fixture
def bridge(network: Network) -> Bridge:
    return network.bridges[1]


def status(client: Any, path: str = STP) -> StpBridgeStatus:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return StpBridgeStatus.model_validate(answer.json)


def port_status(client: Any, name: str) -> StpPortStatus:
    return next(port for port in status(client).ports if port.name == name)


def hear(network: Network, bridge: Bridge, port: int, frame: bytes) -> None:
    network.dispatcher.apply(bridge, bridge.hear("bpdu", [(port, frame)], time.monotonic()))


def hello(priority: int = 4096, force_version: int = 2) -> bytes:
    """What its own bridge, 02:00:00:00:00:99, says on its port 7."""
    params = BridgeParams(priority=priority, force_version=force_version)
    tree = SpanningTree(params, 0x0200_0000_0099)
    effects = tree.add_port(7, PortParams(), Link(True), 0.0)
    return next(effect.frame for effect in effects if isinstance(effect, SendBpdu))


# Seeing it


def test_a_bridge_on_its_own_is_the_root(client: Any) -> None:
    answer = status(client)
    assert answer.enabled
    assert answer.bridge_id == answer.root_id == "8000.02:00:00:00:00:01"
    assert (answer.root_path_cost, answer.root_port) == (0, None)
    assert [port.name for port in answer.ports] == ["eth1", "eth2", "eth3"]
    assert [port.state for port in answer.ports] == ["forwarding", "discarding", "discarding"]
    assert {port.role for port in answer.ports} == {"designated"}
    assert answer.root_times is not None
    assert answer.root_times.forward_delay == 15
    assert answer.parameters == StpBridge()
    assert answer.ports[0].parameters == StpPort(admin_edge=True)


def test_a_better_root_is_reported_with_the_port_that_leads_there(
    client: Any, network: Network, bridge: Bridge
) -> None:
    hear(network, bridge, 2, hello())
    answer = status(client)
    assert answer.root_id == "1000.02:00:00:00:00:99"
    assert answer.root_path_cost == 20_000
    assert answer.root_port is not None
    assert (answer.root_port.number, answer.root_port.name) == (2, "eth2")
    port = port_status(client, "eth2")
    assert (port.role, port.information, port.port_id) == ("root", "received", "8.002")
    assert port.designated is not None
    assert (port.designated.bridge, port.designated.port) == (answer.root_id, "8.007")
    assert (port.received.rst, port.received.config) == (1, 0)
    assert port.sent.rst >= 1
    assert port.point_to_point.oper
    assert not port.edge.oper
    assert 5 < port.timers["rcvdInfoWhile"] <= 6


def test_times_are_of_now_and_not_of_the_last_event(client: Any, bridge: Bridge) -> None:
    assert bridge.stp.runs
    due = port_status(client, "eth2").timers["fdWhile"]
    wait_for(
        lambda: port_status(client, "eth2").timers["fdWhile"] <= due - 0.05,
        "the forward delay to go by",
    )


def test_a_topology_change_is_reported(client: Any, network: Network, bridge: Bridge) -> None:
    assert status(client).topology_change.model_dump() == {  # type: ignore[union-attr]
        "active": False,
        "count": 0,
        "since": None,
        "port": None,
    }
    hear(network, bridge, 2, hello())  # a root port that opens
    change = status(client).topology_change
    assert change is not None
    assert (change.active, change.count) == (True, 1)
    assert change.port is not None
    assert change.port.name == "eth2"


def test_what_is_dropped_is_counted_by_reason(
    client: Any, network: Network, bridge: Bridge
) -> None:
    hear(network, bridge, 2, hello()[:20])
    assert port_status(client, "eth2").drops == {"truncated": 1}


def test_a_neighbour_that_speaks_stp(client: Any, network: Network, bridge: Bridge) -> None:
    frame = hello(force_version=0)
    port = bridge.ports.named("eth2")
    assert port is not None
    network.changes.settings.change_port(bridge, port, {"auto_edge": False}, SECTION)
    now = time.monotonic()
    bridge.tick(now + 3.1)  # the migration delay
    bridge.hear("bpdu", [(2, frame)], now + 3.2)
    assert port_status(client, "eth2").sends == "stp"
    answer = client.post(f"{STP}/ports/eth2/migration-check")
    assert StpPortStatus.model_validate(answer.json).sends == "rstp"


def test_a_bridge_without_spanning_tree_forwards(client: Any) -> None:
    answer = status(client, OFF)
    assert not answer.enabled
    assert answer.bridge_id is answer.topology_change is None
    assert {(port.role, port.state) for port in answer.ports} == {("disabled", "forwarding")}


def test_a_port_that_is_down_does_not_forward_anyhow(client: Any, network: Network) -> None:
    network.bridges[0xFF].put_port(Port(2, "eth2", 2, False), time.monotonic())
    states = {port.name: port.state for port in status(client, OFF).ports}
    assert states == {"eth1": "forwarding", "eth2": "discarding", "eth3": "forwarding"}


@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("get", ""),
        ("patch", ""),
        ("patch", "/ports/1"),
        ("post", "/ports/1/recover"),
        ("post", "/ports/1/migration-check"),
    ],
)
def test_an_unknown_bridge_is_not_found(client: Any, method: str, below: str) -> None:
    body = {"json": {}} if method == "patch" else {}
    answer = getattr(client, method)(f"/v1/bridges/00000000000000aa/stp{below}", **body)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (404, "dpid")


# Administering a bridge


def test_a_parameter_is_changed_and_the_others_stay(client: Any) -> None:
    client.patch(STP, json={"hello_time": 1})
    answer = client.patch(STP, json={"priority": 4096})
    shown = StpBridgeStatus.model_validate(answer.json)
    assert shown.bridge_id == "1000.02:00:00:00:00:01"
    assert shown.parameters == StpBridge(priority=4096, hello_time=1)
    assert status(client).root_times.hello_time == 1  # type: ignore[union-attr]


def test_a_change_is_reported_once_and_with_its_values(client: Any, network: Network) -> None:
    for _ in range(2):
        client.patch(STP, json={"priority": 4096, "hello_time": 2.0})
    (record,) = network.events.since(0, Interest(("stp.set",)))
    assert record.event.message == "spanning tree: priority = 4096"
    assert record.event.data == {"priority": 4096}


def test_spanning_tree_is_stopped_and_started_with_its_parameters(client: Any) -> None:
    client.patch(STP, json={"priority": 4096})
    off = StpBridgeStatus.model_validate(client.patch(STP, json={"enabled": False}).json)
    assert (off.enabled, off.parameters.priority) == (False, 4096)
    assert {port.state for port in off.ports} == {"forwarding"}
    on = StpBridgeStatus.model_validate(client.patch(STP, json={"enabled": True}).json)
    assert (on.enabled, on.bridge_id) == (True, "1000.02:00:00:00:00:01")
    assert {port.state for port in on.ports} == {"discarding"}  # an edge port for 50 ms


def test_spanning_tree_is_started_where_the_file_has_it_off(client: Any) -> None:
    status = StpBridgeStatus.model_validate(client.patch(OFF, json={"enabled": True}).json)
    assert status.enabled
    assert {port.role for port in status.ports} == {"designated"}


def test_the_standards_relation_is_explained(client: Any) -> None:
    answer = client.patch(STP, json={"forward_delay": 10})
    assert answer.status_code == 409
    assert answer.json["detail"] == (
        RELATION + "forward delay 10 s gives 18, max age is 20 s, hello time 2 s gives 6"
    )
    fields = [error["field"] for error in answer.json["errors"]]
    assert fields == ["forward_delay", "max_age", "hello_time"]
    assert status(client).parameters.forward_delay == 15
    assert client.patch(STP, json={"forward_delay": 10, "max_age": 18}).status_code == 200


@pytest.mark.parametrize(
    ("body", "field", "detail"),
    [
        ({"priority": 5}, "priority", "bridge priority 5 is not a multiple of 4096"),
        ({"hello_time": 0.5}, "hello_time", "hello time 0.5 is not between 1 and 2 s"),
        ({"max_age": 10**400}, "max_age", ""),
        ({"force_version": 3}, "force_version", "force version 3 is neither 0 (STP) nor 2"),
        ({"transmit_hold_count": "6"}, "transmit_hold_count", "from 1 to 10, not"),
        ({"enabled": "yes"}, "enabled", ""),
        ({"priority": None}, "priority", ""),
        ({"prio": 0}, "prio", ""),
    ],
)
def test_a_wrong_value_is_refused_by_field(
    client: Any, body: dict[str, Any], field: str, detail: str
) -> None:
    answer = client.patch(STP, json=body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json["errors"]] == [field]
    assert detail in answer.json["detail"]
    assert status(client).parameters == StpBridge()


@pytest.mark.parametrize("body", [b"{", b"[]", b"1"])
def test_a_body_that_is_no_object_is_refused(client: Any, body: bytes) -> None:
    answer = client.patch(STP, data=body, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize("model", [StpBridge, StpPort])
def test_the_documents_bounds_are_the_cores(model: type[StpBridge | StpPort]) -> None:
    """Alone each bound is taken; the step beyond is not."""
    bounded = 0
    for name, schema in model.model_json_schema()["properties"].items():
        if "minimum" not in schema:
            continue
        bounded += 1
        step = schema.get("multipleOf", 1)
        for bound, beyond in (
            (schema["minimum"], schema["minimum"] - step),
            (schema["maximum"], schema["maximum"] + step),
        ):
            assert not blames(model, name, bound)
            assert blames(model, name, beyond)
        if step > 1:
            assert blames(model, name, step // 2)
    assert bounded == (6 if model is StpBridge else 2)


def blames(model: type[StpBridge | StpPort], name: str, value: float) -> bool:
    """Whether the value is refused for itself, and not for a relation."""
    from ofapp.bridge.stp import ParameterError

    try:
        model().changed({name: value})
    except ParameterError as error:
        return error.fields == (name,)
    return False


# Administering a port


@pytest.mark.parametrize("port", ["eth2", "2"])
def test_a_port_is_administered_by_name_or_number(client: Any, port: str) -> None:
    body = {"path_cost": 77, "priority": 16, "bpdu_guard": True}
    answer = client.patch(f"{STP}/ports/{port}", json=body)
    status = StpPortStatus.model_validate(answer.json)
    assert (status.name, status.path_cost, status.port_id) == ("eth2", 77, "1.002")
    assert status.parameters == StpPort(path_cost=77, priority=16, bpdu_guard=True)
    answer = client.patch(f"{STP}/ports/{port}", json={"path_cost": None})
    status = StpPortStatus.model_validate(answer.json)
    assert (status.path_cost, status.parameters.priority) == (20_000, 16)


def test_a_port_leaves_spanning_tree_and_comes_back(client: Any) -> None:
    answer = client.patch(f"{STP}/ports/eth2", json={"enabled": False})
    assert (answer.json["role"], answer.json["state"]) == ("disabled", "forwarding")
    answer = client.patch(f"{STP}/ports/eth2", json={"enabled": True})
    assert (answer.json["role"], answer.json["state"]) == ("designated", "discarding")


def test_a_port_is_administered_before_spanning_tree_starts(client: Any) -> None:
    client.patch(f"{OFF}/ports/eth2", json={"path_cost": 77, "point_to_point": "force-false"})
    status = StpBridgeStatus.model_validate(client.patch(OFF, json={"enabled": True}).json)
    assert status.ports[1].path_cost == 77
    assert not status.ports[1].point_to_point.oper


def test_guards_that_exclude_each_other(client: Any) -> None:
    assert client.patch(f"{STP}/ports/eth2", json={"root_guard": True}).status_code == 200
    answer = client.patch(f"{STP}/ports/eth2", json={"loop_guard": True})
    assert answer.status_code == 409
    assert answer.json["detail"] == "root guard and loop guard exclude each other on a port"
    assert {error["field"] for error in answer.json["errors"]} == {"root_guard", "loop_guard"}


def test_a_port_is_recovered_from_bpdu_guard(client: Any, network: Network, bridge: Bridge) -> None:
    client.patch(f"{STP}/ports/eth2", json={"bpdu_guard": True})
    hear(network, bridge, 2, hello())
    shut = port_status(client, "eth2")
    assert (shut.role, shut.state, shut.guards) == ("disabled", "discarding", ["bpdu-guard"])
    assert shut.guard_counts["bpdu-guard"] == 1
    status = StpPortStatus.model_validate(client.post(f"{STP}/ports/eth2/recover").json)
    assert (status.role, status.guards, status.guard_counts["bpdu-guard"]) == ("designated", [], 1)
    again = client.post(f"{STP}/ports/eth2/recover")
    assert again.status_code == 409
    assert again.json["detail"] == "no guard of spanning tree holds port eth2"


def test_root_guard_is_not_freed_by_hand(client: Any, network: Network, bridge: Bridge) -> None:
    client.patch(f"{STP}/ports/eth2", json={"root_guard": True})
    hear(network, bridge, 2, hello())
    assert port_status(client, "eth2").guards == ["root-guard"]
    answer = client.post(f"{STP}/ports/eth2/recover")
    assert answer.status_code == 409
    assert "until the superior BPDUs there stop" in answer.json["detail"]


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        (f"{STP}/ports/eth9", 404, "port"),
        (f"{STP}/ports/LOCAL", 409, "port"),
        (f"{STP}/ports/eth9/recover", 404, "port"),
        (f"{STP}/ports/br0/recover", 409, "port"),
        (f"{STP}/ports/br0/migration-check", 409, "port"),
        (f"{OFF}/ports/eth1/recover", 409, "port"),
        (f"{OFF}/ports/eth1/migration-check", 409, "port"),
    ],
)
def test_a_port_that_cannot_be_administered(
    client: Any, path: str, status: int, field: str
) -> None:
    last = path.rpartition("/")[2]
    change = last not in ("recover", "migration-check")
    answer = client.patch(path, json={"path_cost": 77}) if change else client.post(path)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (status, field)


# What is reported it


def test_events_name_their_port(client: Any, network: Network, bridge: Bridge) -> None:
    hear(network, bridge, 2, hello())
    (record, *_) = network.events.since(0, Interest(("stp.role",)))[-1:]
    assert record.event.message.startswith("port eth2 (2): designated -> root")
    assert record.event.data["port_name"] == "eth2"
    (root,) = network.events.since(0, Interest(("stp.root",)))
    assert root.event.message == "new root, through port eth2 (2)"


def test_bpdus_are_events_only_while_somebody_listens(network: Network, bridge: Bridge) -> None:
    def heard(interest: Interest) -> list[str]:
        follower = network.events.follow(network.events.last, 0.001, interest)
        assert next(follower) is None
        hear(network, bridge, 3, hello())
        kinds = []
        while (record := next(follower)) is not None:
            kinds.append(record.event.kind)
        follower.close()  # type: ignore[attr-defined]
        return kinds

    assert bridge.stp.runs
    assert not bridge.stp.tree.trace
    assert "stp.bpdu.received" in heard(Interest())
    assert not bridge.stp.tree.trace
    assert heard(Interest(("stp.bpdu",), bridge=1))[0] == "stp.bpdu.received"
    assert heard(Interest(("fdb", "stp.bpdu.received"))) == ["stp.bpdu.received"]
    assert heard(Interest(("stp.bp",))) == []
    assert heard(Interest(bridge=0xFF)) == []
    assert not bridge.stp.tree.trace


def test_a_spanning_tree_that_starts_under_a_listener_is_traced(
    client: Any, network: Network
) -> None:
    follower = network.events.follow(network.events.last, 0.001)
    assert next(follower) is None
    client.patch(OFF, json={"enabled": True})
    records = []
    while (record := next(follower)) is not None:
        records.append(record)
    sent = next(record.event for record in records if record.event.kind == "stp.bpdu.sent")
    assert sent.message.startswith("port eth1 (1) > RST designated [proposal] root 8000.02:00:")


# Metrics


def test_metrics_of_bridges(client: Any, network: Network, bridge: Bridge) -> None:
    about = {"datapath_id": DPID, "bridge": "br0"}
    other = {"datapath_id": FULL, "bridge": "br1"}
    assert value(client, "ofapp_stp_enabled", **about) == 1
    assert value(client, "ofapp_stp_is_root", **about) == 1
    assert value(client, "ofapp_stp_enabled", **other) == 0
    assert value(client, "ofapp_stp_is_root", **other) is None
    hear(network, bridge, 2, hello())
    assert value(client, "ofapp_stp_is_root", **about) == 0
    assert value(client, "ofapp_stp_root_path_cost", **about) == 20_000
    assert value(client, "ofapp_stp_topology_changes_total", **about) == 1


def test_metrics_of_ports(client: Any, network: Network, bridge: Bridge) -> None:
    client.patch(f"{STP}/ports/eth3", json={"bpdu_guard": True})
    hear(network, bridge, 2, hello())
    hear(network, bridge, 2, hello()[:20])
    hear(network, bridge, 3, hello())
    two = {"datapath_id": DPID, "bridge": "br0", "port": "eth2"}
    three = {**two, "port": "eth3"}
    assert value(client, "ofapp_stp_port_role", **two, role="root") == 1
    assert value(client, "ofapp_stp_port_role", **two, role="designated") == 0
    assert value(client, "ofapp_stp_port_state", **two, state="forwarding") == 1
    assert value(client, "ofapp_stp_port_forward_transitions_total", **two) == 1
    sent = value(client, "ofapp_stp_bpdus_sent_total", **two, type="rst")
    assert sent == port_status(client, "eth2").sent.rst > 0
    assert value(client, "ofapp_stp_bpdus_received_total", **two, type="rst") == 1
    assert value(client, "ofapp_stp_bpdus_dropped_total", **two, reason="truncated") == 1
    assert value(client, "ofapp_stp_guard_active", **two, guard="bpdu-guard") == 0
    assert value(client, "ofapp_stp_guard_active", **three, guard="bpdu-guard") == 1
    assert value(client, "ofapp_stp_guard_strikes_total", **three, guard="bpdu-guard") == 1
    assert value(client, "ofapp_stp_port_state", **three, state="discarding") == 1
