"""Linux bridges, by JSON in the form of iproute2 6.1 (`ip -j -d link`, `bridge -j`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.migrate.conftest import Import, Imported

BRIDGE: dict[str, Any] = {
    **{"forward_delay": 1500, "hello_time": 200, "max_age": 2000, "ageing_time": 30000},
    **{"stp_state": 0, "priority": 32768, "vlan_filtering": 0, "vlan_protocol": "802.1Q"},
    **{"bridge_id": "8000.0:0:0:0:0:0", "root_id": "8000.0:0:0:0:0:0", "root_port": 0},
    **{"root_path_cost": 0, "topology_change": 0, "topology_change_detected": 0},
    **{"hello_timer": 0.0, "tcn_timer": 0.0, "topology_change_timer": 0.0, "gc_timer": 9.9},
    **{"vlan_default_pvid": 1, "vlan_stats_enabled": 0, "vlan_stats_per_port": 0},
    **{"group_fwd_mask": "0", "group_addr": "01:80:c2:00:00:00", "mcast_snooping": 1},
    **{"no_linklocal_learn": 0, "mcast_vlan_snooping": 0, "mcast_router": 1},
    **{"mcast_query_use_ifaddr": 0, "mcast_querier": 0, "mcast_hash_elasticity": 16},
    **{"mcast_hash_max": 4096, "mcast_last_member_cnt": 2, "mcast_startup_query_cnt": 2},
    **{"mcast_last_member_intvl": 100, "mcast_membership_intvl": 26000},
    **{"mcast_querier_intvl": 25500, "mcast_query_intvl": 12500},
    **{"mcast_query_response_intvl": 1000, "mcast_startup_query_intvl": 3124},
    **{"mcast_stats_enabled": 0, "mcast_igmp_version": 2, "mcast_mld_version": 1},
    **{"nf_call_iptables": 0, "nf_call_ip6tables": 0, "nf_call_arptables": 0},
}
PORT: dict[str, Any] = {
    **{"state": "forwarding", "priority": 32, "cost": 2, "hairpin": False, "guard": False},
    **{"root_block": False, "fastleave": False, "learning": True, "flood": True},
    **{"id": "0x8001", "no": "0x1", "designated_port": 32769, "designated_cost": 0},
    **{"bridge_id": "8000.0:0:0:0:0:0", "root_id": "8000.0:0:0:0:0:0", "hold_timer": 0.0},
    **{"message_age_timer": 0.0, "forward_delay_timer": 0.0, "topology_change_ack": 0},
    **{"config_pending": 0, "proxy_arp": False, "proxy_arp_wifi": False},
    **{"multicast_router": 1, "mcast_flood": True, "bcast_flood": True},
    **{"mcast_to_unicast": False, "neigh_suppress": False, "group_fwd_mask": "0"},
    **{"group_fwd_mask_str": "0x0", "vlan_tunnel": False, "isolated": False, "locked": False},
}


class Saved:
    """A directory with the commands' output."""

    def __init__(self, directory: Path, run: Import) -> None:
        self._directory = directory
        self._run = run
        self.links: list[dict[str, Any]] = []
        self.vlans: list[dict[str, Any]] = []
        self.fdb: list[dict[str, Any]] = []
        self.mdb: list[dict[str, Any]] = []

    def bridge(self, **changed: Any) -> None:
        info = {"info_kind": "bridge", "info_data": BRIDGE | changed}
        self.links.append({"ifname": "br0", "linkinfo": info})

    def port(self, name: str, kind: str = "veth", **changed: Any) -> None:
        info = {"info_kind": kind, "info_slave_kind": "bridge", "info_slave_data": PORT | changed}
        self.links.append({"ifname": name, "master": "br0", "linkinfo": info})

    def load(self, *options: str) -> Imported:
        files = {"ip-link": self.links, "bridge-vlan": self.vlans, "bridge-fdb": self.fdb}
        for name, values in {**files, "bridge-mdb": self.mdb}.items():
            (self._directory / f"{name}.json").write_text(json.dumps(values))
        return self._run("linux", "--from", self._directory, *options)


@pytest.fixture
def saved(tmp_path: Path, imported: Import) -> Saved:
    return Saved(tmp_path, imported)


def test_a_bridge_with_the_kernels_defaults_loses_nothing(saved: Saved) -> None:
    saved.bridge()
    saved.port("e1")
    done = saved.load()
    assert done.bridge() == {
        "stp": {"enabled": False},
        "multicast": {"mcast_igmp_version": 2, "mcast_mld_version": 1},
        "ports": {"LOCAL": {}, "e1": {}},
    }
    assert "Without equivalent" not in done.out + done.err


