"""Notes in docstrings have their nouns, and terms of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ofapp"
PARTS = sorted(path for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py")

IN_PRODUCT = {
    "(is|are|was|be|been|not|brings?|keeps?|kept) in line": "in sync, synchronized",
    "(switch(es)?|bridges?|controllers?) (is|are|was|were) away": "disconnected",
    "ports? (is|are) away": "absent",
    "takes? part": "is enabled, runs",
}
"""Words of this project, and terms of the field for them."""

_IN_PRODUCT = re.compile(rf"\b({'|'.join(IN_PRODUCT)})\b", re.IGNORECASE)
TRAILING = re.compile(r"; [A-Z]\w*Error(, [A-Z]\w*Error)*\.(?=\s|$)")
"""Exceptions as the last words of a sentence."""
NOTE = re.compile(r"(^\s+|; |\.  )[a-z_]+: of (?=[a-z])", re.MULTILINE)
"""A note on an attribute that begins with a preposition."""


def in_notes(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings whose notes need the name before them, or end in the name of an exception."""
    if not (TRAILING.search(source) or NOTE.search(source) or _IN_PRODUCT.search(source)):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = str(node.value.value)
            if found := TRAILING.search(text):
                yield node.lineno - 1, f"{found[0]!r}: Raises ..."
            if found := NOTE.search(text):
                yield node.lineno - 1, f"{found[0].strip()!r}: repeat the noun"
            if found := _IN_PRODUCT.search(" ".join(text.split())):
                yield node.lineno - 1, f"{found[0]!r}: a term of the field"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_notes_have_their_nouns_and_say_what_is_raised(part: Path) -> None:
    files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
    lines = [
        f"{path}:{line + 1}: {problem}"
        for path in files
        for line, problem in in_notes(path.read_text())
    ]
    assert not lines, "\n".join(lines)


def test_pages_have_the_terms_of_the_field() -> None:
    for path in sorted((PACKAGE / "docs" / "pages").glob("*.md")):
        found = _IN_PRODUCT.search(path.read_text())
        assert not found, f"{path}: {found[0]!r}"
