"""ofapp stp."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import httpx
import pytest

from ofapp.cli.commands import stp
from tests.unit.api import live
from tests.unit.api.network import DPID, FULL
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_commands import ENVIRONMENT

STP = f"/v1/bridges/{DPID}/stp"


@pytest.fixture(scope="module")
def shared_url() -> Iterator[str]:
    """Of a server of `connected_stp_network`, for tests that change nothing."""
    with live.served("stp-connected") as served:
        yield served


@pytest.fixture
def url() -> Iterator[str]:
    """Of one for a test that changes things."""
    with live.served("stp") as served:
        yield served


def status(url: str) -> dict[str, object]:
    """Of the first bridge."""
    answer: dict[str, object] = httpx.get(url + STP).json()
    return answer


def parameters(url: str, port: str | None = None) -> dict[str, object]:
    """Of the first bridge, or of a port of it."""
    found = httpx.get(url + STP).json()
    if port is not None:
        (found,) = (known for known in found["ports"] if known["name"] == port)
    own: dict[str, object] = found["parameters"]
    return own


def test_a_bridge_is_shown_with_its_ports(live_ofapp: Run) -> None:
    own_id = "8000.02:00:00:00:00:01"
    said = live_ofapp("stp", "show", "br0")
    assert (said.status, said.err) == (0, "")
    assert [line.split() for line in said.lines] == [
        ["br0:", "RSTP"],
        ["bridge", "id", own_id],
        ["root", "this", "bridge"],
        ["times", *["hello", "2,", "max", "age", "20,", "forward", "delay", "15"]],
        ["topology", "change", "none", "so", "far"],
        ["PORT", "ROLE", "STATE", "COST", "EDGE", "P2P", "DESIGNATED", "BRIDGE", "ITS", "PORT"],
        *(
            [f"eth{number}", "designated", state, "20000", edge, "yes", own_id, f"8.00{number}"]
            for number, state, edge in (
                (1, "forwarding", "yes"),
                (2, "discarding", "no"),
                (3, "discarding", "no"),
            )
        ),
    ]


def test_all_bridges_are_shown(live_ofapp: Run) -> None:
    lines = live_ofapp("stp", "show").lines
    assert lines[lines.index("") + 1] == "br1: off"
    assert lines[-1].split() == ["eth3", "disabled", "forwarding", "-", "no", "yes", "-", "-"]


def test_everything_there_is_to_know(own_ofapp: Run) -> None:
    own_ofapp("stp", "set-port", "br0", "eth2", "--bpdu-guard", "--path-cost", "7")
    said = own_ofapp("stp", "show", DPID, "--detail")
    rows = [line.split("  ", 2) for line in said.lines[said.lines.index("eth2 (2)") :]]
    pairs = {name.strip(): value.strip() for _, name, value in rows[1:20]}
    assert pairs["role"] == "designated"
    assert pairs["state"].startswith(("discarding (", "learning (", "forwarding ("))  # after 3 s
    assert pairs["switched on"] == "enabled, bpdu_guard"
    assert pairs["cost"] == "7 (set)"
    assert pairs["BPDUs received"] == "-"
    assert pairs["BPDUs sent"].endswith(" rst")
    assert "helloWhen " in pairs["timers"]
    assert "eth3 (3)" in said.lines
    assert own_ofapp("stp", "show", "br1", "--detail").status == 0


def test_json_is_the_apis(url: str, own_ofapp: Run) -> None:
    (answer,) = json.loads(own_ofapp("stp", "show", "br0", "-j").out)
    assert answer.keys() == status(url).keys()
    assert len(json.loads(own_ofapp("stp", "show", "-j").out)) == 2


def test_a_bridge_is_administered(url: str, own_ofapp: Run) -> None:
    before = parameters(url)
    options = ["--priority=4096", "--hello-time=1.5", "--max-age=18", "--forward-delay=10"]
    options += ["--transmit-hold-count=3", "--force-version=0", "--bpdu-guard-recovery=60"]
    said = own_ofapp("stp", "set", "br0", *options)
    assert (said.status, said.out, said.err) == (0, "", "")
    assert parameters(url) == before | {
        "priority": 4096,
        "hello_time": 1.5,
        "max_age": 18,
        "forward_delay": 10,
        "transmit_hold_count": 3,
        "force_version": 0,
        "bpdu_guard_recovery": 60,
    }
    assert own_ofapp("stp", "show", "br0").lines[0].startswith("br0: STP,")
    own_ofapp("stp", "set", "br0", "--off")
    assert status(url)["enabled"] is False
    own_ofapp("stp", "set", "br0", "--on")
    assert status(url)["enabled"] is True


def test_a_port_is_administered(url: str, own_ofapp: Run) -> None:
    before = parameters(url, "eth2")
    switches = ["admin_edge", "restricted_role", "restricted_tcn", "bpdu_guard", "root_guard"]
    switches += ["bpdu_filter"]
    options = ["--priority=16", "--path-cost=7", "--point-to-point=force-false"]
    options += ["--no-auto-edge"]
    options += [f"--{name.replace('_', '-')}" for name in switches]
    assert own_ofapp("stp", "set-port", "br0", "eth2", *options).err == ""
    assert parameters(url, "eth2") == before | dict.fromkeys(switches, True) | {
        "priority": 16,
        "path_cost": 7,
        "point_to_point": "force-false",
        "auto_edge": False,
    }
    options = ["--path-cost", "auto", "--no-root-guard", "--loop-guard", "--off"]
    assert own_ofapp("stp", "set-port", "br0", "2", *options).err == ""
    now = parameters(url, "eth2")
    assert (now["path_cost"], now["root_guard"], now["loop_guard"]) == (None, False, True)
    assert now["enabled"] is False


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("stp set br0 --forward-delay 5", "2 × (forward delay − 1) ≥ max age ≥"),
        ("stp set br0 --priority 5", "bridge priority 5 is not a multiple of 4096"),
        ("stp set br9 --priority 0", "there is no bridge br9"),
        ("stp set-port br0 eth9 --path-cost 7", "bridge br0 has no port 'eth9'"),
        ("stp set-port br0 br0 --path-cost 7", "port br0 is LOCAL"),
        ("stp recover br1 eth1", "bridge br1 runs no spanning tree"),
        ("stp mcheck br1 eth1", "bridge br1 runs no spanning tree"),
        ("stp show br9", "there is no bridge br9"),
        ("stp trace br9", "there is no bridge br9"),
    ],
)
def test_a_refusal_is_one_line(live_ofapp: Run, command: str, words: str) -> None:
    said = live_ofapp(*command.split())
    assert (said.status, said.out) == (1, "")
    (line,) = said.err.splitlines()
    assert words in line


@pytest.mark.parametrize(
    "command", ["stp set br0", "stp set-port br0 eth1", "stp set-port br0 eth1 --path-cost x"]
)
def test_a_wrong_command_line(live_ofapp: Run, command: str) -> None:
    assert live_ofapp(*command.split()).status == 2


def test_a_port_is_checked(own_ofapp: Run) -> None:
    said = own_ofapp("stp", "mcheck", "br0", "eth2")
    assert (said.status, said.out, said.err) == (0, "", "")


def test_a_port_that_no_guard_holds_is_not_recovered(own_ofapp: Run) -> None:
    said = own_ofapp("stp", "recover", "br0", "eth2")
    assert said.status == 1
    assert said.err == "ofapp: no guard of spanning tree holds port eth2\n"


@contextmanager
def following(url: str, *arguments: str) -> Iterator[IO[str]]:
    """What a running `ofapp stp trace` says; spanning tree starts on the second bridge."""
    command = [sys.executable, "-u", "-m", "ofapp", "stp", "trace", *arguments, "--api", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        try:
            for enabled in [True, False] * 100:  # until it listens
                httpx.patch(f"{url}/v1/bridges/{FULL}/stp", json={"enabled": enabled})
                httpx.patch(url + STP, json={"priority": 4096 * enabled})
                if select.select([process.stdout], [], [], 0.1)[0]:
                    break
            for enabled in (False, True):
                httpx.patch(f"{url}/v1/bridges/{FULL}/stp", json={"enabled": enabled})
            yield process.stdout
        finally:
            process.terminate()


def read_until(said: IO[str], words: str) -> list[str]:
    """The lines up to the first one with `words`."""
    lines: list[str] = []
    while not lines or words not in lines[-1]:
        line = said.readline()
        assert line, lines
        lines.append(line)
    return lines


def test_bpdus_and_states_are_followed(url: str) -> None:
    with following(url, "br1") as said:
        lines = read_until(said, " br1  eth1 (1) > RST designated [proposal] root 8000.02:")
    assert any(" br1  spanning tree: enabled = " in line for line in lines)
    assert not any("br0" in line for line in lines)


def test_a_trace_for_programs(url: str) -> None:
    with following(url, "-j") as said:
        sent = json.loads(read_until(said, '"kind":"stp.bpdu.sent"')[-1])
    assert (sent["severity"], sent["data"]["type"]) == ("debug", "RST")


def test_a_new_root_is_reported_by_its_identifier() -> None:
    event = {
        "kind": "stp.root",
        "message": "new root, through port eth2 (2)",
        "data": {"new": "1000020000000099", "root_path_cost": 20000},
    }
    said = "new root, through port eth2 (2): 1000.02:00:00:00:00:99, cost 20000"
    assert stp.story(event) == said
