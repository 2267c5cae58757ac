"""The site: a file for each page, with navigation, style and search.

The files work under any address, also opened from a disk: links are relative, scripts are classic
ones, and the search is done in the browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path

from ofapp.common.assets import PACKED, read_asset
from ofapp.docs.markdown import Page

INDEX = "index"
SEARCH = "sections.js"
"""The text of all sections, for the search."""

_ROOT = files(__name__.rpartition(".")[0])
_ELSEWHERE = {"pipeline": (files("ofapp.openflow.pipeline"), "PIPELINE.md")}
"""Pages that are not in `pages/`."""
_FOLDERS = {
    "style.css": _ROOT / "assets",
    "search.js": _ROOT / "assets",
    "copy.js": _ROOT / "assets",
    "minisearch.js": _ROOT / "vendor" / "minisearch",
}
"""The folders of scripts and styles, by the name of the file."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading of the table of contents, and the pages below it by name."""

    title: str
    pages: tuple[str, ...]


def sources() -> dict[str, tuple[Traversable, str]]:
    """The Markdown files by the name of their page, each as its folder and its name."""
    folder = _ROOT / "pages"
    here = (item.name.removesuffix(PACKED) for item in folder.iterdir())
    pages = {each.removesuffix(".md"): (folder, each) for each in here if each.endswith(".md")}
    return pages | _ELSEWHERE


def text(name: str) -> str:
    """The Markdown of a page.  Raises KeyError when there is none of this name."""
    return read_asset(*sources()[name]).decode()


@cache
def page(name: str) -> Page:
    """A page, parsed once. Raises KeyError when there is none of this name."""
    return Page(text(name))


@cache
def contents() -> tuple[Chapter, ...]:
    """The table of contents, from index.md: the links below each heading."""
    return tuple(
        Chapter(title, tuple(link.removesuffix(".md") for link in links if link.endswith(".md")))
        for title, links in page(INDEX).links_by_section()
    )


def in_order() -> list[str]:
    """The names of all pages in the order of the table of contents, which is the first."""
    return [INDEX, *chain.from_iterable(chapter.pages for chapter in contents())]


@cache
def pictures() -> dict[str, Traversable]:
    """The pictures, by their path in the site."""
    found = (_ROOT / "pages" / "img").iterdir()
    return {f"img/{item.name}": item for item in found if item.name.endswith((".png", ".svg"))}


def names() -> list[str]:
    """The paths of all files of the site."""
    return [*(f"{name}.html" for name in in_order()), *_FOLDERS, *pictures(), SEARCH]


def content(path: str) -> bytes:
    """One of the files of the site. Raises KeyError for a path that is not one of `names`."""
    if path == SEARCH:
        return search_script(found for name in in_order() for found in sections(name))
    if path.endswith(".html"):
        return _html(path.removesuffix(".html")).encode()
    if path in _FOLDERS:
        return read_asset(_FOLDERS[path], path)
    return pictures()[path].read_bytes()


def sections(name: str) -> Iterator[dict[str, str]]:
    """The sections of a page, as the search finds them."""
    for section in page(name).sections:
        yield {
            "id": f"{name}.html" + (f"#{section.anchor}" if section.level > 1 else ""),
            "page": page(name).title,
            "title": section.title,
            "text": section.text,
        }


def search_script(found: Iterator[dict[str, str]]) -> bytes:
    """The script that hands the sections to the search: a file from a disk cannot be fetched."""
    return f"const SECTIONS = {json.dumps([*found], separators=(',', ':'))};\n".encode()


def build(folder: Path) -> int:
    """Write the site into a folder; returns the number of its files."""
    for path in names():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content(path))
    return len(names())


def _html(name: str) -> str:
    order = in_order()
    if name not in order:
        raise KeyError(name)
    at = order.index(name)
    before = order[at - 1] if at else None
    after = order[at + 1] if at + 1 < len(order) else None
    return _PAGE.format(
        title=escape(page(name).title),
        navigation="\n".join(_navigation(name)),
        content=page(name).html(),
        outline="\n".join(_outline(name)),
        turn=_turn(before, "prev", "Previous") + _turn(after, "next", "Next"),
    )


def _navigation(here: str) -> Iterator[str]:
    for chapter in contents():
        yield f"<h2>{escape(chapter.title)}</h2>\n<ul>"
        for name in chapter.pages:
            current = ' aria-current="page"' if name == here else ""
            yield f'<li><a href="{name}.html"{current}>{escape(page(name).title)}</a></li>'
        yield "</ul>"


def _outline(name: str) -> Iterator[str]:
    below = [section for section in page(name).sections if section.level == 2]
    if len(below) > 1 and name != INDEX:
        yield '<nav class="outline" aria-label="On this page">\n<ul>'
        for section in below:
            yield f'<li><a href="#{section.anchor}">{escape(section.title)}</a></li>'
        yield "</ul>\n</nav>"


def _turn(name: str | None, relation: str, word: str) -> str:
    if name is None:
        return ""
    return f'<a rel="{relation}" href="{name}.html">{word}: {escape(page(name).title)}</a>'


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · ofapp</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script defer src="minisearch.js"></script>
<script defer src="sections.js"></script>
<script defer src="search.js"></script>
<script defer src="copy.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="index.html">ofapp</a>
<nav class="network" aria-label="The network" hidden>
<a href="../#/problems">Problems</a> <a href="../#/map">Map</a> <a href="../#/switches">Switches</a>
<a href="../#/hosts">Hosts</a> <a href="../#/events">Events</a> <a href="../docs">API</a>
</nav>
<form role="search" hidden>
<input id="query" type="search" placeholder="Search ( / )" aria-label="Search the documentation"
 aria-controls="found" autocomplete="off" spellcheck="false" maxlength="100">
</form>
<div id="found" role="region" aria-label="Found" aria-live="polite" hidden></div>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages">
{navigation}
</nav>
<main id="main" tabindex="-1">
{content}<footer>{turn}</footer>
</main>
{outline}
</div>
</body>
</html>
"""
