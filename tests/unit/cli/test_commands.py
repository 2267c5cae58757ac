"""The other commands, and what every command has in common."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import click
import httpx
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from ofapp.api.changes import nested
from ofapp.cli import output
from ofapp.cli.app import COMMANDS, app, load
from ofapp.cli.arguments import ACCESS
from ofapp.cli.commands import ports
from ofapp.cli.groups import summary
from ofapp.cli.parameters import ELSEWHERE
from ofapp.config.port import PortSection
from tests.unit.api import live
from tests.unit.api.network import DPID, FULL, OWN, mac
from tests.unit.cli.conftest import Run

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def test_bridges(live_ofapp: Run) -> None:
    said = live_ofapp("bridge", "show")
    assert [line.split() for line in said.lines] == [
        ["BRIDGE", "DATAPATH", "ID", "STATE", "LEARNED", "STATIC", "PEER"],
        ["br0", DPID, "disconnected", "60", "1", "-"],
        ["br1", FULL, "disconnected", "1", "0", "-"],
    ]
    (bridge,) = json.loads(live_ofapp("bridge", "show", "br1", "-j").out)
    assert bridge["datapath_id"] == FULL


def test_a_bridge_that_was_made_again(ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is the new one's; the old one is shown, and can be forgotten by that name."""
    with live.served("remade") as url:
        monkeypatch.setenv("OFAPP_API", url)
        assert [line.split()[:6] for line in ofapp("bridge", "show").lines[1:]] == [
            [DPID, "(was", "br0)", DPID, "disconnected", "1h01m"],
            ["br0", FULL, "ready", "0", "0", "192.0.2.7:4711"],
        ]
        assert ofapp("fdb", "show", "br0").status == 0
        refused = ofapp("bridge", "forget", FULL)
        assert (refused.status, refused.out) == (1, "")
        assert refused.err.startswith("ofapp: the switch of bridge br0 is connected")
        assert ofapp("bridge", "forget", "br0").out == f"forgot {DPID}\n"
        assert [line.split()[1] for line in ofapp("bridge", "show").lines[1:]] == [FULL]
        missing = f"ofapp: there is no bridge {DPID}; there are: br0\n"
        assert ofapp("bridge", "forget", DPID).err == missing


def test_ports(live_ofapp: Run) -> None:
    said = live_ofapp("port", "show", "br0")
    assert len(said.lines) == 5
    assert said.lines[2].split() == [
        "br0",
        "eth2",
        "2",
        "00:00:00:00:00:02",
        "forwarding",
        "20",
        "-",
    ]
    assert said.lines[4].split() == ["br0", "br0", "LOCAL", OWN, "forwarding", "0", "-"]
    shown = json.loads(live_ofapp("port", "show", "-j").out)
    assert len(shown) == 8
    assert (shown[0]["ifname"], shown[0]["master"], shown[0]["state"]) == (
        "eth1",
        "br0",
        "forwarding",
    )


def test_a_port_is_set_by_options(url: str, own_ofapp: Run) -> None:
    """All that the core declares is an option; a word says None where that is a value."""

    def settings() -> Any:
        return httpx.get(f"{url}/v1/bridges/{DPID}/ports/eth1").json()["settings"]

    options = ["--isolated", "--no-flood", "--fdb-max-learned=7", "--over-limit", "drop"]
    said = own_ofapp("port", "set", "br0", "eth1", *options, "storm={broadcast: 9}")
    assert (said.status, said.out, said.err) == (0, "", "")
    expected = {"isolated": True, "flood": False, "fdb_max_learned": 7, "over_limit": "drop"}
    assert settings() == expected | {"storm": {"broadcast": 9}}
    own_ofapp("port", "set", "br0", "eth1", "--no-isolated", "--fdb-max-learned", "none")
    assert settings() == {"flood": False, "over_limit": "drop", "storm": {"broadcast": 9}}
    own_ofapp("port", "set", "br0", "eth1", "fdb_max_learned=8", "community=2")
    assert (settings()["fdb_max_learned"], settings()["community"]) == (8, 2)
    assert (
        own_ofapp("port", "set", "br0", "eth1", "community=none", "fdb_max_learned=null").err == ""
    )
    assert not {"fdb_max_learned", "community"} & settings().keys()
    for wrong in (["--over-limit", "burn"], ["--fdb-max-learned", "x"], []):
        assert own_ofapp("port", "set", "br0", "eth1", *wrong).status == 2


