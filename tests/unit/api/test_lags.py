"""Aggregations over the API: their state, their settings, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ofapp.api.resources.bridge.lags import LagDetail, LagList
from ofapp.api.resources.bridge.ports import PortList
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lag.status import LagStatus, MemberStatus, PartyStatus
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, FULL, lag_network
from tests.unit.api.test_metrics import value

BRIDGE = f"/v1/bridges/{DPID}"
BR0 = {"datapath_id": DPID, "bridge": "br0"}


@pytest.fixture
def network() -> Network:
    return lag_network()


def patch(client: Any, lag: str, **values: Any) -> Any:
    return client.patch(f"{BRIDGE}/lags/{lag}", json=values)


def members(client: Any, lag: str) -> dict[str, tuple[str, str]]:
    """State and reason, by name."""
    answer = LagDetail.model_validate(client.get(f"{BRIDGE}/lags/{lag}").json)
    return {member.name: (member.state, member.reason) for member in answer.members}


def test_how_they_stand(client: Any) -> None:
    answer = LagList.model_validate(client.get(f"{BRIDGE}/lags").json)
    first, second = answer.lags
    assert (first.name, first.number, first.up, first.lacp) == ("lag0", 4095, True, "off")
    assert [member.state for member in first.members] == ["distributing"] * 2
    assert (second.name, second.up) == ("lag1", True)
    away = second.members[1]
    assert (away.name, away.number, away.state, away.reason) == (
        *("eth9", None, "away"),
        "There is no such port.",
    )
    assert client.get(f"/v1/bridges/{FULL}/lags").json["lags"] == []
    assert client.get(f"{BRIDGE}/lags/lag7").status_code == 404
    assert client.get("/v1/bridges/0000000000000099/lags").status_code == 404


def test_parameters_are_set_until_a_restart(client: Any, network: Network, bridge: Bridge) -> None:
    answer = patch(client, "lag0", max_links=1, hash="layer3+4")
    assert answer.status_code == 200, answer.text
    shown = LagDetail.model_validate(answer.json)
    assert shown.parameters.params() == LagParams(
        ("eth1", "eth2"), "off", hash="layer3+4", max_links=1
    )
    assert bridge.params.lags["lag0"] == shown.parameters.params()
    assert members(client, "lag0")["eth2"] == (
        "standby",
        "It stands by: as many members are in use as max_links says.",
    )
    (config, _) = client.get("/v1/config").json["bridges"]
    assert config["since"] == [
        "lags.lag0.hash: default -> layer3+4",
        "lags.lag0.max_links: default -> 1",
    ]
    (event,) = client.get("/v1/events?kind=lag.set").json["events"]
    assert event["message"] == 'aggregation lag0: hash = "layer3+4", max_links = 1'
    assert event["data"] == {"lag": "lag0", "hash": "layer3+4", "max_links": 1}
    assert patch(client, "lag0", max_links=1).status_code == 200
    assert len(client.get("/v1/events?kind=lag.set").json["events"]) == 1  # nothing has changed


def test_members_come_and_go(client: Any, bridge: Bridge) -> None:
    assert patch(client, "lag1", members=["eth9"]).status_code == 200
    assert patch(client, "lag0", members=["eth1", "eth2", "eth3"]).status_code == 200
    assert [*members(client, "lag0")] == ["eth1", "eth2", "eth3"]
    assert patch(client, "lag0", members=["eth1"]).status_code == 200
    assert bridge.ports.named("eth2") is not None  # a port of the bridge again
    assert bridge.ports.named("eth1") is None


@pytest.mark.parametrize(
    ("values", "status", "field", "detail"),
    [
        ({"rate": "often"}, 422, "rate", ""),
        ({"rat": "fast"}, 422, "rat", ""),
        ({"min_links": 9}, 422, "min_links", "from 1 to 8"),
        ({"min_links": True}, 422, "min_links", ""),
        ({"members": None}, 422, "members", ""),
        ({"members": ["eth*"]}, 422, "members", "one by one"),
        ({"members": "a1,a2"}, 422, "members", "members: must be a list, as in [a1, a2]"),
        ({"members": []}, 409, "members", "members: must be 1 to 32 names of ports"),
        ({"min_links": 3}, 409, "min_links", "min_links: is 3, more than there are members"),
        ({"min_links": 2, "max_links": 1}, 409, "min_links", "min_links: must be at most max_"),
        ({"members": ["eth1", "eth3"]}, 409, "members", "eth3 is a member of lag1 already"),
        ({"members": ["eth1", "br0"]}, 409, "members", "LOCAL"),
        ({"members": ["lag1"]}, 409, "members", "an aggregation, too"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    client: Any, bridge: Bridge, values: dict[str, Any], status: int, field: str, detail: str
) -> None:
    before = bridge.params
    answer = patch(client, "lag0", **values)
    assert answer.status_code == status, answer.text
    assert answer.json["errors"][0]["field"].startswith(field)
    assert detail in answer.json["detail"]
    assert bridge.params == before


def test_off_may_be_false(client: Any, bridge: Bridge) -> None:
    """As YAML reads it, and so `ofapp lag set BRIDGE LAG lacp=off`."""
    assert patch(client, "lag0", lacp="active").status_code == 200
    assert patch(client, "lag0", lacp=False).status_code == 200
    assert bridge.params.lags["lag0"].lacp == "off"


def test_ports_know_of_each_other(client: Any) -> None:
    ports = PortList.model_validate(client.get(f"{BRIDGE}/ports?counters=true").json).ports
    by_name = {port.name: port for port in ports}
    assert [*by_name] == ["eth1", "eth2", "eth3", "lag1", "lag0", "br0"]
    assert {name: port.lag for name, port in by_name.items() if port.lag} == {
        **dict.fromkeys(("eth1", "eth2"), "lag0"),
        "eth3": "lag1",
    }
    lag0 = by_name["lag0"]
    assert (lag0.members, lag0.state) == (["eth1", "eth2"], "forwarding")
    assert (by_name["eth1"].members, by_name["eth1"].link_changes) == (None, None)
    assert by_name["eth1"].state == "forwarding"
    assert lag0.counters is not None
    assert (lag0.counters.rx_frames, lag0.counters.tx_errors) == (2, None)
    assert by_name["lag1"].counters is None  # nothing is known of eth3


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "ports/eth1"),
        ("get", "fdb?port=eth1"),
        ("post", "stp/ports/eth1/recover"),
        ("put", "fdb/0/52:54:00:00:00:01"),
    ],
)
def test_what_is_asked_of_a_member_names_the_aggregation(
    client: Any, method: str, path: str
) -> None:
    body = {"json": {"port": "eth1"}} if method == "put" else {}
    answer = getattr(client, method)(f"{BRIDGE}/{path}", **body)
    assert answer.status_code in (404, 409, 422)
    assert "eth1 is a member of lag0, which is one port of bridge br0" in answer.json["detail"]


PARTNER = PartyStatus(1, 0x020000000009, 9, 255, 3, ("activity", "defaulted"))
WITH_LACP = LagStatus(
    *("lag0", 4095, "active", "layer2", False, 0, 2),
    (
        MemberStatus(
            *("eth1", 1, True, 1000, "attached", "its partner is another one", False, False),
            actor=PARTNER,
            partner=PARTNER,
            counters={"rx_pdus": 7},
            churn=("actor",),
        ),
    ),
    system=0x020000000001,
    key=1,
    partner=PARTNER,
)


def test_all_that_lacp_tells(
    client: Any, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "lag_status", lambda bridge: (WITH_LACP,))
    (lag,) = client.get(f"{BRIDGE}/lags").json["lags"]
    assert (lag["system"], lag["key"]) == ("02:00:00:00:00:01", 1)
    assert lag["partner"] == {
        "system_priority": 1,
        "system": "02:00:00:00:00:09",
        "key": 9,
        "port_priority": 255,
        "port": 3,
        "state": ["activity", "defaulted"],
    }
    (member,) = lag["members"]
    assert (member["counters"], member["churn"]) == ({"rx_pdus": 7}, ["actor"])
    eth1 = BR0 | {"lag": "lag0", "port": "eth1"}
    assert value(client, "ofapp_lag_up", **BR0, lag="lag0") == 0
    assert value(client, "ofapp_lag_member_up", **eth1) == 1
    assert value(client, "ofapp_lag_member_state", **eth1, state="attached") == 1
    assert value(client, "ofapp_lag_member_state", **eth1, state="standby") == 0
    assert value(client, "ofapp_lag_member_churn", **eth1, side="actor") == 1
    assert value(client, "ofapp_lag_member_events_total", **eth1, what="rx_pdus") == 7


def test_metrics(client: Any) -> None:
    assert value(client, "ofapp_lag_up", **BR0, lag="lag0") == 1
    assert value(client, "ofapp_lag_members", **BR0, lag="lag1") == 2
    assert value(client, "ofapp_lag_members_distributing", **BR0, lag="lag1") == 1
    eth9 = BR0 | {"lag": "lag1", "port": "eth9"}
    assert value(client, "ofapp_lag_member_state", **eth9, state="away") == 1
    assert value(client, "ofapp_port_receive_frames_total", **BR0, port="eth2") == 1
    assert value(client, "ofapp_port_receive_frames_total", **BR0, port="lag0") == 2


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_a_reload_refuses_an_aggregation_with_the_name_of_a_port(
    client: Any, network: Network, bridge: Bridge, tmp_path: Path, dry_run: str
) -> None:
    file = tmp_path / "ofapp.yaml"
    network.reloader.find = lambda: file
    before = bridge.params
    file.write_text(f"bridges: {{'{DPID}': {{lags: {{eth1: {{members: [eth2]}}}}}}}}")
    answer = client.post(f"/v1/config/reload?force=true&dry_run={dry_run}")
    assert answer.status_code == 409, answer.text
    fault = (
        f"bridges.{DPID}.lags.eth1: aggregation eth1 has the name of port eth1 (1) of bridge br0"
    )
    assert fault in answer.json["detail"]
    assert bridge.params == before
    refused = client.get("/v1/events?kind=config.refused").json["events"]
    assert len(refused) == (dry_run == "false")


def test_a_reload_says_which_members_are_not_there(
    client: Any, network: Network, tmp_path: Path
) -> None:
    file = tmp_path / "ofapp.yaml"
    network.reloader.find = lambda: file
    del network.datapaths[1]  # away: nothing is compared with what the switch holds
    lags = "{lag0: {members: [eth1, eth7, eth8]}, lag1: {members: [eth3]}}"
    file.write_text(f"bridges: {{'{DPID}': {{lags: {lags}}}}}")
    answer = client.post("/v1/config/reload?dry_run=true").json
    waited = "members that are no ports of the switch are waited for: eth7, eth8"
    interrupted = "another lacp: all members go out of use, and carry traffic again two to three"
    assert answer["warnings"][0] == f"br0: lags.lag0: {waited}"
    assert {line[:78] for line in answer["warnings"][1:]} == {
        f"br0: lags.{name}: {interrupted}"[:78] for name in ("lag0", "lag1")
    }
    (bridge,) = (own for own in answer["bridges"] if own["name"] == "br0")
    assert "lags.lag0.members: - eth2 + eth7 + eth8" in bridge["changes"]
