"""`ofapp bench` on the machine's own Open vSwitch: small plans, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ofapp.bench.bed import clean, port_names
from ofapp.bench.model import Results, read
from ofapp.bench.profile.perf import count
from tests.support.lab import sh, vsctl
from tests.support.waiting import wait_for

TAG = f"ob{os.getpid() % 100_000}"
NIC = f"{TAG}x"


ASKED = ("run", "--repeat", 1, "--seconds", 0.1)


def bench(*words: object) -> list[str]:
    return [sys.executable, "-m", "ofapp", "bench", *map(str, words), "--tag", TAG]


def measured(out: Path, *words: object, asked: Sequence[object] = ASKED) -> Results:
    """The results of a run that went well."""
    done = subprocess.run(
        bench(*asked, "--out", out, *words),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return read(out)


def rests() -> list[str]:
    """All that bears the tag."""
    spaces, links = sh("ip", "netns", "list"), sh("ip", "-br", "link")
    lines = f"{spaces}\n{links}\n{vsctl('list-br')}".splitlines()
    return [line for line in lines if line.startswith(TAG) and not line.startswith(NIC)]


@pytest.fixture(autouse=True)
def swept() -> Iterator[None]:
    try:
        yield
    finally:
        subprocess.run(bench("clean"), check=True, capture_output=True)


@pytest.mark.thorough
def test_devices_measured_and_reported(tmp_path):
    duts = [word for dut in ("wire", "normal", "ofapp") for word in ("--dut", dut)]
    tests = [word for test in ("throughput", "latency") for word in ("--test", test)]
    found = measured(tmp_path, *duts, *tests, "--size", 64)
    rates = {
        (sample.test, sample.device): sample.values["rate"]
        for sample in found.samples
        if "rate" in sample.values
    }
    for device in ("OVS NORMAL netdev", "ofapp netdev"):
        assert 0 < rates["throughput", device] < rates["throughput", "wire"]
        mine = [sample for sample in found.samples if sample.device == device]
        probed = [sample.values for sample in mine if sample.test == "latency"]
        assert 0 < probed[0]["min_us"] <= probed[0]["p50_us"] <= probed[0]["p99_us"]
    markdown = (tmp_path / "report.md").read_text()
    assert "ofapp beside OVS NORMAL" in markdown
    assert (tmp_path / "latency.svg").exists()
    assert rests() == []


def test_devices_side_by_side_are_made_anew_now_and_then(tmp_path):
    words = ["--side-by-side", "--test", "overload", "--size", 64, "--repeat", 11]
    found = measured(tmp_path, "--dut", "normal", "--dut", "ofapp", *words)
    for device in ("OVS NORMAL netdev", "ofapp netdev"):
        mine = [sample for sample in found.samples if sample.device == device]
        assert [sample.repetition for sample in mine] == list(range(11))
        assert all(sample.values["rate"] > 0 for sample in mine)
    assert rests() == []


def test_a_profile_tells_a_bridge_from_a_wire(tmp_path):
    duts = [word for dut in ("wire", "linux", "normal") for word in ("--dut", dut)]
    found = measured(tmp_path, *duts, asked=("profile", "--quick"))
    cost = {
        (sample.device, sample.at["addresses"]): sample.values
        for sample in found.samples
        if sample.test == "profile"
    }
    assert len(cost) == 6
    for hosts in (2, 2048):
        wire, bridge, switch = (
            cost[device, hosts] for device in ("wire", "Linux bridge", "OVS NORMAL netdev")
        )
        assert wire["bridge_ns"] < bridge["bridge_ns"] / 10
        assert 20 < bridge["bridge_ns"] < 20_000
        assert switch["bridge_ns"] > 0
        assert switch["driver_ns"] > bridge["driver_ns"]  # its ports are system calls
        assert bridge["unknown"] == 0
    loads = [sample for sample in found.samples if sample.test == "occupancy"]
    assert {sample.device for sample in loads} == {"wire", "Linux bridge", "OVS NORMAL netdev"}
    assert all(0 <= sample.values["cores"] < (os.cpu_count() or 1) for sample in loads)
    assert ";cpu-clock;" in count(["cpu-clock"])
    counted = "bridge_misses" in bridge
    assert counted != any("cache-misses" in note for note in found.notes)
    markdown = (tmp_path / "report.md").read_text()
    assert "2,048 hosts (after Varis, tables 1 and 2)" in markdown
    assert "### Latency against CPU occupancy" in markdown
    assert {"profile.svg", "occupancy.svg"} <= {path.name for path in tmp_path.iterdir()}
    assert rests() == []


def test_given_interfaces_come_back(tmp_path):
    names = [f"{NIC}{number}" for number in range(4)]
    for one, other in (names[:2], names[2:]):
        sh("ip", "link", "add", one, "type", "veth", "peer", "name", other)
    try:
        tx, one, other, rx = names
        sh("ip", "link", "set", tx, "mtu", 1400)
        ports = ("--tx", tx, "--rx", rx, "--port", one, "--port", other)
        found = measured(tmp_path, "--dut", "linux", "--dut", "router", "--test", "tcp", *ports)
        assert [sample.device for sample in found.samples] == ["Linux bridge", "Linux router"]
        assert all(sample.values["mbps"] > 1 for sample in found.samples)
        after = sh("ip", "-o", "link", "show", tx)
        assert "mtu 1400" in after
        assert "state DOWN" in after
        assert all(Path("/sys/class/net", name).exists() for name in names)
        assert rests() == []
    finally:
        sh("ip", "link", "del", names[0], check=False)
        sh("ip", "link", "del", names[2], check=False)


@pytest.mark.parametrize(
    "end", [pytest.param(signal.SIGTERM, marks=pytest.mark.thorough), signal.SIGKILL]
)
def test_a_run_that_ends_half_way(end, tmp_path):
    words = ("--dut", "normal", "--test", "throughput", "--size", 64, "--seconds", 30)
    running = subprocess.Popen(bench("run", "--out", tmp_path, *words), stderr=subprocess.PIPE)
    try:
        wait_for(lambda: f"{TAG}br" in vsctl("list-br"), "the bridge", seconds=10)
        running.send_signal(end)
        running.wait(20)
    finally:
        running.kill()
        running.wait()
        running.stderr.close()
    if end == signal.SIGKILL:
        assert f"{TAG}br" in rests()
        again = subprocess.run(
            bench("run", "--out", tmp_path, *words),
            capture_output=True,
            text=True,
            check=False,
        )
        assert again.returncode == 1
        assert "`ofapp bench clean`" in again.stderr
        subprocess.run(bench("clean"), check=True, capture_output=True)
    assert rests() == []


def test_cleaning_up_bears_that_a_veth_pair_goes_by_itself():
    """As it does while its namespace ends, at any time: most of these meet it half gone."""
    space, port = f"{TAG}-tx", port_names(TAG)[0]
    for _ in range(15):
        sh("ip", "netns", "add", space)
        sh("ip", "link", "add", port, "type", "veth", "peer", "name", "end", "netns", space)
        clean(TAG)
        wait_for(lambda: rests() == [], "all to be gone")
