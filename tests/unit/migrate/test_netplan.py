"""netplan's YAML; the sample passes `netplan generate` of netplan 0.106."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.migrate.conftest import Import

SAMPLE = """\
network:
  version: 2
  renderer: networkd
  ethernets:
    eth0: {}
    eth1: {}
    eth2: {}
    eth3: {dhcp4: false}
  bonds:
    bond0:
      interfaces: [eth1, eth2]
      parameters: {mode: 802.3ad, lacp-rate: fast, mii-monitor-interval: 100}
  bridges:
    br0:
      interfaces: [eth0, bond0]
      addresses: [10.0.0.2/24]
      parameters:
        priority: 4096
        forward-delay: 4
        max-age: 6
        hello-time: 1
        ageing-time: 50
        path-cost: {eth0: 50}
        port-priority: {eth0: 16}
    br1:
      interfaces: [eth3]
      openvswitch: {rstp: true, mcast-snooping: true, fail-mode: standalone}
"""


def test_bridges_of_the_kernel_and_of_open_vswitch(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "50.yaml"
    file.write_text(SAMPLE)
    done = imported("netplan", file)
    assert done.bridge() == {
        "ageing_time": 50,
        "stp": {"priority": 4096, "hello_time": 1, "max_age": 6, "forward_delay": 4},
        "ports": {"eth0": {"stp": {"priority": 64, "path_cost": 50}}, "bond0": {}},
        "lags": {"bond0": {"members": ["eth1", "eth2"], "rate": "fast"}},
    }
    assert done.bridge("br1") == {
        "multicast": {"mcast_flood_unregistered": True},
        "ports": {"eth3": {}},
    }
    assert done.reports("50.yaml:27: fail-mode: standalone", "secure")


def test_a_later_file_goes_before_an_earlier_one(tmp_path: Path, imported: Import) -> None:
    (tmp_path / "a.yaml").write_text(SAMPLE)
    (tmp_path / "b.yaml").write_text(
        "network: {bridges: {br0: {interfaces: [eth0], parameters: {stp: false}}}}"
    )
    done = imported("netplan", tmp_path / "a.yaml", tmp_path / "b.yaml")
    assert done.bridge()["stp"] == {"enabled": False}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("network: {ethernets: {}}", "no `bridges` there"),
        ("network: {bridges: {br0: {interfaces: e}}}", "interfaces: e: must be a list"),
        (
            "network: {bridges: {br0: {parameters: {hello-time: soon}}}}",
            "n.yaml:1: hello-time: soon: must be a number of seconds",
        ),
        ("network: [", "n.yaml:2: not YAML"),
    ],
)
def test_input_that_cannot_be_read(tmp_path: Path, imported: Import, text: str, error: str) -> None:
    (tmp_path / "n.yaml").write_text(text)
    done = imported("netplan", tmp_path / "n.yaml")
    assert (done.status, done.out) == (1, "")
    assert error in done.err


def test_unknown_keys_are_reported_and_secrets_hidden(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "n.yaml"
    file.write_text(
        "network:\n  bridges:\n    br0:\n      interfaces: [e]\n      flux: 1\n"
        "      auth: {password: hunter2}\n      parameters: {flux2: 1}\n"
        "  ethernets: {e: {flux3: 1}}\n  flux4: 1\n"
    )
    done = imported("netplan", file)
    for line, key in ((5, "flux"), (7, "flux2"), (8, "flux3"), (9, "flux4")):
        assert done.reports(f"n.yaml:{line}: {key}: 1", "unknown")
    assert "hunter2" not in done.out + done.err
