"""faucet.yaml; the samples pass Faucet 1.10.12's own check_faucet_config."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.migrate.faucet import DP, PORT, VLAN
from tests.unit.migrate.conftest import Import, Imported

MAIN = """\
include: [acls.yaml]
vlans:
  office: {vid: 100, description: "the office", max_hosts: 20}
  guest: {vid: 200, faucet_vips: ["10.0.200.254/24"]}
dps:
  sw1:
    dp_id: 0x1
    timeout: 400
    interfaces:
      1: {name: h1, native_vlan: office, acls_in: [web, rest], max_hosts: 3}
      uplink:
        number: 2
        tagged_vlans: [office, 300]
        native_vlan: guest
        unicast_flood: false
      3: {name: span, mirror: [h1], output_only: true}
      4: {name: l1, lacp: 1, lacp_active: true, tagged_vlans: [office]}
      5: {name: l2, lacp: 1, lacp_active: true, tagged_vlans: [office]}
      6: {name: dns, native_vlan: guest, acl_in: redirect}
    interface_ranges:
      6-8,10: {native_vlan: office, permanent_learn: true}
"""
ACLS = """\
acls:
  web:
    - rule: {dl_type: 0x800, nw_proto: 6, tcp_dst: 25, actions: {allow: 0}}
  rest:
    - rule: {icmpv6_type: 134, ip_proto: 58, eth_type: 0x86dd, actions: {allow: 0}}
    - rule: {actions: {allow: 1}}
  redirect:
    - rule: {dl_type: 0x800, nw_proto: 17, udp_dst: 53, actions: {output: {port: 1}}}
    - rule: {actions: {allow: 1}}
