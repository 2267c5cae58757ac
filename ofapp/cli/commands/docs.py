"""ofapp docs: the documentation in the terminal, or as files of a site."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.groups import ShowByDefault
from ofapp.cli.output import say

INDEX = "index"

app = typer.Typer(
    cls=ShowByDefault,
)


@app.command()
def show(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="Its name, as in a link: vlans.")
    ] = INDEX,
) -> None:
    """Show a page in the terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    from ofapp.docs import site

    name = page.removesuffix(".md")
    pages = site.sources()
    if name not in pages:
        near = get_close_matches(name, pages, cutoff=0.5)
        hint = f" (is it {' or '.join(near)}?)" if near else "; `ofapp docs` names all pages"
        raise typer.BadParameter(f"there is no page {name}{hint}")
    text = re.sub(r"<!--.*?-->", "", site.text(name), flags=re.DOTALL)
    if name == INDEX:  # its links are the names of pages
        text = re.sub(r"\[([^]]+)\]\(([\w-]+)\.md\)", r"`\2`: \1", text)
    console = Console()
    with console.pager(styles=True) if console.is_terminal else console:
        console.print(Markdown(text, hyperlinks=False))


@app.command()
def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Made if it does not exist.")],
    lab: Annotated[
        bool,
        typer.Option(
            help="Write the laboratory, too. Pyodide (Python for browsers) is downloaded."
        ),
    ] = True,
    pyodide: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use this package of Pyodide, downloaded from npm."),
    ] = None,
) -> None:
    """Write the documentation as a site of static files, and the laboratory below it."""
    from ofapp.docs import site

    count = site.build(folder)
    say(f"{count} files in {folder}: open {folder / 'index.html'}")
    if lab:
        _build_lab(folder / "lab", pyodide)


def _build_lab(folder: Path, package: Path | None) -> None:
    from ofapp.lab import files

    if package is None:
        try:
            content = files.download()
        except OSError as error:
            say(f"the laboratory is left out: {files.SOURCE}: {error}")
            say(f"with this file from elsewhere, add --pyodide pyodide-{files.VERSION}.tgz")
            return
    else:
        content = _read(package)
    try:
        count = files.build(folder, content)
    except ValueError as error:
        raise typer.BadParameter(f"{package}: {error}; {files.SOURCE} is") from error
    say(f"{count} files in {folder}: browsers need a web server, as in")
    say(f"python3 -m http.server --directory {folder.parent} 8000, for http://localhost:8000/lab/")


def _read(package: Path) -> bytes:
    try:
        return package.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{package}: {error.strerror}") from error