def test_a_port_may_be_called_anything(ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends a path in a URL is part of the name, in every command that names a port."""
    odd = "a#b?c%d"
    with live.served("odd") as url:
        monkeypatch.setenv("OFAPP_API", url)
        for command in (
            ["port", "set", "br0", odd, "isolated=true"],
            ["vlan", "add", "br0", odd, "10"],
            ["vlan", "add", "br0", odd, "20"],
            ["vlan", "del", "br0", odd, "10"],
            ["multicast", "set", "br0", "mcast_router=2", "--port", odd],
            ["mdb", "add", "br0", "239.1.1.1", "--port", odd],
            ["mdb", "del", "br0", "239.1.1.1", "--port", odd],
            ["fdb", "add", "br0", mac(9), "--port", odd, "--vlan", "20"],
            ["stp", "set", "br0", "--on"],
            ["stp", "set-port", "br0", odd, "--admin-edge"],
            ["stp", "mcheck", "br0", odd],
        ):
            said = ofapp(*command)
            assert (command, said.status, said.err) == (command, 0, "")
        refused = ofapp("stp", "recover", "br0", odd).err
        assert refused == f"ofapp: no guard of spanning tree holds port {odd}\n"
        vlans = json.loads(ofapp("vlan", "show", "br0", "-j").out)
        vlans_by_name = {port["ifname"]: port["vlans"] for port in vlans}
        assert (vlans_by_name[odd], vlans_by_name["eth1"]) == (
            [{"vlan": 20}],
            [{"vlan": 1, "vlanEnd": 4094}],
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fdb show --vlan abc", "--vlan: 'abc' is not a whole number"),
        ("fdb show --watch 0", "--watch: 0.0 is not in the range x>=1."),
        ("token create x --role god", "--role: 'god' is not one of 'viewer', 'operator', 'admin'."),
        ("fdb show --watch x", "--watch: 'x' is not a number"),
        ("stp set br0 --priority x", "--priority: 'x' is not a whole number"),
        ("port set br0 eth1 --fdb-max-learned x", "--fdb-max-learned: x: must be a whole number"),
        ("port set br0 eth1 --rate-out 10M", "--rate-out: 10M: must be a whole number from 64 to"),
        ("port set br0 eth1 lldp.one_way=hold", "lldp.one_way is set by another command: see `of"),
        ("config diff x", "[A]: 'x' is neither a version nor `disk`: see `ofapp config history`"),
        ("token create", "Missing argument 'NAME'."),
        ("bench paper", "Missing argument 'PAPER'. Choose from: yu, varis, ibm, freebsd"),
        ("port set br0 eth1 storm={", "storm={: not YAML at column 8: expected the node content"),
    ],
)
def test_a_wrong_command_line_is_reported_in_two_lines(
    live_ofapp: Run, arguments: str, said: str
) -> None:
    ended = live_ofapp(*arguments.split())
    usage, refusal = ended.err.splitlines()
    assert (ended.status, ended.out) == (2, "")
    assert usage.startswith(f"Usage: ofapp {' '.join(arguments.split()[:2])}")
    assert refusal.startswith(f"ofapp: {said}")


def test_a_rate_that_is_no_number_is_refused_with_its_unit(live_ofapp: Run) -> None:
    said = live_ofapp("port", "set", "br0", "eth1", "rate_out=10M").err
    wanted = 'rate_out: must be a whole number from 64 to 100000000 kbit/s, not "10M"'
    assert said == f"ofapp: {wanted}\n"


def test_each_section_of_a_port_has_a_command_that_sets_it(ofapp: Run) -> None:
    assert {*nested(PortSection)} - {"vlan", "storm"} == ELSEWHERE.keys()
    for command in ELSEWHERE.values():
        assert ofapp(*command.split(), "--help").out.startswith(f"Usage: ofapp {command}")


@pytest.mark.parametrize(
    ("group", "option"),
    [
        ("auth", "--authentication=dot1x"),
        ("lldp", "--one-way=hold"),
        ("loop-protect", "--on"),
        ("stp", "--admin-edge"),
    ],
)
def test_what_has_no_effect_while_its_protocol_is_off_is_named_with_the_way_on(
    own_ofapp: Run, group: str, option: str
) -> None:
    said = own_ofapp(group, "set-port", "br0", "eth1", option).err
    found = re.fullmatch(
        "ofapp: it is set, and has no effect yet: `ofapp (.*)` turns .* on\n", said
    )
    assert found is not None, said
    assert own_ofapp(*found[1].split()).err == ""
    assert own_ofapp(group, "set-port", "br0", "eth1", option).err == ""
    assert own_ofapp(group, "set", "br0", "--off").err == ""


def test_a_protocol_is_not_turned_on_to_turn_off_a_port(own_ofapp: Run) -> None:
    for group, option in (("auth", "--authentication=off"), ("loop-protect", "--off")):
        said = own_ofapp(group, "set-port", "br0", "eth1", option)
        assert (said.status, said.err) == (0, "")


def test_a_controlled_port_without_hosts_is_not_an_empty_table(own_ofapp: Run) -> None:
    own_ofapp("auth", "set", "br0", "--on")
    said = own_ofapp("auth", "show", "br0").out
    found = re.search("`ofapp (auth set-port) BRIDGE PORT (.*)` controls a port", said)
    assert found is not None, said
    assert own_ofapp(*found[1].split(), "br0", "eth1", *found[2].split()).err == ""
    assert own_ofapp("auth", "show", "br0").out == "No host has tried on 1 controlled port.\n"
    assert "eth1" in own_ofapp("auth", "show", "br0", "--statistics").out


def test_multicast_parameters_have_no_effect_while_snooping_is_off(own_ofapp: Run) -> None:
    assert own_ofapp("multicast", "set", "br0", "mcast_snooping=false").err == ""
    for given in (("mcast_querier=true",), ("--port", "eth1", "mcast_router=1")):
        said = own_ofapp("multicast", "set", "br0", *given).err
        remedy = "`ofapp multicast set br0 mcast_snooping=true` turns snooping on"
        assert said == f"ofapp: it is set, and has no effect yet: {remedy}\n"
    assert own_ofapp("multicast", "set", "br0", "mcast_snooping=true").err == ""
    assert own_ofapp("multicast", "set", "br0", "mcast_querier=false").err == ""


def test_the_policy_of_ports_is_shown_where_a_port_has_one(own_ofapp: Run) -> None:
    assert "POLICY" not in own_ofapp("port", "show", "br0").out
    given = "isolated=true", "rate_in=2000", "qos_trust=none", "priority=5"
    assert own_ofapp("port", "set", "br0", "eth1", *given).err == ""
    header, eth1, eth2, *_ = own_ofapp("port", "show", "br0").lines
    assert header.endswith("POLICY")
    assert eth1.endswith("isolated, rate_in 2000 kbit/s, qos_trust none, priority 5")
    assert eth2.endswith("-")


def test_a_controller_that_does_not_answer_is_reported_without_the_words_of_libraries(
    ofapp: Run, shared_url: str
) -> None:
    said = ofapp("fdb", "show", "--api", "http://127.0.0.1:1").err
    assert ": Connection refused (does ofapp-manager run?" in said
    said = ofapp("fdb", "show", "--api", shared_url.replace("http:", "https:")).err
    assert ": TLS failed: wrong version number (does it serve https?" in said


def test_a_port_that_no_bridge_has_is_an_error(live_ofapp: Run) -> None:
    for listing in ("fdb", "mdb"):
        said = live_ofapp(listing, "show", "--port", "nope")
        assert (said.status, said.err) == (1, "ofapp: no bridge has a port 'nope'\n")
        assert live_ofapp(listing, "show", "--port", "eth1").status == 0


def test_events(live_ofapp: Run) -> None:
    said = live_ofapp("events")
    assert len(said.lines) == 16
    assert said.lines[0].split()[0] == "1"
    assert said.lines[0].endswith(f"{DPID} info port.added: port br0 (LOCAL) was added")
    (last,) = map(json.loads, live_ofapp("events", "--since", "15", "-j").lines)
    assert (last["number"], last["kind"]) == (16, "port.up")


def test_events_since_a_time_and_of_a_kind(live_ofapp: Run) -> None:
    everything = live_ofapp("events").lines
    assert live_ofapp("events", "--since", "1h").lines == everything
    assert live_ofapp("events", "--since", "2026-01-31 09:30").lines == everything
    assert live_ofapp("events", "--since", "2090-01-31").lines == []
    ups = live_ofapp("events", "--kind", "port.up").lines
    assert 0 < len(ups) < len(live_ofapp("events", "--kind", "port.").lines)
    assert all(" port.up: " in line for line in ups)
    assert live_ofapp("events", "--since", "yesterday").status == 2


def test_events_of_a_bridge_and_severity(live_ofapp: Run) -> None:
    everything = live_ofapp("events").lines
    of_one = live_ofapp("events", "--bridge", "br1").lines
    assert of_one == [line for line in everything if FULL in line]
    assert 0 < len(of_one) < len(everything)
    assert live_ofapp("events", "--severity", "info").lines == everything
    assert live_ofapp("events", "--severity", "error").lines == []
    refused = live_ofapp("events", "--bridge", "br9")
    assert (refused.status, refused.err) == (
        1,
        "ofapp: there is no bridge br9; there are: br0, br1\n",
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("port.upp", "port.upp: did you mean port.up?"),
        ("port.,stpp", "stpp: did you mean stp?"),
        ("nope", "nope: `ofapp events --kinds` explains all"),
    ],
)
@pytest.mark.parametrize("option", ["--follow", "--kinds"])
def test_a_kind_of_events_that_does_not_exist_is_an_error(
    live_ofapp: Run, kind: str, said: str, option: str
) -> None:
    refused = live_ofapp("events", option, "--kind", kind)
    expected = (1, "", f"ofapp: there is no kind of events {said}\n")
    assert (refused.status, refused.out, refused.err) == expected
    assert live_ofapp("events", "--severity", "bad").status == 2


def test_events_are_followed(url: str, own_ofapp: Run) -> None:
    command = [sys.executable, "-u", "-m", "ofapp", "events", "-f", "--since", "16", "--api", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            assert process.stdout is not None
            _fill(url)
            assert "fdb.limit: the bridge has learned 1 addresses" in process.stdout.readline()
            assert "info audit.change: anybody (admin) from 127.0.0.1" in process.stdout.readline()
            own_ofapp("fdb", "flush", "br1")
            assert "fdb.limit.cleared" in process.stdout.readline()
        finally:
            process.terminate()


def test_they_are_followed_when_the_controller_is_started_anew(tmp_path: Path) -> None:
    """Also events with numbers that were shown before, as it counts from one again."""
    with live.served() as url:
        port = int(url.rpartition(":")[2])
        command = [sys.executable, "-u", "-m", "ofapp", "events", "-f", "--api", url]
        with (tmp_path / "err").open("w") as err:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=err, text=True, env=ENVIRONMENT
            )
        assert process.stdout is not None
        first = [process.stdout.readline().split()[0] for _ in range(16)]
    try:
        with live.served(port=port):
            second = [process.stdout.readline().split()[0] for _ in range(16)]
            assert first == second == [str(number) for number in range(1, 17)]
            said = (tmp_path / "err").read_text().splitlines()
            assert said[0].endswith("; waiting for it")
            assert said[1] == "ofapp: the controller is back"
            assert said[2].startswith("ofapp: the controller has restarted since the event ")
            assert len(said) == 3
    finally:
        process.terminate()
        process.communicate()


def _fill(url: str) -> None:
    import httpx

    body = {"mac": mac(99), "port": 1}
    assert httpx.put(f"{url}/simpleswitch/mactable/{FULL}", json=body).status_code == 200


# Help


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with what is typed for it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def test_all_that_a_command_says_of_itself_is_in_its_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Square brackets, say, are markup to who prints it; options for the controller are in the
    help of `ofapp` itself, and in one line of each command."""
    monkeypatch.setenv("COLUMNS", "1000")
    runner, lost = CliRunner(), []
    for path, command in commands(get_command(app)):
        if path == ("run",):
            continue
        output = runner.invoke(app, [*path, "--help"]).output
        shown = {*output.split(), *re.sub(r"-\n +", "-", output).split()}
        own = [option for option in command.params if option.name not in ACCESS]
        texts = [command.help, *(getattr(option, "help", None) for option in own)]
        lost += [
            (path, word) for text in texts for word in (text or "").split() if word not in shown
        ]
    assert not lost
    whole = runner.invoke(app, ["--help"]).output
    for name in ("--api URL", "--api-token-file FILE", "--api-ca FILE", "--api-cert FILE"):
        assert name in whole
    (line,) = [
        one for one in runner.invoke(app, ["fdb", "show", "-h"]).output.splitlines() if "api" in one
    ]
    assert line.split()[:2] == ["--api", "..."]


# What can go wrong with any command


@pytest.mark.parametrize("command", ["fdb show", "bridge show", "port show", "events", "events -f"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", "http://["])
def test_no_controller_is_one_line(ofapp: Run, command: str, url: str) -> None:
    said = ofapp(*command.split(), "--api", url)
    assert (said.status, said.out) == (1, "")
    (line,) = said.err.splitlines()
    assert line.startswith(f"ofapp: no answer from the controller at {url}: ")
    assert "OFAPP_API" in line


@pytest.fixture
def other(tmp_path: Path) -> Iterator[str]:
    """The URL of a server that is not ofapp."""
    (tmp_path / "v1").mkdir()
    for name in ("bridges", "fdb"):
        (tmp_path / "v1" / name).write_text("<html>")
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().partition(" port ")[2].split()[0]
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.parametrize("command", ["fdb show", "bridge show", "events", "events -f"])
def test_another_server_is_reported(ofapp: Run, other: str, command: str) -> None:
    said = ofapp(*command.split(), "--api", other)
    assert (said.status, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1
    assert other in said.err


def test_a_wrong_command_line(ofapp: Run) -> None:
    assert ofapp("fdb", "shwo").status == 2
    assert ofapp("fdb", "show", "--vlan", "x").status == 2


@pytest.mark.parametrize("group", ["", "host"])
def test_a_group_without_a_command_shows_its_help(ofapp: Run, group: str) -> None:
    said = ofapp(*group.split())
    assert (said.status, said.out) == (2, "")
    assert said.err == ofapp(*group.split(), "--help").out


def test_version(ofapp: Run) -> None:
    assert ofapp("--version").out.startswith("ofapp 0")


def python_m(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ofapp", *arguments],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=30,
        check=False,
    )


def test_run_is_the_launcher() -> None:
    said = python_m("run", "no.such.module")
    assert said.returncode == 1
    assert said.stderr.startswith("ofapp run: error: there is no module no.such.module")
    assert "--wsapi-port" in python_m("run", "--help").stdout


def test_help_names_the_launcher() -> None:
    assert "run" in python_m("--help").stdout


@pytest.mark.parametrize("command", ["fdb show", "--version", "docs"])
def test_a_closed_pipe_is_no_error(shared_url: str, command: str) -> None:
    """A shell's status of a program that SIGPIPE ends, and no word."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        assert _output_to(pipe, shared_url, command) == (141, "")


@pytest.mark.parametrize("command", ["fdb show", "fdb show -j", "--version", "fdb --help", "docs"])
def test_a_full_disk_is_one_sentence(shared_url: str, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        said = "ofapp: cannot write the output: No space left on device\n"
        assert _output_to(full, shared_url, command) == (1, said)


def _output_to(file: TextIO, url: str, command: str) -> tuple[int, str]:
    """Exit status and errors of a command with this file as its output."""
    done = subprocess.run(
        [sys.executable, "-m", "ofapp", *command.split()],
        stdout=file,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENVIRONMENT, "OFAPP_API": url},
        check=False,
    )
    return done.returncode, done.stderr


SERVER = frozenset({"os_ken", "eventlet", "flask", "httpx", "urllib3"})
MODEL = frozenset({"pydantic", "yaml", "ofapp.config"})
TEXT = frozenset({"rich", "markdown_it"})
CLIENT = frozenset({"http.client", "ofapp.common.http_client"})
PARAMS = frozenset({"ofapp.bridge.params.params"})


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("fdb show", SERVER | MODEL | TEXT | PARAMS),
        ("port set br0 eth1 --isolated", SERVER | MODEL | TEXT),
        ("--help", SERVER | MODEL | TEXT | PARAMS | CLIENT | {"ofapp.cli.commands"}),
        ("docs", SERVER | MODEL | PARAMS | CLIENT),
        ("config schema", SERVER | TEXT | CLIENT),
    ],
)
def test_a_command_imports_only_what_it_needs(command: str, heavy: frozenset[str]) -> None:
    """Each of these takes longer to load than the command takes to ask its question."""
    words = [sys.executable, "-X", "importtime", "-m", "ofapp", *command.split()]
    environment = {**ENVIRONMENT, "OFAPP_API": "http://127.0.0.1:1"}
    said = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    imported = {line.rpartition("|")[2].strip() for line in said.stderr.splitlines()}
    assert "ofapp.cli.app" in imported
    assert not imported & heavy


def test_every_command_is_imported_by_its_name() -> None:
    assert all(load(name).name == name for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_ofapp_says_what_the_command_says(name: str) -> None:
    assert summary(load(name)) == COMMANDS[name].summary


def test_what_ports_have_counted(ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with live.served("acl") as url:
        monkeypatch.setenv("OFAPP_API", url)
        header, eth1, eth2, *_, local = ofapp("port", "show", "br0", "-s").lines
        assert header.split()[3:6] == ["RX-FRAMES", "RX-BYTES", "TX-FRAMES"]
        assert eth1.split() == ["br0", "eth1", "-", *"1324", "7/8", "5/6"]
        assert eth2.split() == ["br0", "eth2", "-", *"1324", "-/-", "5/6"]
        assert local.split()[3:] == [*"----", "-/-", "-/-"]
        assert json.loads(ofapp("port", "show", "-sj").out)[0]["counters"]["rx_bytes"] == 3


def test_rates_of_ports(ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 frames more in two seconds are 50 a second; what the switch does not count is none."""
    moments = itertools.count(0.0, 2.0)
    clock = SimpleNamespace(now=next(moments))

    def sleep(_: float) -> None:
        clock.now = next(moments)
        if clock.now > 2:
            raise KeyboardInterrupt

    def answer(*_: object) -> dict[str, object]:
        frames = 1000 + int(50 * clock.now)
        counters = dict.fromkeys(itertools.chain(*ports._COUNTED.values()), frames) | {
            "age": 0.0,
            "tx_errors": None,
        }
        port = {"name": "eth1", "number": 1, "state": "forwarding", "speed_mbps": 1000}
        held = {"held_back": {"rate_in": 7, "rate_out": 0}, "held_back_age": 12.3}
        return {"ports": [{**port, **held, "lag": None, "link_changes": 3, "counters": counters}]}

    monkeypatch.setattr(output, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(ports, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(ports.Client, "bridges", lambda *_: [{"name": "br0", "datapath_id": DPID}])
    monkeypatch.setattr(ports.Client, "get", answer)
    said = ofapp("port", "show", "-s", "--watch", "2")
    assert said.status == 130
    assert said.lines.count("br0 eth1: frames above limits: rate_in 7, as of 12 s ago") == 2
    totals, rates = (line.split() for line in said.lines if "eth1 " in line)
    assert totals == ["br0", "eth1", "1000", *["1000"] * 4, "1000/-", "1000/1000"]
    assert rates == ["br0", "eth1", "1000", *["50"] * 4, "50/-", "50/50"]
    assert "RX-PPS" in said.out
