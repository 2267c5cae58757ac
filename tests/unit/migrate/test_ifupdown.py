"""/etc/network/interfaces of ifupdown, ifupdown2 (Proxmox VE) and Open vSwitch's package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.migrate.conftest import Import

CLASSIC = """\
auto br0
iface br0 inet static
    address 192.0.2.1/24
    bridge_ports eth0 eth1
    bridge_stp on
    bridge_bridgeprio 4096
    bridge_fd 4
    bridge_hello 1
    bridge_maxage 6
    bridge_pathcost eth0 50
    bridge_portprio eth1 16
    bridge_ageing 100
    bridge_waitport 5
    up ip route add 198.51.100.0/24 \\
        via 192.0.2.9
"""
PROXMOX = """\
iface eno1 inet manual

auto bond0
iface bond0 inet manual
	bond-slaves eno2 eno3
	bond-miimon 100
	bond-mode 802.3ad
	bond-lacp-rate 1
	bond-xmit-hash-policy layer3+4

iface eno4 inet manual
	bridge-access 20
	bridge-learning off

auto vmbr0
iface vmbr0 inet manual
	bridge-ports eno1 bond0 eno4
	bridge-stp off
	bridge-fd 0
	bridge-vlan-aware yes
	bridge-vids 10 20-30
	mstpctl-bpduguard eno1=yes

auto vmbr0.10
iface vmbr0.10 inet static
	address 192.0.2.2/24
"""
OVS = """\
iface vmbr1 inet manual
	ovs_type OVSBridge
	ovs_ports vlan5 bond1
	ovs_extra set bridge ${IFACE} rstp_enable=true other_config:rstp-priority=8192

iface vlan5 inet static
	ovs_type OVSIntPort
	ovs_bridge vmbr1
	ovs_options tag=5

iface bond1 inet manual
	ovs_type OVSBond
	ovs_bridge vmbr1
	ovs_bonds eno5 eno6
	ovs_options bond_mode=balance-tcp lacp=active tag=1 vlan_mode=native-untagged
	ovs_extra clear port bond1 qos
"""


def test_bridge_utils(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "interfaces"
    file.write_text(CLASSIC)
    done = imported("ifupdown", file)
    assert done.bridge() == {
        "ageing_time": 100,
        "stp": {"priority": 4096, "hello_time": 1, "max_age": 6, "forward_delay": 4},
        "ports": {"eth0": {"stp": {"path_cost": 50}}, "eth1": {"stp": {"priority": 64}}},
    }
    assert done.reports("interfaces:14: up: ip route add", "command")
    assert "waitport" not in done.err
    assert "interfaces:13: bridge-waitport: 5" in imported("ifupdown", file, "--all").err


def test_ifupdown2_with_vlans_and_a_bond(tmp_path: Path, imported: Import) -> None:
    (tmp_path / "interfaces.d").mkdir()
    (tmp_path / "interfaces.d" / "pve").write_text(PROXMOX)
    file = tmp_path / "interfaces"
    file.write_text("auto lo\niface lo inet loopback\n\nsource interfaces.d/*\n")
    section = imported("ifupdown", file).bridge("vmbr0")
    ports = section["ports"]
    trunk = {"trunk": [1, 10, "20-30"], "native": 1}
    assert ports["eno1"] == {"vlan": trunk, "stp": {"bpdu_guard": True}}
    assert ports["bond0"] == {"vlan": trunk}
    assert ports["eno4"] == {"vlan": 20, "learning": False}
    assert ports["LOCAL"] == {"vlan": {"trunk": [1, 10], "native": 1}}
    assert section["stp"] == {"enabled": False}
    assert section["lags"]["bond0"] == {
        **{"members": ["eno2", "eno3"], "rate": "fast", "hash": "layer3+4"},
    }


def test_stanzas_of_open_vswitch(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "interfaces"
    file.write_text(OVS)
    done = imported("ifupdown", file)
    section = done.bridge("vmbr1")
    assert section["stp"] == {"priority": 8192}
    assert section["ports"]["vlan5"] == {"vlan": 5}
    assert section["ports"]["bond1"] == {"vlan": {"trunk": "all", "native": 1}}
    assert section["lags"]["bond1"] == {"members": ["eno5", "eno6"], "hash": "layer3+4"}
    assert done.reports("clear port bond1 qos", "command")


@pytest.mark.parametrize(
    ("mode", "lag"),
    [
        ("active-backup", {"lacp": "off", "max_links": 1}),
        ("1", {"lacp": "off", "max_links": 1}),
        ("balance-alb", {"lacp": "off", "max_links": 1}),
        ("balance-xor", {"lacp": "off"}),
        ("4", {}),
    ],
)
def test_modes_of_bonds(
    tmp_path: Path, imported: Import, mode: str, lag: dict[str, object]
) -> None:
    file = tmp_path / "interfaces"
    bond = f"iface b inet manual\n  bond-mode {mode}\n  bond-slaves e1 e2\n"
    file.write_text(f"{bond}iface br0 inet manual\n  bridge_ports b\n")
    section = imported("ifupdown", file).bridge()
    assert section["lags"]["b"] == {"members": ["e1", "e2"], **lag}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("iface br0 inet manual\n  bridge_ports e\n  bridge_stp maybe\n", "3: bridge-stp: maybe"),
        (
            "iface br0 inet manual\n  bridge-vlan-aware yes\n  bridge_ports e\n  bridge-vids x\n",
            ":4:",
        ),
        ("address 10.0.0.1\n", "stands before the first `iface`"),
        ("iface e inet manual\n", "no interface with bridge_ports"),
        ("% for i in range(3):\niface br0 inet manual\n", "interfaces:1: a template"),
    ],
)
def test_input_that_cannot_be_read(tmp_path: Path, imported: Import, text: str, error: str) -> None:
    (tmp_path / "interfaces").write_text(text)
    done = imported("ifupdown", tmp_path / "interfaces")
    assert (done.status, done.out) == (1, "")
    assert error in done.err


def test_unknown_options_are_reported_and_secrets_hidden(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "interfaces"
    file.write_text(
        "iface br0 inet manual\n  bridge_ports e\n  bridge_flux 7\n  wpa-psk hunter2\n"
        "  up curl http://me:hunter3@x/ --password hunter4\n"
        "iface e inet manual\n  fluxport 8\n"
    )
    done = imported("ifupdown", file, "--all")
    assert done.reports("interfaces:3: bridge-flux: 7", "unknown")
    assert done.reports("interfaces:7: fluxport: 8", "unknown")
    assert "hunter" not in done.out + done.err
