"""What programs of users depend on changes only where a change is meant and is announced."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import pytest
from typer.main import get_command

from ofapp.cli.app import app
from tests.unit.contract.commands import ANSWERS, ASKED, LOCAL, TEXT_ONLY
from tests.unit.contract.contract import CONTRACTS, HERE, copy, text
from tests.unit.contract.schema import fields, words

ROOT = HERE.parents[2]
REMEDY = (
    "programs of users depend on this: if the change is meant, run `OFAPP_WRITE_CONTRACT=1"
    " .venv/bin/python -m pytest tests/unit/contract`, and tell users of it in CHANGELOG.md"
)


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_contract_is_its_copy(name: str) -> None:
    if os.environ.get("OFAPP_WRITE_CONTRACT"):
        copy(name).write_text(text(name))
    now, stored = text(name).splitlines(), copy(name).read_text().splitlines()
    diff = "\n".join(unified_diff(stored, now, copy(name).name, "now", lineterm="", n=0))
    assert not diff, f"{diff}\n{REMEDY}"


def test_a_changed_copy_is_announced() -> None:
    copies = str(HERE.relative_to(ROOT) / "*.txt")
    if not (ROOT / ".git").exists():
        pytest.skip("no clone of git")
    if git("status", "--porcelain", "--", copies):
        assert git("status", "--porcelain", "--", "CHANGELOG.md"), REMEDY
        return
    commits = git("rev-list", "-2", "HEAD", "--", copies).split()
    since = f"{commits[-1]}..HEAD" if len(commits) == 2 else "HEAD"
    announced = git("rev-list", "-1", since, "--", "CHANGELOG.md")
    assert announced, f"since {since} copies have changed, and CHANGELOG.md has not: {REMEDY}"


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_every_command_with_json_is_in_the_contract() -> None:
    there = {" ".join(path) for path, command in leaves(get_command(app)) if prints_json(command)}
    known = {command for _, command, _ in ASKED} | LOCAL.keys() | ANSWERS.keys() | TEXT_ONLY
    missing = there - known
    assert not missing, f"{missing}: add them to tests/unit/contract/commands.py"


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, below in command.commands.items():
        yield from leaves(below, (*path, name))


def prints_json(command: Any) -> bool:
    return any("--json" in parameter.opts for parameter in command.params)


def test_what_changes_nothing_for_a_program_is_no_change() -> None:
    before = {"type": "integer", "minimum": 0.0, "description": "a", "title": "A", "default": 7}
    assert words(before) == words({**before, "minimum": 0, "description": "b", "title": "B"})
    one, other = {"enum": ["a", "b"]}, {"enum": ["b", "a"]}
    assert words(one) == words(other)


CHANGES = [
    {"required": []},
    {"properties": {"mac": {"type": "string"}}},
    {"properties": {"mac": {"type": "string"}, "age": {"type": "number", "minimum": 1}}},
    {"properties": {"mac": {"type": "string"}, "age": {"type": "number"}, "vid": {}}},
    {"additionalProperties": False},
]


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_a_model_is_seen(change: dict[str, Any]) -> None:
    model = {
        "type": "object",
        "required": ["mac"],
        "properties": {"mac": {"type": "string"}, "age": {"type": "number"}},
    }
    assert [*fields("Entry", model)] != [*fields("Entry", {**model, **change})]
