"""The catalogue of events is whole, and its users can rely on it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ofapp.bridge.event
from ofapp.api.event_kinds import KINDS, SUBJECTS, declared
from ofapp.openflow.model.traps import LIMITED
from tests.unit.cli.conftest import Run

ROOT = Path(__file__).parents[3]
KIND = re.compile(r"[a-z_]+([.][a-z_-]+)+")
RUNBOOKS = ROOT / "deploy/monitoring"


def test_every_module_that_declares_kinds_is_in_the_catalogue() -> None:
    catalogue = {module.__file__ for module in SUBJECTS} | {ofapp.bridge.event.__file__}
    declaring = {str(p) for p in (ROOT / "ofapp").rglob("*.py") if "EventKind(" in p.read_text()}
    assert declaring - catalogue == set(), "give it a line in ofapp/api/event_kinds.py"


def test_no_two_kinds_have_the_same_name() -> None:
    assert len(KINDS) == sum(len([*declared(module)]) for module in SUBJECTS)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_says_what_it_means_and_what_to_do(name: str) -> None:
    kind = KINDS[name]
    assert KIND.fullmatch(name)
    assert re.fullmatch(r"[A-Z`e].{8,95}[.]", kind.meaning), kind.meaning
    loud = any(severity.value in ("warning", "error") for severity in kind.severities)
    assert kind.remedy or not loud or kind.severities[0].value == "info", "say what to do"
    if name.endswith(".cleared"):
        assert name.removesuffix(".cleared") in KINDS


def test_documents_name_kinds_that_exist() -> None:
    pages = [
        ROOT / "ofapp" / "docs" / "pages" / "troubleshooting.md",
        *RUNBOOKS.glob("*.md"),
        *RUNBOOKS.glob("*.yml"),
    ]
    about = {name.split(".")[0] for name in KINDS}
    for page in pages:
        for name in re.findall(r"`([a-z_]+(?:[.][a-z_-]+)+)`", page.read_text()):
            if name.split(".")[0] in about and not name.endswith((".log", ".json", ".yaml")):
                assert any(f"{kind}.".startswith(f"{name}.") for kind in KINDS), (page, name)


def test_alert_rules_and_dashboards_select_kinds_that_exist() -> None:
    held_back = {kind.name for kind in LIMITED} | {"learning"}
    about = "|".join({re.escape(name.split(".")[0]) for name in KINDS})
    for page in (*RUNBOOKS.glob("*.yml"), *RUNBOOKS.glob("*.json")):
        text = page.read_text().replace('\\"', '"')
        for metric, kinds in re.findall(r'ofapp_(\w+){[^}]*\bkind=~?"([^"]*)"', text):
            known = {*KINDS} if metric == "events_total" else held_back
            assert {*kinds.split("|")} <= known, (page, metric, kinds)
        for name in re.findall(rf"(?<![\w./])(?:{about})(?:[.][a-z_-]+)+(?![\w/])", text):
            ends = (".log", ".json", ".yaml", ".yml", ".sock")
            assert name in KINDS or name.endswith(ends), (page, name)


def test_the_api_and_the_command_show_it(live_ofapp: Run) -> None:
    said = live_ofapp("events", "--kinds", "--kind", "fdb.held")
    assert said.status == 0
    assert said.lines[0].startswith("fdb.held (warning, 0 so far)")
    assert said.lines[2].startswith("    To do: ")
    assert any(line.startswith("fdb.held.limit.cleared (info") for line in said.lines)
    assert not any(line.startswith("stp.") for line in said.lines)


def test_the_json_has_all_kinds(live_ofapp: Run) -> None:
    found = json.loads(live_ofapp("events", "--kinds", "-j").out)
    assert [one["kind"] for one in found] == list(KINDS)
