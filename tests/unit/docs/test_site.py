"""The site: as static files, and in the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from ofapp.cli.app import app
from ofapp.docs import site
from ofapp.docs.markdown import Page

EXAMPLE = """# A *page*

<!-- bed: bridge -->
What it gives.

## The `first` part

See [another](vlans.md#trunk), and <b>no markup</b>.

```yaml file=/etc/ofapp/ofapp.yaml
bridges: {"<br0>": {}}
```

```output
anything
```

## The first part

| a | b |
|---|---|
| 1 | 2 |
"""


def test_a_page_has_anchors_links_to_html_and_escaped_code() -> None:
    page = Page(EXAMPLE)
    html = page.html()
    assert page.title == "A page"
    assert '<h2 id="the-first-part">' in html
    assert '<h2 id="the-first-part-1">' in html
    assert 'href="vlans.html#trunk"' in html
    assert "&quot;&lt;br0&gt;&quot;" in html
    assert '<div class="file">/etc/ofapp/ofapp.yaml</div>' in html
    assert '<div class="block output">' in html
    assert "<table>" in html
    assert "bed:" not in html
    assert [section.title for section in page.sections] == [
        "A page",
        "The first part",
        "The first part",
    ]


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs_in_the_page() -> None:
    for name in site.in_order():
        html = site.content(f"{name}.html").decode()
        assert not re.findall(r"<script>|<style|\son\w+=|\sstyle=", html), name
        for path in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"', html):
            assert path == "data:," or path in site.names(), f"{name} loads {path}"


def test_the_site_is_built_as_files(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["docs", "build", "--no-lab", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "site" / "index.html").read_bytes() == site.content("index.html")
    script = (tmp_path / "site" / "sections.js").read_text()
    found = json.loads(script.removeprefix("const SECTIONS = ").removesuffix(";\n"))
    assert {one["id"].partition("#")[0] for one in found} == {f"{n}.html" for n in site.in_order()}
    assert len({one["id"] for one in found}) == len(found)


def test_a_page_is_shown_in_the_terminal() -> None:
    shown = CliRunner().invoke(app, ["docs", "glossary"])
    assert shown.exit_code == 0
    assert "Glossary" in shown.output
    assert "glossary" in CliRunner().invoke(app, ["docs"]).output


def test_a_page_that_is_not_there_gives_those_that_are_similar() -> None:
    done = CliRunner().invoke(app, ["docs", "glosary"])
    assert done.exit_code != 0
    assert "glossary" in str(done.output) + str(done.exception)
