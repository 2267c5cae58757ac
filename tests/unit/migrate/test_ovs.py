"""Open vSwitch's bridges, by what ovs-vsctl and ovs-ofctl print (3.1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ofapp.migrate.ovs import BRIDGE, INTERFACE, PORT
from tests.unit.migrate.conftest import Import, Imported

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


def uuid(name: str) -> list[str]:
    return ["uuid", name]


def many(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else ["set", values]


class Saved:
    """A directory with the tables of a bridge br0."""

    def __init__(self, directory: Path, run: Import) -> None:
        self._directory = directory
        self._run = run
        self._ports: dict[str, dict[str, Any]] = {}
        self._interfaces: dict[str, dict[str, Any]] = {}
        self._mirrors: dict[str, dict[str, Any]] = {}
        self.flows = " priority=0 actions=NORMAL\n"
        self.fdb = " port  VLAN  MAC                Age\n"
        self.port("br0")

    def port(self, name: str, members: tuple[str, ...] = (), **columns: Any) -> None:
        for member in members or (name,):
            number = 65534 if member == "br0" else len(self._interfaces)
            self._interfaces[member] = {"name": member, "type": "", "ofport": number}
        self._ports[name] = {
            **{"name": name, "interfaces": many([uuid(f"i-{m}") for m in members or (name,)])},
            **{"tag": many([]), "trunks": many([]), "vlan_mode": many([])},
            **{"lacp": many([]), "bond_mode": many([]), "other_config": ["map", []]},
            "protected": False,
            **columns,
        }

    def mirror(self, name: str, **columns: Any) -> None:
        self._mirrors[name] = {
            **{"name": name, "output_port": many([]), "output_vlan": many([])},
            **{"select_all": False, "select_src_port": many([]), "select_dst_port": many([])},
            **{"select_vlan": many([]), "snaplen": many([])},
            **columns,
        }

    def load(self, *options: str, **columns: Any) -> Imported:
        row = {
            **{"name": "br0", "ports": many([uuid(f"p-{name}") for name in self._ports])},
            **{"mirrors": many([uuid(f"m-{name}") for name in self._mirrors])},
            **{"stp_enable": False, "rstp_enable": False, "mcast_snooping_enable": False},
            **{"controller": many([]), "protocols": many([]), "fail_mode": many([])},
            **{"other_config": ["map", []]},
            **columns,
        }
        self._table("bridge", {"b": row})
        self._table("port", {f"p-{name}": row for name, row in self._ports.items()})
        self._table("interface", {f"i-{name}": row for name, row in self._interfaces.items()})
        self._table("mirror", {f"m-{name}": row for name, row in self._mirrors.items()})
        (self._directory / "ovs-flows-br0.txt").write_text(self.flows)
        (self._directory / "ovs-fdb-br0.txt").write_text(self.fdb)
        return self._run("ovs", "--from", self._directory, *options)

    def _table(self, name: str, rows: dict[str, dict[str, Any]]) -> None:
        headings = sorted({key for row in rows.values() for key in row})
        data = [[uuid(key), *(row.get(h, many([])) for h in headings)] for key, row in rows.items()]
        table = {"headings": ["_uuid", *headings], "data": data}
        (self._directory / f"ovs-{name}.json").write_text(json.dumps(table))


@pytest.fixture
def saved(tmp_path: Path, imported: Import) -> Saved:
    return Saved(tmp_path, imported)


def test_a_plain_bridge_is_one_without_protocols(saved: Saved) -> None:
    saved.port("e1")
    done = saved.load()
    assert done.bridge() == {
        "stp": {"enabled": False},
        "multicast": {"mcast_snooping": False},
        "ports": {"LOCAL": {}, "e1": {}},
    }
    assert "Without equivalent" not in done.err
    assert done.reports("ovs-vsctl set-fail-mode br0 secure")


@pytest.mark.parametrize(
    ("columns", "vlan"),
    [
        ({"tag": 10}, 10),
        ({"tag": 10, "vlan_mode": "access"}, 10),
        ({"trunks": ["set", [10, 20, 21]]}, {"trunk": [10, "20-21"]}),
        ({"tag": 5, "vlan_mode": "native-untagged"}, {"trunk": "all", "native": 5}),
        (
            {"tag": 5, "trunks": 6, "vlan_mode": "native-tagged"},
            {"trunk": "5-6", "native": 5, "native_tagged": True},
        ),
        ({"vlan_mode": "trunk"}, "transparent"),
    ],
)
def test_vlans(saved: Saved, columns: dict[str, Any], vlan: object) -> None:
    saved.port("e1", **columns)
    assert saved.load().bridge()["ports"]["e1"].get("vlan", "transparent") == vlan


def test_a_tunnel_of_tags_is_shut_and_not_opened(saved: Saved) -> None:
    saved.port("e1", tag=10, vlan_mode="dot1q-tunnel")
    done = saved.load()
    assert done.bridge()["ports"]["e1"] == {"shutdown": True}
    assert done.reports("vlan_mode: dot1q-tunnel", "802.1ad")


def test_rstp_and_snooping_with_what_is_turned_off_in_open_vswitch(saved: Saved) -> None:
    config = [["rstp-priority", "4096"], ["rstp-ageing-time", "9"], ["mac-aging-time", "600"]]
    port = [["rstp-path-cost", "99"], ["rstp-port-admin-edge", "true"], ["mystery", "1"]]
    saved.port("e1", other_config=["map", port], protected=True)
    done = saved.load(
        rstp_enable=True, mcast_snooping_enable=True, other_config=["map", config], puzzle=3
    )
    assert done.bridge()["stp"] == {"priority": 4096}
    assert done.bridge()["ageing_time"] == 600
    assert done.bridge()["multicast"] == {"mcast_flood_unregistered": True}
    assert done.bridge()["ports"]["e1"] == {
        "isolated": True,
        "stp": {"path_cost": 99, "admin_edge": True},
    }
    assert done.reports("ovs-vsctl set Bridge br0 rstp_enable=false mcast_snooping_enable=false")
    assert done.reports("rstp-ageing-time: 9")
    assert done.reports("e1: other_config:mystery: 1", "unknown")
    assert done.reports("br0: puzzle: 3", "unknown")


@pytest.mark.parametrize(
    ("columns", "lag"),
    [
        ({"lacp": "active", "bond_mode": "balance-tcp"}, {"hash": "layer3+4"}),
        ({"lacp": "passive", "bond_mode": "balance-slb"}, {"lacp": "passive", "hash": "layer2"}),
        ({"bond_mode": "balance-slb"}, {"lacp": "off", "max_links": 1}),
        ({}, {"lacp": "off", "max_links": 1}),
        (
            {
                **{"lacp": "active", "bond_mode": "balance-tcp"},
                "other_config": ["map", [["lacp-time", "fast"]]],
            },
            {"hash": "layer3+4", "rate": "fast"},
        ),
    ],
)
def test_bonds(saved: Saved, columns: dict[str, Any], lag: dict[str, Any]) -> None:
    saved.port("bond0", ("e1", "e2"), **columns)
    done = saved.load()
    assert done.bridge()["lags"]["bond0"] == {"members": ["e1", "e2"], **lag}
    assert done.reports("ovs-vsctl del-port br0 bond0 -- add-port br0 e1 -- add-port br0 e2")


def test_mirrors(saved: Saved) -> None:
    for name in ("e1", "e2", "mon"):
        saved.port(name)
    sources = ["set", [uuid("p-e1"), uuid("p-e2")]]
    saved.mirror("m", output_port=uuid("p-mon"), select_src_port=sources)
    saved.mirror("some", output_port=uuid("p-mon"), select_all=True, select_vlan=10)
    saved.mirror("rspan", output_vlan=99, select_all=True)
    done = saved.load()
    assert done.bridge()["mirrors"] == {"m": {"to": "mon", "ingress": ["e1", "e2"]}}
    assert done.reports("some: select_vlan: 10", "acls")
    assert done.reports("rspan: output_vlan: 99", "RSPAN")
    assert done.reports("ovs-vsctl clear Bridge br0 mirrors")


def test_static_addresses(saved: Saved) -> None:
    saved.port("e1")
    saved.fdb += "    1    10  02:00:00:00:00:55  static\n    1     0  02:00:00:00:00:56    3\n"
    assert saved.load().bridge()["static"] == [
        {"mac": "02:00:00:00:00:55", "vlan": 10, "port": "e1"}
    ]


FLOWS = """\
 priority=200,tcp,in_port=e1,nw_src=10.0.0.0/8,tp_dst=80 actions=NORMAL
 priority=150,tcp,in_port=e1,tp_dst=80 actions=drop
 priority=120,arp,in_port=e2,arp_spa=10.0.0.1 actions=NORMAL
 priority=110,in_port=e2,tcp,tp_dst=0x50/0xfff0 actions=drop
 priority=100,in_port=e3,dl_src=02:00:00:00:00:01 actions=mod_vlan_vid:5,NORMAL
 table=2, priority=1 actions=drop
 priority=0 actions=NORMAL
