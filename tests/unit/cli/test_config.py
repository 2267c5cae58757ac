"""ofapp config, as its user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ofapp.cli.commands.config import _lines
from ofapp.cli.config_changes import item_line
from ofapp.config import parse_config
from tests.unit.api.network import DPID
from tests.unit.cli.conftest import Run


def test_check_says_that_a_file_is_valid(ofapp: Run, tmp_path: Path) -> None:
    file = tmp_path / "good.yaml"
    file.write_text("bridges: {br0: {acls: {web: [{match: {tcp_dst: 80}, action: allow}]}}}")
    said = ofapp("config", "check", str(file))
    assert (said.status, said.out) == (0, f"{file}: valid, 1 bridge\n")
    assert f"{file}: warning: bridges.br0.acls.web: IPv4 passes but no ARP" in said.err


def test_check_tells_every_fault_and_fails(ofapp: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("watch: 5\nbridgs: {}\n")
    said = ofapp("config", "check", str(file))
    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines() == [
        f"{file}:1:8: watch: must be true or false, not 5",
        f"{file}:2:1: bridgs: there is no such key: did you mean bridges?",
    ]
    assert ofapp("config", "check", str(tmp_path / "none")).status == 1


def test_schema_is_one(ofapp: Run) -> None:
    schema = json.loads(ofapp("config", "schema").out)
    assert set(schema["properties"]) >= {"defaults", "bridges", "api", "channel", "watch"}
    assert schema["properties"]["bridges"]["description"]


def test_show_prints_a_file(live_ofapp: Run) -> None:
    said = live_ofapp("config", "show")
    assert said.status == 0
    config = parse_config(said.out.encode(), "shown")
    assert config.bridge(0xFF).fdb_max_learned == 1
    assert not config.bridge(1).stp.enabled
    assert json.loads(live_ofapp("config", "show", "-j").out) == yaml.safe_load(said.out)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
@example("0E0")
@example("\x80 # \x85 \u2028 - \ufeff\n")
def test_whatever_a_description_holds_what_is_shown_can_be_read(text: str) -> None:
    """Also where it stands in a comment: in a name, a path, or what was set at run time."""
    own = {"datapath_id": DPID, "name": text, "since": [f"description: default -> {text}"]}
    status = {"file": f"/{text}.yaml", "loaded": "now"}
    shown = "".join(_lines(status, [own | {"config": {"description": text}}]))
    read = parse_config(shown.encode(), "shown")
    assert read.bridge(1).description == text


def test_show_of_one_bridge(live_ofapp: Run) -> None:
    shown = json.loads(live_ofapp("config", "show", "--bridge", "br1", "-j").out)
    assert set(shown["bridges"]) == {"00000000000000ff"}
    assert live_ofapp("config", "show", "--bridge", "br9").status == 1


def test_reload_tells_what_it_does(own_ofapp: Run) -> None:
    """The server has no file: the defaults take the place of what it was started with."""
    planned = own_ofapp("config", "reload", "--dry-run")
    assert planned.lines[-1].startswith("would be: br0, br1: ")
    assert "  fdb_max_learned: 1 -> default" in planned.lines
    refused = own_ofapp("config", "reload")
    assert refused.status == 1
    assert "ofapp config reload --force" in refused.err
    done = own_ofapp("config", "reload", "--force")
    assert done.lines[0] == "br0 (0000000000000001): its switch is disconnected"
    assert own_ofapp("config", "reload").out == "nothing has changed\n"
    answer = json.loads(own_ofapp("config", "reload", "-j").out)
    assert (answer["bridges"], answer["restart"]) == ([], [])


def test_a_plan_of_another_file_is_told_as_a_dry_run_is(live_ofapp: Run, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("bridges: {br1: {fdb_max_learned: 2}}\n")
    said = live_ofapp("config", "plan", str(file))
    assert said.status == 0
    assert "  fdb_max_learned: 1 -> 2" in said.lines
    assert said.lines[-1].startswith("would be: br0, br1: ")
    assert live_ofapp("config", "show", "--bridge", "br1").out.count("fdb_max_learned: 1") == 1
    file.write_text("colour: red\n")
    refused = live_ofapp("config", "plan", str(file))
    assert refused.status == 1
    assert "other.yaml:1:1: colour: there is no such key" in refused.err


def test_an_item_of_a_plan_is_one_line() -> None:
    item = {
        "item": "port eth1",
        "changes": ["VLAN 10 -> 20", "isolated no -> yes"],
        "sent": {"flows": 4, "groups": 0, "meters": 1},
    }
    assert item_line(item) == "port eth1: VLAN 10 -> 20, isolated no -> yes (4 flows, 1 meter)"
    affected = {"item": "port eth2", "changes": [], "sent": {"flows": 1, "groups": 0, "meters": 0}}
    assert item_line(affected) == "port eth2 (1 flow)"


def test_push_without_a_cluster_says_what_to_do_instead(live_ofapp: Run, tmp_path: Path) -> None:
    file = tmp_path / "ofapp.yaml"
    file.write_text("bridges: {}\n")
    said = live_ofapp("config", "push", str(file))
    assert (said.status, said.out) == (1, "")
    assert "in no cluster" in said.err
    assert "ofapp config reload" in said.err
    missing = live_ofapp("config", "push", str(tmp_path / "none"))
    assert missing.status == 1
    assert "No such file" in missing.err
