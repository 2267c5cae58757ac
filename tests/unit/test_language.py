"""Docstrings, comments, help and messages are in a network engineer's words."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ofapp"

WORDS = {
    "nobody|somebody|whoever|whatever|whom": "name the host, user, process or value that is meant",
    "(is|are|was|were) told": "reports, has, receives, is notified",
    "look(s|ed)? after": "manages, owns, is master of",
    "holds? still": "is on standby",
    "heeds?": "handles",
    "of (its|their) own": "its own NAME, or a separate NAME",
    "anew": "again, new",
    "whose turn": "scheduling",
}


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Comments and string literals, each with its first line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def found(path: Path) -> Iterator[str]:
    for first, text in texts(path.read_text()):
        for word, better in WORDS.items():
            if re.fullmatch(f'"({word})"', text):
                continue  # a value that others know, as a metric's label
            for match in re.finditer(rf"\b({word})\b", text, re.IGNORECASE):
                line = first + text.count("\n", 0, match.start())
                yield f"{path}:{line}: {match[0]!r}: {better}"


def parts() -> list[Path]:
    return sorted(path for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py")


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_it_has_no_words_that_need_a_translation(part: Path) -> None:
    files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
    lines = [line for path in files for line in found(path)]
    assert not lines, "\n".join(lines)