"""


def test_flows_that_only_drop_or_allow_are_access_lists(saved: Saved) -> None:
    for name in ("e1", "e2", "e3"):
        saved.port(name)
    saved.flows = FLOWS
    done = saved.load()
    tcp = {"eth_type": "ipv4", "ip_proto": "tcp"}
    assert done.bridge()["acls"] == {
        "flows-e1": [
            {"match": {**tcp, "ip_src": "10.0.0.0/8", "tcp_dst": "80"}, "action": "allow"},
            {"match": {**tcp, "tcp_dst": "80"}, "action": "drop"},
            {"action": "allow"},
        ]
    }
    ports = done.bridge()["ports"]
    assert {name for name, port in ports.items() if "acl" in port} == {"e1"}
    assert done.reports("br0.txt:4:", "tp_dst=0x50/0xfff0", "do not match")
    assert done.reports("br0.txt:3:", "another flow of the port")
    assert done.reports("br0.txt:5:", "mod_vlan_vid", "no actions beside")
    assert done.reports("br0.txt:6:", "table 2")


def test_a_bridge_whose_flows_end_with_a_drop_keeps_that(saved: Saved) -> None:
    saved.port("e1")
    saved.flows = " priority=5,arp actions=NORMAL\n priority=0 actions=drop\n"
    done = saved.load()
    assert done.bridge()["ports"]["e1"]["acl"] == done.bridge()["ports"]["LOCAL"]["acl"]
    (rules,) = done.bridge()["acls"].values()
    assert rules == [{"match": {"eth_type": "arp"}, "action": "allow"}, {"action": "drop"}]


def test_a_bridge_with_flows_in_other_tables_alone_gets_no_access_list(saved: Saved) -> None:
    saved.port("e1")
    saved.flows = " table=2, priority=1 actions=drop\n"
    done = saved.load()
    assert "acls" not in done.bridge()
    assert done.reports("br0.txt:1:", "table 2")


def test_a_file_that_holds_no_table_is_named(
    saved: Saved, tmp_path: Path, imported: Import
) -> None:
    saved.load()
    (tmp_path / "ovs-port.json").write_text('{"x": 1}')
    done = imported("ovs", "--from", tmp_path)
    assert (done.status, done.out) == (1, "")
    assert "ovs-port.json: not a table" in done.err
    (tmp_path / "ovs-flows-br0.txt").write_text("hello\n")
    saved_again = Saved(tmp_path, imported)
    saved_again.flows = "hello\n"
    assert "ovs-flows-br0.txt:1: not a flow" in saved_again.load().err


@pytest.mark.skipif(not SCHEMA.exists(), reason="Open vSwitch's schema is not installed")
@pytest.mark.parametrize(
    ("table", "rules"), [("Bridge", BRIDGE), ("Port", PORT), ("Interface", INTERFACE)]
)
def test_each_column_of_open_vswitch_is_known(table: str, rules: dict[str, object]) -> None:
    columns = json.loads(SCHEMA.read_text())["tables"][table]["columns"]
    assert columns.keys() - rules.keys() == set()
