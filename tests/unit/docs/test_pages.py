"""The pages: each is in the table of contents, its links lead somewhere, its blocks are valid."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ofapp.config import ConfigError, load_config
from ofapp.docs import site
from ofapp.docs.fences import parse_fence

BEDS = ("none", "bridge", "controller", "lab")
PAGES = sorted(site.sources())
SERVED_BESIDE = {"../", "../docs", "../openapi.json", "../metrics", "../healthz"}
"""What a page may point at on the controller that serves it."""


def source(name: str) -> str:
    return site.text(name)


def test_every_page_is_in_the_table_of_contents_once() -> None:
    order = site.in_order()
    assert sorted(order) == PAGES, (
        "add a line `- [Title](page.md)` to ofapp/docs/pages/index.md for each page, and none for"
        f" a page that is not there: {set(order) ^ set(PAGES) or 'one is named twice'}"
    )


def test_all_titles_differ() -> None:
    titles = [site.page(name).title for name in PAGES]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_its_title_and_what_it_gives(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    lines = [line for line in source(name).splitlines() if not line.startswith("<!--")]
    assert lines[0].startswith("# "), "the first line is the title"
    first = site.page(name).sections[0]
    assert first.level == 1
    assert first.text, "the first paragraph says what the reader will have at the end"
    others = [section for section in site.page(name).sections[1:] if section.level == 1]
    assert not others, "there is one title"


@pytest.mark.parametrize("name", PAGES)
def test_no_link_is_dead(name: str) -> None:
    dead = [target for target in site.page(name).links if not leads(name, target)]
    assert not dead, (
        f"{name}.md points at {dead}: link to a page (`vlans.md#anchor`), a picture (`img/x.png`)"
        " or https://...; a file of the repository is named as `path`, not linked"
    )


def leads(name: str, target: str) -> bool:
    """Whether a link of a page leads to something in the site."""
    if target in SERVED_BESIDE or target.startswith(("https://", "http://127.0.0.1")):
        return True
    parts = urlsplit(target)
    if parts.path.startswith("img/"):
        return parts.path in site.pictures()
    other = parts.path.removesuffix(".md") if parts.path else name
    if parts.path and (not parts.path.endswith(".md") or other not in PAGES):
        return False
    anchors = {section.anchor for section in site.page(other).sections}
    return not parts.fragment or parts.fragment in anchors


@pytest.mark.parametrize("target", ["gone.md", "index.md#gone", "#gone", "img/gone.png", "site.py"])
def test_a_dead_link_is_found(target: str) -> None:
    assert not leads("index", target)
    assert leads("index", "index.md#start")


def test_pictures_are_small_and_all_are_shown() -> None:
    shown = {target for name in PAGES for target in site.page(name).links}
    assert site.pictures().keys() <= shown
    sizes = {path: len(file.read_bytes()) for path, file in site.pictures().items()}
    assert {path for path, size in sizes.items() if size > 60_000} == set()
    assert sum(sizes.values()) + sum(len(source(name)) for name in PAGES) < 1_500_000


@pytest.mark.parametrize("name", PAGES)
def test_blocks_say_what_they_are(name: str, tmp_path: Path) -> None:
    beds = re.findall(r"<!-- bed: (\S+) -->", source(name))
    assert len(beds) <= 1
    assert set(beds) <= set(BEDS), f"a bed is one of {BEDS}"
    before = None
    for info, text, line in site.page(name).fences:
        where = f"{name}.md:{line}"
        fence = parse_fence(info)
        if fence.language == "output":
            assert before is not None, where
            assert before.language == "sh", f"{where}: an output follows commands"
        elif fence.language == "sh" and not fence.skip:
            assert beds, f"{where}: name the bed that types this, or write `sh skip: REASON`"
            assert beds != ["none"], f"{where}: no commands are typed in the bed `none`"
        elif fence.language == "yaml" and (not fence.file or fence.file.endswith("ofapp.yaml")):
            (tmp_path / "ofapp.yaml").write_text(text)
            try:
                load_config(tmp_path / "ofapp.yaml")
            except ConfigError as error:
                pytest.fail(f"{where}: {'; '.join(map(str, error.faults))}")
        before = fence


@pytest.mark.parametrize("info", ["sh skip:", "sh maybe", "yaml file=here.yaml", "output x"])
def test_a_word_without_a_meaning_is_refused(info: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_fence(info)
