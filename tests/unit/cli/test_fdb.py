"""ofapp fdb."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ofapp.cli import client as cli_client
from tests.support.waiting import wait_for
from tests.unit.api import live
from tests.unit.api.network import DPID, FULL, OWN, STATIC, mac
from tests.unit.cli.conftest import Run, Said


def macs(said: Said) -> list[str]:
    """The first column."""
    assert (said.status, said.err) == (0, "")
    return [line.split()[0] for line in said.lines[1:]]


def test_all_bridges(live_ofapp: Run) -> None:
    said = live_ofapp("fdb", "show")
    columns = ["MAC", "VLAN", "PORT", "TYPE", "UPDATED", "USED", "IP", "BRIDGE"]
    assert said.lines[0].split() == columns
    assert len(said.lines) == 1 + 62 + 2
    assert said.lines[2].split()[:4] == [mac(1), "-", "eth1", "learned"]
    assert said.lines[-1].split()[-1] == "br1"


@pytest.mark.parametrize("bridge", ["br0", DPID])
def test_one_bridge_by_name_or_id(live_ofapp: Run, bridge: str) -> None:
    said = live_ofapp("fdb", "show", bridge)
    assert macs(said) == [OWN, *(mac(number) for number in range(1, 61)), STATIC]
    assert "BRIDGE" not in said.lines[0]
    assert said.lines[1].split() == [OWN, "all", "br0", "local", "-", "-", "-"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mac", mac(7)], [mac(7)]),
        (["--vlan", "7", "--type", "static"], [STATIC]),
        (["--port", "eth3"], [STATIC]),
        (["--type", "local"], [OWN]),
        (["--mac", mac(7), "--vlan", "7"], []),
        (["--ip", "10.0.0.1"], [mac(1)]),
    ],
)
def test_filters(live_ofapp: Run, options: list[str], expected: list[str]) -> None:
    assert macs(live_ofapp("fdb", "show", "br0", *options)) == expected


def test_it_shows_the_ip_addresses_where_there_are_any(live_ofapp: Run) -> None:
    said = live_ofapp("fdb", "show", "br0", "--mac", mac(1))
    assert said.lines[0].split()[-1] == "IP"
    assert said.lines[1].split()[-1] == "fe80::1,10.0.0.1"
    assert "IP" not in live_ofapp("fdb", "show", "br0", "--mac", mac(2)).lines[0]


def test_pages_are_followed(live_ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_client, "PAGE", 7)
    assert len(macs(live_ofapp("fdb", "show"))) == 64


def test_json_is_as_bridge_prints_it(live_ofapp: Run) -> None:
    """Keys, their order and the values of `state` are those of bridge(8), iproute2 6.1."""
    objects = json.loads(live_ofapp("fdb", "show", "br0", "-j").out)
    assert len(objects) == 62
    assert objects[0] == {
        "mac": OWN,
        "ifname": "br0",
        "flags": [],
        "master": "br0",
        "state": "permanent",
    }
    assert objects[1] == {
        "mac": mac(1),
        "ifname": "eth1",
        "flags": [],
        "master": "br0",
        "state": "",
    }
    (static,) = json.loads(live_ofapp("fdb", "show", "-j", "-s", "--type", "static").out)
    assert list(static) == ["mac", "ifname", "vlan", "used", "updated", "flags", "master", "state"]
    assert (static["vlan"], static["state"]) == (7, "static")
    assert isinstance(static["used"], int)


def test_an_empty_answer_is_still_an_answer(live_ofapp: Run) -> None:
    assert live_ofapp("fdb", "show", "br0", "--vlan", "9", "--type", "learned", "-j").out == "[]\n"
    assert len(live_ofapp("fdb", "show", "br0", "--mac", mac(999)).lines) == 1


def test_a_table_fits_a_terminal_and_a_pipe(live_ofapp: Run) -> None:
    said = live_ofapp("fdb", "show")
    assert max(map(len, said.lines)) <= 80
    assert "\x1b" not in said.out


def test_add_and_del(own_ofapp: Run) -> None:
    add = ["fdb", "add", "br0", mac(99), "--port", "eth2", "--vlan", "5"]
    assert own_ofapp(*add) == Said(0, "", "")
    assert macs(own_ofapp("fdb", "show", "br0", "--type", "static")) == [mac(99), STATIC]
    assert own_ofapp("fdb", "del", "br0", mac(99), "--vlan", "5") == Said(0, "", "")
    assert macs(own_ofapp("fdb", "show", "br0", "--type", "static")) == [STATIC]


def test_an_entry_of_a_program_is_added_and_removed(own_ofapp: Run) -> None:
    of_it = ["br0", mac(99), "--vlan", "5"]
    assert own_ofapp("fdb", "add", *of_it, "--port", "eth2", "--extern-learn") == Said(0, "", "")
    (answer,) = json.loads(own_ofapp("fdb", "show", "br0", "--mac", mac(99), "-j").out)
    assert (answer["ifname"], answer["flags"], answer["state"]) == ("eth2", ["extern_learn"], "")
    assert "learned,extern_learn" in own_ofapp("fdb", "show", "br0", "--mac", mac(99)).out
    assert own_ofapp("fdb", "del", *of_it) == Said(0, "", "")
    assert json.loads(own_ofapp("fdb", "show", "br0", "--mac", mac(99), "-j").out) == []


def test_flush(own_ofapp: Run) -> None:
    assert own_ofapp("fdb", "flush", "br0", "--port", "eth1").out == "40 entries forgotten\n"
    assert json.loads(own_ofapp("fdb", "flush", "br0", "-j").out) == {"flushed": 20}
    assert macs(own_ofapp("fdb", "show", "br0")) == [OWN, STATIC]
    assert len(macs(own_ofapp("fdb", "show", "br1"))) == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "br9"], "there is no bridge br9"),
        (["show", "br0", "--mac", "x"], "mac: 'x' is not a MAC address"),
        (["show", "br0", "--port", "eth9"], "has no port 'eth9'"),
        (["show", "br0", "--vlan", "4095"], "vlan"),
        (["add", "br0", mac(99), "--port", "eth9"], "has no port 'eth9'"),
        (["add", "br0", OWN, "--port", "eth1"], "the bridge's own address"),
        (["add", "br0", "a/b", "--port", "eth1"], ""),
        (["del", "br0", mac(1)], "is not a static entry"),
        (["flush", "br0", "--mac", "x"], "mac: 'x' is not a MAC address"),
        (["flush", FULL[:-1]], "there is no bridge"),
    ],
)
def test_a_refusal_is_one_line(live_ofapp: Run, arguments: list[str], reason: str) -> None:
    said = live_ofapp("fdb", *arguments)
    assert (said.status, said.out) == (1, "")
    (line,) = said.err.splitlines()
    assert line.startswith("ofapp: ")
    assert reason in line


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    """Of a server of `guarded_network`."""
    with live.served("guarded") as served:
        yield served


def test_held_and_release(ofapp: Run, guarded_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFAPP_API", guarded_url)
    header, *rows = [line.split() for line in ofapp("fdb", "held").lines]
    assert header == ["MAC", "VLAN", "PORT", "ELSEWHERE", "REASON", "LEFT", "BRIDGE"]
    assert [[*row[:5], row[6]] for row in rows] == [
        [mac(1), "-", "eth2", "eth1", "sticky", "br0"],
        [mac(2), "7", "eth2", "eth1", "sticky", "br0"],
    ]
    shown = ofapp("fdb", "show", "br0", "--mac", mac(2))
    assert shown.lines[1].split()[3] == "learned,sticky,held"
    (entry,) = json.loads(ofapp("fdb", "show", "br0", "--mac", mac(2), "-j").out)
    assert (entry["flags"], entry["state"]) == (["sticky", "held"], "")
    release = ["fdb", "release", "br0", mac(2), "--vlan", "7"]
    assert ofapp(*release) == Said(0, "", "")
    assert "is not held down" in ofapp(*release).err
    (left,) = json.loads(ofapp("fdb", "held", "br0", "-j").out)
    assert (left["mac"], left["bridge"]) == (mac(1), "br0")


@pytest.mark.parametrize("as_json", [False, True])
def test_changes_are_followed(url: str, own_ofapp: Run, tmp_path: Path, as_json: bool) -> None:
    """Addresses that are flushed, and learned again by a request; the log does not keep them."""
    out = tmp_path / "out"
    options = ["-j"] if as_json else []
    command = [sys.executable, "-u", "-m", "ofapp", "fdb", "monitor", "br1", "--api", url, *options]
    with out.open("w") as file, subprocess.Popen(command, stdout=file) as process:
        try:
            wait_for(lambda: _has_both(out), "both", tick=lambda: _change(url, own_ofapp))
        finally:
            process.terminate()
    lines = out.read_text().splitlines()
    if as_json:
        events = [json.loads(line) for line in lines]
        (learned, *_) = (event for event in events if event["kind"] == "fdb.learned")
        assert learned["data"] == {"mac": mac(99), "vlan": 0, "port_name": "eth1"}
    else:
        assert any(line.endswith(f"br1  {mac(99)} learned on port eth1 (1)") for line in lines)
        assert any(line.endswith("br1  1 address flushed from port eth1 (1)") for line in lines)
    kept = {event["kind"] for event in httpx.get(f"{url}/v1/events").json()["events"]}
    assert not {"fdb.learned", "fdb.flushed"} & kept


def _has_both(out: Path) -> bool:
    return all(word in out.read_text() for word in ("learned", "flushed"))


def _change(url: str, ofapp: Run) -> None:
    assert ofapp("fdb", "flush", "br1").status == 0
    body = {"mac": mac(99), "port": 1}
    assert httpx.put(f"{url}/simpleswitch/mactable/{FULL}", json=body).status_code == 200
