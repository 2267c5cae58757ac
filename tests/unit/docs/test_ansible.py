"""The generated files of the Ansible collection are those of the declarations."""

from __future__ import annotations

import runpy
from pathlib import Path

import yaml

import ofapp

COLLECTION = Path(__file__).parents[3] / "deploy/ansible"


def test_the_generated_files_are_current() -> None:
    made = runpy.run_path(str(COLLECTION / "generate"))["files"]()
    old = [path.name for path, text in made.items() if path.read_text("utf-8") != text]
    assert not old, f"{old}: run `.venv/bin/python deploy/ansible/generate`, and commit"


def test_each_module_is_in_the_group_of_module_defaults() -> None:
    groups = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["action_groups"]
    modules = (COLLECTION / "plugins/modules").glob("*.py")
    assert sorted(groups["all"]) == sorted(path.stem for path in modules)


def test_the_collection_has_the_version_of_ofapp() -> None:
    about = yaml.safe_load((COLLECTION / "galaxy.yml").read_text())
    assert ofapp.__version__.startswith(about["version"])
