"""Alerts and dashboards: Prometheus' own promtool plays them, and every metric is one there is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ofapp.api.app import create_app
from ofapp.api.metrics import cluster as metrics_cluster
from ofapp.docs import site
from tests.packaging.machine import REPOSITORY
from tests.unit.api.network import NETWORKS, SECRETS

HERE = REPOSITORY / "deploy/monitoring"
RULES = HERE / "ofapp.rules.yml"
DASHBOARDS = ("fleet", "switch", "spanning-tree", "multicast")

BRIDGE = 'bridge="br0"'
PORT = f'{BRIDGE}, port="eth1"'
LAG = f'{BRIDGE}, lag="lag0"'
FABRIC = 'fabric="mesh"'
MEMBER = f'{FABRIC}, member="s1"'
LINK = f'{FABRIC}, one="s1/eth1", other="s2/eth2"'
CONNECTED = {f"ofapp_bridge_connected{{{BRIDGE}}}": "1x60"}
_RATES = {f"ofapp_port_receive_frames_total{{{PORT}}}": "0+60000x60"}
_SPEED = {f"ofapp_port_speed_bytes_per_second{{{PORT}}}": "125000000x60"}
_LEARNED = f'ofapp_fdb_entries{{{BRIDGE}, type="learned"}}'
_BUCKET = "ofapp_loop_lateness_seconds_bucket"

# Series a minute each (Prometheus' own notation): those of a network that is well, ...
WELL = {
    'up{job="ofapp"}': "1x60",
    f'{_BUCKET}{{le="0.5"}}': "0+240x60",
    f'{_BUCKET}{{le="2.5"}}': "0+240x60",
    f'{_BUCKET}{{le="+Inf"}}': "0+240x60",
    "ofapp_config_last_reload_successful": "1x60",
    "ofapp_state_saved": "1x60",
    **CONNECTED,
    f"ofapp_bridge_in_line{{{BRIDGE}}}": "1x60",
    f"ofapp_bridge_standby{{{BRIDGE}}}": "0x60",
    f"ofapp_channel_echo_round_trip_seconds{{{BRIDGE}}}": "0.001x60",
    _LEARNED: "500x60",
    f"ofapp_fdb_max_learned{{{BRIDGE}}}": "1000x60",
    f"ofapp_fdb_held{{{BRIDGE}}}": "0x60",
    f'ofapp_port_held_back_total{{{PORT}, kind="sighting"}}': "7x60",
    f'ofapp_port_refused_samples_total{{{PORT}, claim="arp"}}': "0+1x60",
    f"ofapp_port_bindings_full{{{PORT}}}": "0x60",
    f'ofapp_first_hop_total{{{BRIDGE}, what="refused_vlan_limit"}}': "3x60",
    **_RATES,
    f"ofapp_port_receive_errors_total{{{PORT}}}": "0+10x60",
    f"ofapp_port_link_changes_total{{{PORT}}}": "2x60",
    **_SPEED,
    f"ofapp_port_receive_bytes_total{{{PORT}}}": "0+1000000000x60",
    f"ofapp_port_transmit_bytes_total{{{PORT}}}": "0+1000000000x60",
    f"ofapp_stp_topology_changes_total{{{BRIDGE}}}": "3x60",
    f'ofapp_stp_guard_active{{{PORT}, guard="bpdu-guard"}}': "0x60",
    f"ofapp_mcast_entries{{{BRIDGE}}}": "10x60",
    f"ofapp_mcast_hash_max{{{BRIDGE}}}": "100x60",
    f"ofapp_lag_up{{{LAG}}}": "1x60",
    f"ofapp_lag_members{{{LAG}}}": "3x60",
    f"ofapp_lag_members_distributing{{{LAG}}}": "2x60",
    f'ofapp_lag_member_state{{{LAG}, port="eth2", state="standby"}}': "1x60",
    f'ofapp_lag_member_state{{{LAG}, port="eth1", state="standby"}}': "0x60",
    f"ofapp_fabric_member_ready{{{MEMBER}}}": "1x60",
    f"ofapp_fabric_link_carries{{{LINK}}}": "1x60",
    f"ofapp_fabric_link_failures_total{{{LINK}}}": "0x30 1x30",
    f"ofapp_fabric_paused{{{FABRIC}}}": "0x60",
    'ofapp_cluster_member{member="m1", state="ready", instance="m1"}': "1x60",
    'ofapp_cluster_member{member="m2", state="ready", instance="m1"}': "1x60",
    # One member is cut off from etcd: the other knows more.
    'ofapp_cluster_bridge_owned{datapath_id="1", instance="m1"}': "1x60",
    'ofapp_cluster_bridge_owned{datapath_id="1", instance="m2"}': "0x60",
    'ofapp_cluster_etcd_node{node="a:2379", instance="m1"}': "1x60",
    'ofapp_cluster_etcd_node{node="a:2379", instance="m2"}': "1x60",
    'ofapp_cluster_etcd_alarm{node="a:2379", alarm="NOSPACE"}': "0x60",
    'ofapp_cluster_etcd_answer_seconds{node="a:2379"}': "0.01x60",
    "ofapp_cluster_invalid_keys": "0x60",
    'ofapp_cluster_config_behind{member="m1"}': "0x60",
    'ofapp_cluster_clock_seconds{job="ofapp", instance="m1"}': "1000+60x60",
    'ofapp_cluster_clock_seconds{job="ofapp", instance="m2"}': "1003+60x60",
}
# ... and what differs from them when an alert has to fire.
ILL = {
    "OfappDown": {'up{job="ofapp"}': "0x60"},
    "OfappLate": {f'{_BUCKET}{{le="0.5"}}': "0+230x60"},
    "OfappNotSaved": {"ofapp_state_saved": "0x60"},
    "OfappProblem": {
        'ofapp_problem{kind="stp.bpdu-guard", severity="error", bridge="br0"}': "1x60"
    },
    "OfappConfigurationRefused": {"ofapp_config_last_reload_successful": "0x60"},
    "OfappSwitchAway": {f"ofapp_bridge_connected{{{BRIDGE}}}": "0x60"},
    "OfappSwitchNotInLine": {f"ofapp_bridge_in_line{{{BRIDGE}}}": "0x60"},
    "OfappSwitchSlow": {f"ofapp_channel_echo_round_trip_seconds{{{BRIDGE}}}": "1.5x60"},
    "OfappFdbNearlyFull": {_LEARNED: "950x60"},
    "OfappAddressesHeldDown": {f"ofapp_fdb_held{{{BRIDGE}}}": "1x60"},
    "OfappUnknownHostsHeldBack": {
        f'ofapp_port_held_back_total{{{PORT}, kind="sighting"}}': "0+600x60"
    },
    "OfappFramesRefused": {f'ofapp_port_refused_samples_total{{{PORT}, claim="arp"}}': "0+60x60"},
    "OfappBindingsFull": {f"ofapp_port_bindings_full{{{PORT}}}": "1x60"},
    "OfappPortErrors": {f"ofapp_port_receive_errors_total{{{PORT}}}": "0+120x60"},
    "OfappPortFlaps": {f"ofapp_port_link_changes_total{{{PORT}}}": "0+1x60"},
    "OfappPortSaturated": {f"ofapp_port_transmit_bytes_total{{{PORT}}}": "0+7000000000x60"},
    "OfappTopologyUnstable": {f"ofapp_stp_topology_changes_total{{{BRIDGE}}}": "0+1x60"},
    "OfappGuardHoldsPort": {f'ofapp_stp_guard_active{{{PORT}, guard="bpdu-guard"}}': "1x60"},
    "OfappMulticastNearlyFull": {f"ofapp_mcast_entries{{{BRIDGE}}}": "95x60"},
    "OfappAggregationDown": {
        f"ofapp_lag_up{{{LAG}}}": "0x60",
        f"ofapp_lag_members_distributing{{{LAG}}}": "0x60",
    },
    "OfappAggregationDegraded": {f"ofapp_lag_members_distributing{{{LAG}}}": "1x60"},
    "OfappFabricMemberNotReady": {f"ofapp_fabric_member_ready{{{MEMBER}}}": "0x60"},
    "OfappFabricLinkUnused": {f"ofapp_fabric_link_carries{{{LINK}}}": "0x60"},
    "OfappFabricLinkFlaps": {f"ofapp_fabric_link_failures_total{{{LINK}}}": "0x30 1+1x30"},
    "OfappFabricPaused": {f"ofapp_fabric_paused{{{FABRIC}}}": "1x60"},
    "OfappMemberGone": {
        'ofapp_cluster_member{member="m2", state="ready", instance="m1"}': "1x10 stale",
        'ofapp_cluster_member{member="m2", state="gone", instance="m1"}': "_x11 0x60",
    },
    "OfappSwitchWithoutOwner": {
        'ofapp_cluster_bridge_owned{datapath_id="1", instance="m1"}': "0x60"
    },
    "OfappEtcdNodeGone": {'ofapp_cluster_etcd_node{node="a:2379", instance="m2"}': "0x60"},
    "OfappEtcdAlarm": {'ofapp_cluster_etcd_alarm{node="a:2379", alarm="NOSPACE"}': "1x60"},
    "OfappEtcdSlow": {'ofapp_cluster_etcd_answer_seconds{node="a:2379"}': "0.4x60"},
    "OfappEtcdKeysInvalid": {"ofapp_cluster_invalid_keys": "2x60"},
    "OfappConfigurationBehind": {'ofapp_cluster_config_behind{member="m1"}': "1x60"},
    "OfappClocksDiffer": {'ofapp_cluster_clock_seconds{job="ofapp", instance="m2"}': "1020+60x60"},
}


def alerts() -> dict[str, Any]:
    """The rules by their names."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def firing(name: str | None, changed: dict[str, str]) -> dict[str, Any]:
    """A test for promtool: with these series `name` fires after an hour, and nothing else does."""
    series = [{"series": own, "values": values} for own, values in (WELL | changed).items()]
    count = 'count by (alertname) (ALERTS{alertstate="firing"})'
    wanted = [] if name is None else [{"labels": f'{{alertname="{name}"}}', "value": 1}]
    test = {"expr": count, "eval_time": "60m", "exp_samples": wanted}
    return {"interval": "1m", "input_series": series, "promql_expr_test": [test]}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_each_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    tests = [firing(None, {}), *(firing(name, series) for name, series in ILL.items())]
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": tests}))
    for words in (("check", "rules", RULES), ("test", "rules", file)):
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_test_and_a_runbook() -> None:
    known = alerts()
    assert known.keys() == ILL.keys()
    headings = re.findall(r"^## (\w+)$", site.text("alerts"), re.M)
    assert headings == list(known)
    for name, rule in known.items():
        assert rule["annotations"]["runbook"] == f"/guide/alerts.html#{name.lower()}"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_names_and_units_are_as_prometheus_wants_them() -> None:
    text = create_app(NETWORKS["lag"]()).test_client().get("/metrics").text
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def expressions() -> Iterator[str]:
    """All that is asked of Prometheus."""
    yield from (rule["expr"] for rule in alerts().values())
    for name in DASHBOARDS:
        made = json.loads((HERE / f"{name}.json").read_text())
        yield from (t["expr"] for panel in made["panels"] for t in panel["targets"])
        for variable in made["templating"]["list"]:
            if variable["type"] == "query":
                yield variable["query"]["query"]