def test_spanning_tree_with_its_timers_costs_and_guards(saved: Saved) -> None:
    saved.bridge(stp_state=1, priority=4096, hello_time=100, max_age=600, forward_delay=400)
    saved.port("e1", priority=16, cost=50, guard=True, state="blocking")
    saved.port("e2", root_block=True)
    done = saved.load()
    stp = {"priority": 4096, "hello_time": 1.0, "max_age": 6.0, "forward_delay": 4.0}
    assert done.bridge()["stp"] == stp
    assert done.bridge()["ports"]["e1"] == {
        "stp": {"priority": 64, "path_cost": 50, "bpdu_guard": True}
    }
    assert done.bridge()["ports"]["e2"] == {"stp": {"root_guard": True}}
    assert done.reports("stp_state: 1", "RSTP")


def test_timers_of_a_bridge_without_spanning_tree_are_not_needed(saved: Saved) -> None:
    saved.bridge(forward_delay=0)
    done = saved.load("--all")
    assert done.bridge()["stp"] == {"enabled": False}
    assert "forward_delay: 0: spanning tree is off" in done.err


def test_a_value_that_ofapp_refuses_is_reported_with_its_bounds(saved: Saved) -> None:
    saved.bridge(stp_state=1, hello_time=900)
    done = saved.load()
    assert "hello_time" not in done.bridge().get("stp", {})
    assert done.reports("br0: hello_time: 900", "not between 1 and 2 s")


VLANS = [
    {"ifname": "access", "vlans": [{"vlan": 10, "flags": ["PVID", "Egress Untagged"]}]},
    {
        "ifname": "native",
        "vlans": [
            {"vlan": 1, "flags": ["PVID", "Egress Untagged"]},
            {"vlan": 10},
            {"vlan": 20, "vlanEnd": 30},
        ],
    },
    {"ifname": "tagged", "vlans": [{"vlan": 5, "flags": ["PVID"]}, {"vlan": 6}]},
    {
        "ifname": "asym",
        "vlans": [
            {"vlan": 7, "flags": ["PVID", "Egress Untagged"]},
            {"vlan": 8, "flags": ["Egress Untagged"]},
        ],
    },
    {"ifname": "br0", "vlans": [{"vlan": 1, "flags": ["PVID", "Egress Untagged"]}]},
]


def test_vlans_of_ports_and_of_the_bridge_itself(saved: Saved) -> None:
    saved.bridge(vlan_filtering=1)
    for name in ("access", "native", "tagged", "asym", "none"):
        saved.port(name)
    saved.vlans = VLANS
    done = saved.load()
    ports = done.bridge()["ports"]
    assert ports["access"] == {"vlan": 10}
    assert ports["native"] == {"vlan": {"trunk": [1, 10, "20-30"], "native": 1}}
    assert ports["tagged"] == {"vlan": {"trunk": "5-6", "native": 5, "native_tagged": True}}
    assert ports["LOCAL"] == {"vlan": 1}
    assert ports["asym"] == {"vlan": 7}
    assert done.reports("asym: Egress Untagged: [8]", "left out")
    assert ports["none"] == {"shutdown": True}
    assert done.reports("none: vlans: []", "no VLAN")


def test_without_vlan_filtering_all_ports_are_transparent(saved: Saved) -> None:
    saved.bridge()
    saved.port("access")
    saved.vlans = VLANS
    assert saved.load().bridge()["ports"] == {"LOCAL": {}, "access": {}}


def test_static_addresses_and_permanent_groups(saved: Saved) -> None:
    saved.bridge(vlan_filtering=1)
    saved.port("access")
    saved.vlans = VLANS
    host = {"ifname": "access", "flags": [], "master": "br0"}
    saved.fdb = [
        host | {"mac": "02:00:00:00:00:11", "vlan": 10, "state": "static"},
        host | {"mac": "02:00:00:00:00:12", "vlan": 10, "state": ""},
        host | {"mac": "02:00:00:00:00:13", "state": "permanent"},
        host | {"mac": "02:00:00:00:00:14", "vlan": 10, "state": "static", "dst": "192.0.2.1"},
        {"mac": "33:33:00:00:00:01", "ifname": "access", "flags": ["self"], "state": "permanent"},
    ]
    entry = {"dev": "br0", "port": "access", "vid": 10, "flags": [], "protocol": "static"}
    saved.mdb = [
        {
            "mdb": [
                entry | {"grp": "239.1.1.1", "state": "permanent"},
                entry | {"grp": "239.1.1.2", "state": "permanent", "src": "192.0.2.9"},
                entry | {"grp": "239.1.1.3", "state": "temp"},
            ],
            "router": {},
        }
    ]
    done = saved.load()
    assert done.bridge()["static"] == [{"mac": "02:00:00:00:00:11", "vlan": 10, "port": "access"}]
    assert done.bridge()["mdb"] == [
        {"group": "239.1.1.1", "port": "access", "vlan": 10},
        {"group": "239.1.1.2", "port": "access", "vlan": 10, "source": "192.0.2.9"},
    ]
    assert done.reports("02:00:00:00:00:14", "VXLAN")


