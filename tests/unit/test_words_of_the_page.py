"""What the page says: no string of its JavaScript has a word for which there is a better term."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ofapp import lab
from ofapp.api import page

FOLDERS = Path(page.__file__).parent / "js", Path(lab.__file__).parent / "web" / "js"
OWN = sorted(path for folder in FOLDERS for path in folder.glob("*.js"))

WRONG = re.compile(
    r"\b(halt(s|ed)?|ways?|heard|away|in line|mend(s|ed)?|everybody|trouble|dark|homes?"
    r"|takes part|nothing is called|the one)\b",
    re.IGNORECASE,
)
"""Words of earlier versions of the page, by which a user had to guess what is meant."""

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|[!=]==\s*"\w*"|(?P<plain>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|[`{}]""",
    re.DOTALL,
)
NOT_SHOWN = re.compile(
    r"^[\"'](\.{1,2}/|\(prefers-).*"  # a module, or a question about the reader's colours
    r"|</?[\w-]+(\s+[@?.]?[\w-]+=(\"[^\"]*\"|\0|[\w-]*\0?))*",  # a tag with its attributes
)


def strings(text: str) -> Iterator[tuple[int, str]]:
    """Text of strings and templates of JavaScript, with its line; an expression in it is a NUL."""
    at, inside = 0, [""]  # the brackets and templates that are open
    start, parts = 0, [""]
    while at < len(text):
        if inside[-1] == "`":
            end = re.compile(r"`|\$\{").search(text, at)
            assert end is not None
            parts[-1] += text[at : end.start()]
            at = end.end()
            if end[0] == "`":
                inside.pop()
                yield text.count("\n", 0, start) + 1, parts.pop()
            else:
                parts[-1] += "\0"
                inside.append("{")
            continue
        token = TOKEN.search(text, at)
        if token is None:
            return
        at = token.end()
        if token["plain"]:
            yield text.count("\n", 0, token.start()) + 1, token["plain"]
        elif token[0] == "`":
            inside.append("`")
            start = token.start()
            parts.append("")
        elif token[0] == "{":
            inside.append("{")
        elif token[0] == "}":
            inside.pop()


def wrong(text: str) -> Iterator[tuple[int, str]]:
    """Wrong words in what is shown, with their lines."""
    for line, string in strings(text):
        for found in WRONG.finditer(NOT_SHOWN.sub("", string)):
            yield line, found[0]


@pytest.mark.parametrize("module", OWN, ids=lambda module: module.name)
def test_no_string_of_the_page_has_a_wrong_word(module: Path) -> None:
    assert [f"{module.name}:{line}: {word}" for line, word in wrong(module.read_text())] == []


def test_a_wrong_word_is_found_in_strings_and_templates_alone() -> None:
    text = """
        import { heard } from "./away.js"; // away
        const a = heard.away || b.state === "away" ? "it is away" : 'gateway';
        const b = html`<p class="away">${a ? html`<b>halt</b> ${"mend"}` : nothing} in line</p>`;
    """
    assert sorted(wrong(text)) == [(3, "away"), (4, "halt"), (4, "in line"), (4, "mend")]
