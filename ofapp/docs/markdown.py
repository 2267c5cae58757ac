"""A page of Markdown, as HTML and as text for the search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ofapp.docs.fences import parse_fence


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text below it, up to the next heading; level 1 is the page's title."""

    level: int
    title: str
    anchor: str
    text: str


class Page:
    """A parsed page."""

    def __init__(self, source: str) -> None:
        self._tokens = _parser().parse(source)
        self._anchors = _set_anchors(self._tokens)
        self.sections = tuple(self._sections())

    @property
    def title(self) -> str:
        """The text of the first heading."""
        return self.sections[0].title

    @property
    def links(self) -> list[str]:
        """Targets of links and pictures, as written."""
        pairs = [(token.attrs.get("href") or token.attrs.get("src")) for token in self._inline()]
        return [str(target) for target in pairs if target]

    def links_by_section(self) -> Iterator[tuple[str, list[str]]]:
        """The headings of level 2, each with the targets of the links below it."""
        title, links = "", list[str]()
        for at, token in enumerate(self._tokens):
            if token.type == "heading_open" and token.tag == "h2":
                if title:
                    yield title, links
                title, links = _text(self._tokens[at + 1]), []
            for child in token.children or ():
                if child.type == "link_open":
                    links.append(str(child.attrs["href"]))
        if title:
            yield title, links

    @property
    def fences(self) -> list[tuple[str, str, int]]:
        """Fenced blocks: the words behind the fence, the content, and the line of the fence."""
        return [
            (token.info, token.content, (token.map or [0])[0] + 1)
            for token in self._tokens
            if token.type == "fence"
        ]

    def html(self) -> str:
        """The content of the page, from its title on."""
        html: str = _parser().renderer.render(self._tokens, _parser().options, {})
        return html

    def _inline(self) -> Iterator[Token]:
        for token in self._tokens:
            yield from token.children or ()

    def _sections(self) -> Iterator[Section]:
        level, title, anchor, text = 1, "", "", list[str]()
        for at, token in enumerate(self._tokens):
            if token.type == "heading_open":
                if anchor:
                    yield Section(level, title, anchor, " ".join(text))
                level, anchor, text = int(token.tag[1:]), self._anchors[at], []
                title = _text(self._tokens[at + 1])
            elif token.type == "fence":
                text.append(" ".join(token.content.split()))
            elif token.type == "inline" and self._tokens[at - 1].type != "heading_open":
                text.append(_text(token))
        yield Section(level, title, anchor, " ".join(text))


def _set_anchors(tokens: Sequence[Token]) -> dict[int, str]:
    """Give each heading an id, made from its text as GitHub does; returns them by position."""
    anchors: dict[int, str] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            words = re.sub(r"[^\w\- ]", "", _text(tokens[at + 1]).lower()).replace(" ", "-")
            taken = sum(
                re.fullmatch(rf"{words}(-\d+)?", one) is not None for one in anchors.values()
            )
            anchors[at] = f"{words}-{taken}" if taken else words
            token.attrSet("id", anchors[at])
    return anchors


def _text(inline: Token) -> str:
    """The text of an inline token, without marks."""
    kinds = {"text": None, "code_inline": None, "softbreak": " ", "hardbreak": " "}
    return "".join(
        kinds[child.type] or child.content for child in inline.children or () if child.type in kinds
    ).strip()


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    for rule in (heading_close, fence, html_block, link_open, table_open, table_close):
        parser.add_render_rule(rule.__name__, rule)
    return parser


def heading_close(_self: Any, tokens: Sequence[Token], at: int, *_: Any) -> str:
    """A link to the heading itself, behind its text."""
    opened = tokens[at - 2]
    if opened.tag == "h1":
        return "</h1>\n"
    anchor = escape(str(opened.attrs["id"]))
    label = escape(f"Link to: {_text(tokens[at - 1])}")
    return f' <a class="anchor" href="#{anchor}" aria-label="{label}">#</a></{opened.tag}>\n'


def fence(_self: Any, tokens: Sequence[Token], at: int, *_: Any) -> str:
    """A block of code, with the name of its file; it can be scrolled by keyboard."""
    kind = parse_fence(tokens[at].info)
    caption = f'<div class="file">{escape(kind.file)}</div>' if kind.file else ""
    code = f'<pre tabindex="0"><code>{escape(tokens[at].content)}</code></pre>'
    classes = "block output" if kind.language == "output" else "block"
    return f'<div class="{classes}">{caption}{code}</div>\n'


def html_block(_self: Any, tokens: Sequence[Token], at: int, *_: Any) -> str:
    """Nothing: the pages use HTML for comments alone."""
    return ""


def link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A link; one to a page leads to the page's HTML."""
    token = tokens[at]
    target = urlsplit(str(token.attrs["href"]))
    if not target.netloc and target.path.endswith(".md"):
        path = target.path.removesuffix(".md") + ".html"
        token = token.copy(attrs={**token.attrs, "href": target._replace(path=path).geturl()})
    html: str = self.renderToken([token], 0, options, env)
    return html


def table_open(*_: Any) -> str:
    """A table, which may be wider than the page."""
    return '<div class="wide" tabindex="0"><table>\n'


def table_close(*_: Any) -> str:
    """End of a table."""
    return "</table></div>\n"