def of_a_cluster() -> Iterator[str]:
    """The names of what a member tells; tests/cluster has a real one."""
    source = SimpleNamespace(network=SimpleNamespace(reloader=SimpleNamespace(sharing=None)))
    source.surface = SimpleNamespace(
        members=SimpleNamespace(all=list),
        claims=SimpleNamespace(all=list, counts={}),
        renewed=lambda: 0.0,
        invalid={},
        refused={},
        cluster=SimpleNamespace(
            owned=dict,
            history=SimpleNamespace(number=0),
            lease_keeper=SimpleNamespace(holds=True),
            health=SimpleNamespace(nodes=()),
        ),
    )
    yield from (family.name for family in metrics_cluster.collect(source))  # type: ignore[arg-type]


def test_every_metric_is_one_that_there_is() -> None:
    known = set(of_a_cluster())
    for name, network in NETWORKS.items():
        client = create_app(network()).test_client()
        token = {"Authorization": f"Bearer {SECRETS['viewer']}"} if name == "closed" else {}
        text = client.get("/metrics", headers=token).text
        for family in text_string_to_metric_families(text):
            known |= {family.name, f"{family.name}_total", f"{family.name}_bucket"}
    asked = {name for text in expressions() for name in re.findall(r"\bofapp_\w+", text)}
    assert len(asked) > 30
    assert asked - known == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_as_it_is_made_and_as_grafana_wants_it(name: str, tmp_path: Path) -> None:
    shutil.copy(HERE / "dashboards", tmp_path)
    subprocess.run([tmp_path / "dashboards"], check=True)
    made = (tmp_path / f"{name}.json").read_text()
    assert (HERE / f"{name}.json").read_text() == made, "run deploy/monitoring/dashboards"
    panels = json.loads(made)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        across, down = (range(place[at], place[at] + place[size]) for at, size in ("xw", "yh"))
        cells = {(x, y) for x in across for y in down}
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
