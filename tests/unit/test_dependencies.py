"""What setup.cfg requires is what ofapp imports."""

from __future__ import annotations

import ast
import re
import sys
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path

import ofapp

ROOT = Path(ofapp.__file__).parent

INDIRECT = {
    "flask-openapi3-swagger": "flask-openapi3 loads it by its entry point",
}
"""Required, and imported by no module of ours."""
RENAMED = {"flask_openapi": "flask_openapi3"}
"""Packages by their name in a newer release, and by the one in setup.cfg."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported() -> set[str]:
    """The distributions whose packages a module of ofapp imports."""
    names = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add((node.module or "").partition(".")[0])
    owners = packages_distributions()
    foreign = names - set(sys.stdlib_module_names) - {"ofapp"}
    known = {RENAMED.get(name, name) for name in foreign}
    return {normal(owners.get(name, [name])[0]) for name in known}


def required(section: str, key: str) -> set[str]:
    setup = ConfigParser()
    setup.read(ROOT.parent / "setup.cfg")
    lines = setup[section][key].split("\n")
    return {normal(re.split(r"[ <>=~!;\[]", line)[0]) for line in lines if line}


def test_all_that_is_imported_is_required_and_nothing_else() -> None:
    always, bench = (
        required("options", "install_requires"),
        required("options.extras_require", "bench"),
    )
    assert imported() == (always | bench) - set(INDIRECT)
    assert not always & bench
