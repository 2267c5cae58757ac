"""ofapp docs: the documentation in the terminal, or as files of a site."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.default_command import ShowByDefault
from ofapp.cli.output import say
from ofapp.docs import site

app = typer.Typer(
    help="The documentation: `ofapp docs PAGE` shows a page, and `ofapp docs` names them.",
    cls=ShowByDefault,
)


@app.command()
def show(
    page: Annotated[str, typer.Argument(help="Its name, as in a link: vlans.")] = site.INDEX,
) -> None:
    """Show a page in the terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    name = page.removesuffix(".md")
    pages = site.sources()
    if name not in pages:
        near = get_close_matches(name, pages, cutoff=0.5)
        hint = f" (is it {' or '.join(near)}?)" if near else "; `ofapp docs` names all pages"
        raise typer.BadParameter(f"there is no page {name}{hint}")
    text = re.sub(r"<!--.*?-->", "", pages[name].read_text("utf-8"), flags=re.DOTALL)
    if name == site.INDEX:  # its links are the names of pages
        text = re.sub(r"\[([^]]+)\]\(([\w-]+)\.md\)", r"`\2`: \1", text)
    console = Console()
    with console.pager(styles=True) if console.is_terminal else console:
        console.print(Markdown(text, hyperlinks=False))


@app.command()
def build(folder: Annotated[Path, typer.Argument(help="Made if it does not exist.")]) -> None:
    """Write the documentation as a site of static files, which needs no server."""
    count = site.build(folder)
    say(f"{count} files in {folder}: open {folder / 'index.html'}")
