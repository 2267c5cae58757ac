"""How often tests wait for a fixed time, and read what is private to another object."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MOST_SLEEPS = 26
"""Most calls of `sleep`; `hub.sleep(0)`, which lets other greenlets run, does not count."""
MOST_REACHES = 56
"""Most uses of attributes with an underscore whose object is not `self`."""
_PUBLIC = {"_replace", "_asdict", "_fields", "_exit", "_create_unverified_context"}
"""Documented names of the standard library that begin with an underscore."""


def sleeps(node: ast.AST) -> bool:
    """Whether this is a call of `time.sleep` or `hub.sleep` for longer than 0 s."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("time.sleep", "hub.sleep"):
        return False
    return ast.unparse(node.args[0]) != "0"


def reaches(node: ast.AST) -> bool:
    """Whether this is a private attribute of another object."""
    if not isinstance(node, ast.Attribute) or node.attr in _PUBLIC:
        return False
    private = node.attr.startswith("_") and not node.attr.startswith("__")
    return private and ast.unparse(node.value) not in ("self", "cls", "super()")


@pytest.fixture(scope="module")
def found() -> tuple[Counter[str], Counter[str]]:
    """Sleeps and reaches by file, without those of benchmarks, which measure for a time."""
    both = Counter[str](), Counter[str]()
    for path in TESTS.rglob("*.py"):
        name = path.relative_to(TESTS).as_posix()
        if not name.startswith("bench/"):
            for node in ast.walk(ast.parse(path.read_text())):
                for counts, is_one in zip(both, (sleeps, reaches), strict=True):
                    counts[name] += is_one(node)
    return both


def test_tests_wait_for_conditions(found: tuple[Counter[str], Counter[str]]) -> None:
    counts, _ = found
    assert 0 < counts.total() <= MOST_SLEEPS, (
        "wait by `wait_for`, or by `during` or `paced` if time itself is what is tested (see "
        f"tests/support/waiting.py): {counts.most_common(20)}"
    )


def test_tests_ask_by_public_names(found: tuple[Counter[str], Counter[str]]) -> None:
    _, counts = found
    assert 0 < counts.total() <= MOST_REACHES, (
        f"ask by a public name, or pass the object what the test needs: {counts.most_common(20)}"
    )
