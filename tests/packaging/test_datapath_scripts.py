"""deploy/dpdk/setup and deploy/afxdp/setup with a real Open vSwitch and a real link.

Frames through such ports are in the guest tier, which also has Open vSwitch with DPDK.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.machine import REPOSITORY
from tests.support.ovs import VSwitchd

DPDK = REPOSITORY / "deploy/dpdk/setup"
AFXDP = REPOSITORY / "deploy/afxdp/setup"
LAST_CPU = (os.cpu_count() or 1) - 1


@pytest.fixture(scope="module")
def switch() -> Iterator[VSwitchd]:
    running = VSwitchd()
    running.start()
    yield running
    running.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which ovs-vswitchd says that it has DPDK, as that package's does."""
    program = tmp_path / "ovs-vswitchd"
    program.write_text("#!/bin/sh\necho ovs-vswitchd 3.1.0\necho DPDK 22.11.3\n")
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def run(
    switch: VSwitchd, *command: object, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, command)],
        env=switch.env | ({"PATH": path} if path else {}),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def settings(switch: VSwitchd) -> dict[str, str]:
    said = switch.vsctl("get", "Open_vSwitch", ".", "other_config").strip()[1:-1]
    pairs = (pair.split("=", 1) for pair in said.split(", ") if pair)
    return {key: value.strip('"') for key, value in pairs}


def test_dpdk_is_set_without_huge_pages_and_taken_back(switch: VSwitchd, path: str) -> None:
    before = settings(switch)
    options = ("--no-huge", "--memory", 512, "--cpus", LAST_CPU)
    done = run(switch, DPDK, *options, path=path)
    assert done.returncode == 0, done.stderr
    assert "restart" in done.stdout
    now = settings(switch)
    assert now["dpdk-init"] == "true"
    assert now["dpdk-extra"] == "--no-huge --legacy-mem --no-pci -m 512"
    assert int(now["pmd-cpu-mask"], 16) == 1 << LAST_CPU
    assert run(switch, DPDK, *options, path=path).returncode == 0
    assert settings(switch) == now
    assert run(switch, DPDK, "--off").returncode == 0
    assert settings(switch) == before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--memory", 10**9), "MiB of huge pages are free"),
        (("--no-huge", "--cpus", "999"), "there is no CPU 999"),
        (("--no-huge", "--cpus", "2-3"), "no list as 2,3"),
        (("--memory",), "--memory needs a value"),
        (("--huge",), "unknown option --huge"),
    ],
)
def test_dpdk_says_what_is_wrong_and_changes_nothing(
    switch: VSwitchd, path: str, options: tuple[object, ...], complaint: str
) -> None:
    before = settings(switch)
    done = run(switch, DPDK, *options, path=path)
    assert (done.returncode, complaint in done.stderr) == (1, True), done.stderr
    assert settings(switch) == before


def test_dpdk_wants_an_open_vswitch_that_has_it(switch: VSwitchd) -> None:
    if "DPDK" in run(switch, "ovs-vswitchd", "--version").stdout:
        pytest.skip("the Open vSwitch of this machine has DPDK")
    done = run(switch, DPDK, "--no-huge")
    assert done.returncode == 1
    assert "openvswitch-switch-dpdk" in done.stderr


def test_afxdp_prepares_a_link(switch: VSwitchd) -> None:
    inside = (
        "ip link add op0 numrxqueues 4 numtxqueues 4 type veth peer name op1"
        f" && {AFXDP} op0 && ethtool -k op0 && ethtool -l op0 && ip link show op0"
    )
    done = run(switch, "unshare", "--net", "sh", "-c", inside)
    assert done.returncode == 0, done.stderr
    assert "op0 is ready" in done.stdout
    assert "generic-receive-offload: off" in done.stdout
    assert "tx-checksumming: off" in done.stdout
    assert done.stdout.count("Combined:") in (0, 2)
    assert "UP" in done.stdout.splitlines()[-2]


def test_afxdp_names_what_is_against_it(switch: VSwitchd) -> None:
    missing = run(switch, AFXDP, "op-none")
    assert (missing.returncode, missing.stderr) == (1, "setup: there is no link op-none\n")
    large = "ip link add op0 mtu 9000 type veth peer name op1; exec " + f"{AFXDP} op0"
    done = run(switch, "unshare", "--net", "sh", "-c", large)
    assert done.returncode == 1
    assert "MTU 9000" in done.stderr