def test_a_bond_becomes_an_aggregation(saved: Saved) -> None:
    saved.bridge()
    saved.port("bond0", "bond")
    data = {"mode": "802.3ad", "ad_lacp_rate": "fast", "xmit_hash_policy": "layer3+4"}
    saved.links[-1]["linkinfo"]["info_data"] = data
    saved.links += [{"ifname": name, "master": "bond0", "linkinfo": {}} for name in ("e1", "e2")]
    done = saved.load()
    lag = done.bridge()["lags"]["bond0"]
    assert lag == {"members": ["e1", "e2"], "rate": "fast", "hash": "layer3+4"}
    assert done.reports("dissolve the bond bond0")


@pytest.mark.parametrize(
    ("where", "key", "value", "alternative"),
    [
        ("bridge", "nf_call_iptables", 1, "acls"),
        ("bridge", "ageing_time", 0, "learning: false"),
        ("bridge", "group_fwd_mask", "0x4000", "never forwarded"),
        ("port", "vlan_tunnel", True, "type vxlan"),
        ("port", "neigh_suppress", True, "first_hop"),
        ("port", "flux_capacitor", 88, "unknown to `ofapp import`"),
        ("bridge", "flux_capacitor", 88, "unknown to `ofapp import`"),
    ],
)
def test_what_has_no_equivalent_is_reported(
    saved: Saved, where: str, key: str, value: object, alternative: str
) -> None:
    saved.bridge(**{key: value} if where == "bridge" else {})
    saved.port("e1", **{key: value} if where == "port" else {})
    name = "br0" if where == "bridge" else "e1"
    assert saved.load().reports(f"ip-link.json, {name}: {key}:", alternative)


def test_input_that_cannot_be_read_is_named_with_a_remedy(
    saved: Saved, tmp_path: Path, imported: Import
) -> None:
    missing = imported("linux", "--from", tmp_path)
    assert missing.status == 1
    assert "ip-link.json: No such file" in missing.err
    assert "ip -j -d link show >" in missing.err
    (tmp_path / "ip-link.json").write_text("{")
    assert "ip-link.json: not JSON" in imported("linux", "--from", tmp_path).err
    saved.bridge()
    other = saved.load("--bridge", "br7")
    assert (other.status, "no bridge br7 there; bridges are: br0" in other.err) == (1, True)


def test_the_host_without_a_vlan_is_reported(saved: Saved) -> None:
    saved.bridge(vlan_filtering=1)
    saved.port("access")
    saved.vlans = VLANS[:1]
    done = saved.load()
    assert done.bridge()["ports"] == {"LOCAL": {}, "access": {"vlan": 10}}
    assert done.reports("br0: vlans: []", "LOCAL is the bridge itself")


_ANY = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just([]) | st.just({})


@given(st.data())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_wrong_value_is_reported_or_an_error_and_no_traceback(
    tmp_path: Path, imported: Import, data: st.DataObject
) -> None:
    saved = Saved(tmp_path, imported)
    bridge = data.draw(st.sampled_from(sorted(BRIDGE)))
    port = data.draw(st.sampled_from(sorted(PORT)))
    saved.bridge(**{"vlan_filtering": 1, "stp_state": 1, bridge: data.draw(_ANY)})
    saved.port("access", **{port: data.draw(_ANY)})
    vlan = data.draw(st.sampled_from(["vlan", "vlanEnd", "flags", "other"]))
    saved.vlans = [{"ifname": "access", "vlans": [{"vlan": 10, vlan: data.draw(_ANY)}]}]
    entry = data.draw(st.sampled_from(["mac", "vlan", "state", "master"]))
    host = {"mac": "02:00:00:00:00:11", "ifname": "access", "vlan": 10, "master": "br0"}
    saved.fdb = [{**host, "state": "static", entry: data.draw(_ANY)}]
    done = saved.load()
    assert done.status in (0, 1)
    assert done.status == 1 or done.config.bridges
    assert done.status == 0 or ("Error" not in done.err and ".json" in done.err)


def test_an_existing_file_is_not_replaced(saved: Saved, tmp_path: Path) -> None:
    saved.bridge()
    file = tmp_path / "ofapp.yaml"
    file.write_text("mine")
    refused = saved.load("--output", str(file))
    assert (refused.status, file.read_text()) == (1, "mine")
    assert "--force" in refused.err
    assert saved.load("--output", str(file), "--force").status == 0
    assert "bridges:" in file.read_text()