"""
DP1 = "0000000000000001"


@pytest.fixture
def done(tmp_path: Path, imported: Import) -> Imported:
    (tmp_path / "faucet.yaml").write_text(MAIN)
    (tmp_path / "acls.yaml").write_text(ACLS)
    return imported("faucet", tmp_path / "faucet.yaml")


def test_ports_by_name_number_and_range(done: Imported) -> None:
    ports = done.bridge(DP1)["ports"]
    assert ports["1"]["vlan"] == 100
    assert ports["1"]["description"] == "h1"
    assert (ports["1"]["fdb_max_learned"], ports["1"]["over_limit"]) == (3, "drop")
    assert ports["2"] == {
        "description": "uplink",
        "vlan": {"trunk": [100, 200, 300], "native": 200},
        "flood": False,
    }
    assert ports["6"]["vlan"] == 200  # the interface goes before the range
    assert ports["6"]["sticky"] is True
    assert ports["7"] == ports["8"] == ports["10"] == {"vlan": 100, "sticky": True}


def test_vlans_with_names_and_limits(done: Imported) -> None:
    vlans = done.bridge(DP1)["vlans"]
    assert vlans["100"] == {
        **{"name": "office", "description": "the office"},
        **{"fdb_max_learned": 20, "over_limit": "drop"},
    }
    assert vlans["200"] == {"name": "guest"}
    assert done.reports("faucet.yaml:4:", "faucet_vips", "does not route")
    assert done.bridge(DP1)["ageing_time"] == 400


def test_lists_of_a_port_are_one(done: Imported) -> None:
    section = done.bridge(DP1)
    assert section["ports"]["1"]["acl"] == "web.rest"
    tcp = {"eth_type": "ipv4", "ip_proto": "tcp", "tcp_dst": "25"}
    advertisement = {"eth_type": "ipv6", "ip_proto": "icmpv6", "icmp_type": 134}
    assert section["acls"]["web.rest"] == [
        {"match": tcp, "action": "drop"},
        {"match": advertisement, "action": "drop"},
        {"action": "allow"},
    ]


def test_a_list_with_a_rule_without_equivalent_is_not_written(done: Imported) -> None:
    assert "acl" not in done.bridge(DP1)["ports"]["6"]
    assert done.reports("acls.yaml:7: acls.redirect, rule 1", "output")
    assert done.reports("faucet.yaml:19: acl_in: redirect", "the port has none")


def test_aggregations_and_mirrors(done: Imported) -> None:
    section = done.bridge(DP1)
    assert section["lags"] == {"lag1": {"members": ["l1", "l2"]}}
    assert section["ports"]["lag1"]["vlan"] == {"trunk": 100}
    assert not {"4", "5"} & section["ports"].keys()
    assert section["mirrors"] == {"mirror-3": {"to": "span", "both": ["h1"]}}
    assert done.reports("faucet.yaml:16: mirror", "interfaces have them")


def test_faucet_runs_no_spanning_tree_unless_loops_are_expected(
    done: Imported, tmp_path: Path, imported: Import
) -> None:
    assert done.bridge(DP1)["stp"] == {"enabled": False}
    file = tmp_path / "faucet.yaml"
    file.write_text("dps: {s: {dp_id: 1, interfaces: {1: {native_vlan: 5, loop_protect: true}}}}")
    again = imported("faucet", file)
    assert "stp" not in again.bridge(DP1)  # on, as by default
    assert again.bridge(DP1)["ports"]["1"]["stp"] == {"bpdu_guard": True}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("dps: {s: {interfaces: {}}}", "dps.s: has no `dp_id`"),
        ("vlans: {}", "no `dps` there"),
        ("dps: {s: {dp_id: 1, interfaces: {1: {native_vlan: x}}}}", ":1: native_vlan: x: must be"),
        ("dps: {s: {dp_id: 1, interfaces: {e: {}}}}", "interfaces.e: has no `number`"),
        ("dps: {s: {dp_id: 1, interface_ranges: {a-b: {}}}}", "must be as 1-6,8,10-12"),
        ("dps: {s: {dp_id: 1, interfaces: {1: {acl_in: z}}}}", "a list in `acls`"),
        ("dps: [", "faucet.yaml:2: not YAML"),
        ("include: [none.yaml]", "none.yaml: No such file"),
        ("include: [faucet.yaml]", "included twice"),
        ("dps: 5", "dps: must be a section"),
    ],
)
def test_input_that_cannot_be_read(tmp_path: Path, imported: Import, text: str, error: str) -> None:
    (tmp_path / "faucet.yaml").write_text(text)
    done = imported("faucet", tmp_path / "faucet.yaml")
    assert (done.status, done.out) == (1, "")
    assert error in done.err


def test_secrets_are_never_copied(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "faucet.yaml"
    file.write_text("dps: {s: {dp_id: 1, dot1x: {radius_secret: hunter2, radius_ip: 192.0.2.1}}}")
    done = imported("faucet", file, "--all")
    assert "secret_file" in done.err
    assert "hunter2" not in done.out + done.err


def test_ports_with_802_1x_are_controlled(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "faucet.yaml"
    file.write_text(
        "vlans: {v: {vid: 5, dot1x_assigned: true}}\n"
        "dps:\n"
        "  s:\n"
        "    dp_id: 1\n"
        "    dot1x: {nfv_intf: e, nfv_sw_port: 9, radius_ip: 192.0.2.1, radius_port: 1645,"
        " radius_secret: x, noauth_acl: few}\n"
        "    interfaces:\n"
        "      1: {native_vlan: v, dot1x: true}\n"
        "      2: {native_vlan: v, dot1x: true, dot1x_mab: true, dot1x_dyn_acl: true}\n"
        "      3: {native_vlan: v, dot1x: true, lacp: 1}\n"
        "      4: {native_vlan: v, dot1x: false}\n"
    )
    done = imported("faucet", file)
    settings = done.bridge(DP1)
    assert settings["port_access"] == {"enabled": True, "servers": "192.0.2.1:1645"}
    ports = {key: port.get("port_access") for key, port in settings["ports"].items()}
    each = {"host_mode": "multi_auth"}
    assert ports == {
        "1": {"authentication": "dot1x", **each},
        "2": {"authentication": "dot1x_mab", **each},
        "4": None,
        "lag1": None,
    }
    assert done.reports("dot1x", "a member of an aggregation is no port of hosts")
    assert done.reports("noauth_acl", "Filter-Id")


@pytest.mark.parametrize("where", ["dp", "port", "vlan", "top"])
def test_unknown_keys_are_reported(tmp_path: Path, imported: Import, where: str) -> None:
    extra = {name: "frobnicate: 5" if name == where else "" for name in ("dp", "port", "vlan")}
    text = (
        (
            f"vlans: {{v: {{vid: 5, {extra['vlan']}}}}}\n"
            f"dps: {{s: {{dp_id: 1, {extra['dp']}\n"
            f"  , interfaces: {{1: {{native_vlan: v, {extra['port']}}}}}}}}}\n"
        )
        .replace(", }", "}")
        .replace("1, \n", "1\n")
    )
    file = tmp_path / "faucet.yaml"
    file.write_text(text + ("frobnicate: 5\n" if where == "top" else ""))
    assert imported("faucet", file).reports("frobnicate: 5", "unknown")


FAUCET = {
    "DP": "dp_id name interfaces interface_ranges priority_offset lowest_priority low_priority"
    " high_priority highest_priority cookie timeout description hardware arp_neighbor_timeout"
    " nd_neighbor_timeout ofchannel_log stack ignore_learn_ins drop_broadcast_source_address"
    " drop_spoofed_faucet_mac group_table max_hosts_per_resolve_cycle max_host_fib_retry_count"
    " max_resolve_backoff_time packetin_pps slowpath_pps learn_jitter learn_ban_timeout"
    " advertise_interval fast_advertise_interval proactive_learn_v4 proactive_learn_v6"
    " use_idle_timeout lldp_beacon metrics_rate_limit_sec faucet_dp_mac combinatorial_port_flood"
    " dp_acls dot1x table_sizes min_wildcard_table_size max_wildcard_table_size"
    " port_table_scale_factor global_vlan cache_update_guard_time use_classification"
    " egress_pipeline strict_packet_in_cookie multi_out lacp_timeout idle_dst",
    "Port": "number name description enabled permanent_learn unicast_flood mirror native_vlan"
    " tagged_vlans acl_in acls_in stack max_hosts hairpin hairpin_unicast lacp lacp_active"
    " lacp_collect_and_distribute lacp_unselected lacp_selected lacp_standby lacp_passthrough"
    " lacp_resp_interval lacp_port_priority lacp_port_id loop_protect loop_protect_external"
    " output_only lldp_beacon opstatus_reconf receive_lldp lldp_peer_mac dot1x dot1x_acl"
    " dot1x_mab dot1x_dyn_acl max_lldp_lost restricted_bcast_arpnd coprocessor"
    " count_untag_vlan_miss",
    "VLAN": "name description acl_in acls_in acl_out acls_out faucet_vips faucet_mac"
    " unicast_flood routes max_hosts vid proactive_arp_limit proactive_nd_limit"
    " targeted_gw_resolution minimum_ip_size_check reserved_internal_vlan dot1x_assigned"
    " edge_learn_stack_root",
}
"""All options of Faucet 1.10.12 (`defaults_types` of its classes)."""


def test_each_option_of_faucet_is_known() -> None:
    for name, rules in (("DP", DP), ("Port", PORT), ("VLAN", VLAN)):
        assert {*FAUCET[name].split()} - rules.keys() == set(), name
