"""Code, help, messages and documents are in a network engineer's words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ofapp"

WORDS = {
    "nobody|somebody|whoever|whatever|whom": "name the host, user, process or value that is meant",
    "(is|are|was|were) told": "reports, has, receives, is notified",
    "look(s|ed)? after": "manages, owns, is master of",
    "holds? still": "is on standby",
    "heeds?": "handles",
    "of (its|their) own": "its own NAME, or a separate NAME",
    "anew": "again, new",
    "whose turn": "scheduling",
    "does? as": "applies, follows",
    "told otherwise": "by default",
    "what there is": "name the objects",
    "changes its mind": "changes its state",
}


_WORDS = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
NAMES = re.compile(
    "anew|curiosity|desk|farewell|heeds?|knock|lessee|(no|some)body|tells?|telling|tenure"
    "|(un)?told|unheard|whoever|whom|whose",
    re.IGNORECASE,
)
"""Words that names of classes and functions must not have."""
VARIABLES = {"told", "tell", "heed"}
"""Names of variables, parameters and attributes that do not say what the value is."""
FORMER_FIELD = "ofapp/api/resources/cluster.py"  # `told` is sent until 0.4
FRAGMENTS = re.compile(r"(Of|That|Those|As|And|By|Whose|Whom)\b")
"""First words of docstrings that are no sentence and no noun phrase."""


def in_text(text: str) -> Iterator[tuple[int, str]]:
    """Words to avoid, each with its line (from 0) and what to write instead."""
    for match in _WORDS.finditer(text.replace("\n", " ")):
        better = next(WORDS[word] for word in WORDS if re.fullmatch(word, match[0], re.IGNORECASE))
        yield text.count("\n", 0, match.start()), f"{match[0]!r}: {better}"


def in_code(source: str) -> Iterator[tuple[int, str]]:
    """The same for comments and string literals of Python."""
    if not _WORDS.search(source.replace("\n", " ")):
        return  # reading tokens is slow
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        if _WORDS.fullmatch(token.string, 1, len(token.string) - 1):
            continue  # a value that others know, as a metric's label
        for line, problem in in_text(token.string):
            yield token.start[0] - 1 + line, problem


def in_names(source: str) -> Iterator[tuple[int, str]]:
    """Classes and functions with a word to avoid in their names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = re.findall(r"[A-Z]?[a-z]+", node.name)
            if any(map(NAMES.fullmatch, words)):
                yield node.lineno - 1, f"name {node.name}"


def in_variables(source: str) -> Iterator[tuple[int, str]]:
    """Variables, parameters and attributes with a name to avoid."""
    if not re.search(rf"\b({'|'.join(VARIABLES)})\b", source):
        return  # parsing all files takes half a minute
    for node in ast.walk(ast.parse(source)):
        name = getattr(node, "id", getattr(node, "attr", getattr(node, "arg", None)))
        if name in VARIABLES and hasattr(node, "lineno"):
            yield node.lineno - 1, f"name {name}"


def in_docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings that begin as a fragment of a sentence, also those of constants and fields."""
    if not re.search(rf'"""{FRAGMENTS.pattern}', source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str) and FRAGMENTS.match(text):
                yield node.lineno - 1, f"docstring begins with {text.split()[0]!r}"


def newest(changelog: str) -> str:
    """The changelog up to the end of its newest section."""
    return "\n## ".join(changelog.split("\n## ")[:2])


def problems(path: Path) -> Iterator[str]:
    text = path.read_text()
    if path.name == "CHANGELOG.md":
        text = newest(text)
    found = [*in_code(text), *in_names(text)] if path.suffix == ".py" else in_text(text)
    for line, problem in found:
        yield f"{path}:{line + 1}: {problem}"


def parts() -> list[Path]:
    return sorted(path for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py")


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_code_has_no_words_that_need_a_translation(part: Path) -> None:
    files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
    lines = [line for path in files for line in problems(path)]
    assert not lines, "\n".join(lines)


def test_comments_and_messages_of_tests_have_no_words_that_need_a_translation() -> None:
    files = sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    lines = [
        f"{path}:{line + 1}: {problem}"
        for path in files
        for line, problem in in_code(path.read_text())
    ]
    assert not lines, "\n".join(lines)


MOST_WORDS = 35
"""Words of a sentence; 25 is the aim."""


def sentences(markdown: str) -> Iterator[str]:
    """The sentences of paragraphs and lists, without code, tables and headings."""
    markdown = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. ))|\n(?=#)", markdown):
        if not re.match(r" {4}|\s*\||#", paragraph):
            yield from re.split(r"(?<=[.:;?!])\**\s+", " ".join(paragraph.split()))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "deploy", "ofapp/README.md"])
def test_sentences_of_documents_are_short(name: str) -> None:
    path = ROOT / name
    files = sorted(path.rglob("*.md")) if path.is_dir() else [path]
    long = [
        f"{file}: {sentence}"
        for file in files
        for sentence in sentences(file.read_text())
        if len(sentence.split()) > MOST_WORDS
    ]
    assert not long, "\n".join(long)


def test_documents_and_the_page_have_no_words_that_need_a_translation() -> None:
    files = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    files += [*PACKAGE.rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    files.append(ROOT / "tests" / "bench" / "README.md")
    files += [*(PACKAGE / "api" / "page" / "js").glob("*.js"), *(PACKAGE / "lab").rglob("*.js")]
    lines = [line for path in sorted(files) for line in problems(path)]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_docstrings_begin_with_an_imperative_or_a_noun_phrase(part: Path) -> None:
    files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
    lines = [
        f"{path}:{line + 1}: {problem}"
        for path in files
        for line, problem in in_docstrings(path.read_text())
    ]
    assert not lines, "\n".join(lines)


def test_variables_say_what_they_hold_also_in_tests() -> None:
    lines = [
        f"{path}:{line + 1}: {problem}"
        for folder in (PACKAGE, ROOT / "tests")
        for path in sorted(folder.rglob("*.py"))
        if not str(path).endswith(FORMER_FIELD)
        for line, problem in in_variables(path.read_text())
    ]
    assert not lines, "\n".join(lines)
