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
        timeout=200,
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


def papers_report(out: Path, name: str, *words: object, wire: bool = True) -> str:
    """Run the smallest form of a paper's tables; the report, in which each cell is filled."""
    asked = ("paper", name, "--repeat", 1, "--seconds", 0.1)
    found = measured(out, *words, asked=asked)
    bridges = {"Linux bridge", "OVS NORMAL netdev", "ofapp netdev"}
    assert bridges | ({"wire"} if wire else set()) <= {sample.device for sample in found.samples}
    text = (out / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [cell for row in rows if "---" not in row for cell in row.strip("| ").split(" | ")]
    assert all(cell.strip() for cell in cells)
    assert "not measured" not in "".join(cells)
    assert (out / "report.html").read_text().count("<table>") >= 2
    assert rests() == []
    return text


def test_the_tables_of_yu(tmp_path):
    rates = [word for rate in (1, 1_000, 20_000) for word in ("--rate", rate)]
    exhibits = ("--table", 1, "--table", 3, "--figure", 13)
    text = papers_report(tmp_path, "yu", *exhibits, *rates)
    table_1, table_3 = text.split("## Table ")[1:]
    assert "| 1 frame per second | 64 | 512 | 512 | 512 | 1.80 |" in table_1
    for rate in ("1", "1,000", "20,000"):
        assert f"\n| {rate} | " in table_3
    assert "| 20,000 | 10,240,000 | 25.0 |" in table_3
    assert "| Knee | 66,225 (87 µs; then 22,987 µs) |" in table_3
    assert "## Figure 13: Linux router" in text
    assert (tmp_path / "figure-13.svg").exists()
    assert "(section 5, 6): Router and bridge" in text


def test_the_tables_of_the_freebsd_bridge(tmp_path):
    text = papers_report(tmp_path, "freebsd", "--table", 2, "--table", 4, "--table", 5)
    assert "| 0-5 | 284 | 217 |" in text
    assert "| 0-60 | 287 | 216 |" in text
    modes = [line for line in text.splitlines() if line.startswith(("| bridged |", "| monitor |"))]
    assert len(modes) == 3, "the pings have no monitor"
    assert "| bridged | 276 | 209 | no bridge |" in text
    away = text.partition("| controller away |")[2].splitlines()[0].split(" | ")
    assert away.count("has no controller") == 9
    assert "**Holds here** (section end): Traffic can go on" in text


@pytest.mark.thorough  # what it measures is what a profile is
def test_the_tables_of_varis(tmp_path):
    text = papers_report(tmp_path, "varis", wire=False)
    table_1, table_2 = text.split("## Table ")[1:]
    rows = [line for line in table_1.splitlines() if line.startswith("| ")]
    shares = {row.split(" | ")[0].strip("| "): row.split(" | ") for row in rows}
    assert shares["Interface"][1] == "45.7"
    columns = [float(shares[one][2]) for one in ("Interface", "Bridge", "Memory/IO", "Locks")]
    assert sum(columns) == pytest.approx(100, abs=1), "of the Linux bridge, with 2 hosts"
    assert "| br_handle_frame | 13.5 |" in table_2
    assert "ovs-vswitchd" in table_2.partition("**Busiest functions**")[2]
    assert "**Cannot be seen here** (section 5): Software cannot compete" in text


@pytest.mark.thorough  # its streams are those of the FreeBSD bridge's tables
def test_the_figures_of_ibm(tmp_path):
    loads = ("--payload", 64, "--payload", 0, "--pairs", 2)
    text = papers_report(tmp_path, "ibm", "--figure", 3, *loads, wire=False)
    assert "| small transactions, 64 octets | 2 | 1,500 | not in the paper |" in text
    assert "| stream | 2 | 1,500 | not in the paper |" in text
    assert "| Two hosts and their NICs |" in text
    assert "(section figure 3): Across hosts both bridges are alike. The Linux bridge has" in text
    assert (tmp_path / "figure-3.svg").exists()


def test_the_far_end_on_another_machine(tmp_path, monkeypatch):
    """This machine plays the other one, too: the command that is for ssh runs here."""
    ssh, near, far = tmp_path / "ssh", f"{NIC}0", f"{NIC}1"
    ssh.write_text(f'#!/bin/sh\nshift 2\nexec {sys.executable} -m ofapp "$@"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("OFAPP_BENCH_SSH", str(ssh))
    sh("ip", "link", "add", near, "type", "veth", "peer", "name", far)
    try:
        loads = ("--payload", 64, "--pairs", 2)
        cable = ("--remote", "far.example", "--link", near, "--far-link", far)
        text = papers_report(tmp_path / "out", "ibm", *loads, *cable, wire=False)
        assert "The far end is on far.example." in text
        assert "## Figure 3" in text
        assert "## Figure 1" not in text
        assert far in sh("ip", "-o", "link", "show", near), "both interfaces came back"
    finally:
        sh("ip", "link", "del", near)


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
