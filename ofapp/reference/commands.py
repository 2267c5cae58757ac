"""The commands of `ofapp`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from ofapp.cli.app import app
from ofapp.cli.groups import paragraphs
from ofapp.cli.manual import complete
from ofapp.reference.table import code, head, plain, table

Command = Any
"""A command of the click that typer contains, which does not export the type."""


def page() -> Iterator[str]:
    """The paragraphs of the page."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    yield from head(
        "Commands",
        "Every command of `ofapp` with its options. `--help` behind a command shows the same."
        " Options for the connection are the same for all commands and are named once, below.",
    )
    yield "## Connection"
    # Commands keep the options of the help that they are asked for first.
    context = typer.Context(root, info_name="ofapp", **root.context_settings)
    connection = [row for row in _options(root.commands["top"], context) if "--api" in row[0]]
    yield table(["Option", "Meaning"], connection)
    for name, command in sorted(root.commands.items()):
        yield f"## ofapp {name}"
        yield from map(plain, paragraphs(command))
        below = typer.Context(command, info_name=name, parent=context)
        if not isinstance(command, TyperGroup):
            yield from _command(command, below, connection)
            continue
        for part, inner in sorted(command.commands.items()):
            yield f"### ofapp {name} {part}"
            yield from map(plain, paragraphs(inner))
            inside = typer.Context(inner, info_name=part, parent=below)
            yield from _command(inner, inside, connection)


def _command(command: Command, context: Any, common: list[list[str]]) -> Iterator[str]:
    pieces = " ".join(complete(command).collect_usage_pieces(context))
    yield f"```text\n{context.command_path} {pieces}\n```"
    rows = [row for row in _options(command, context) if row not in common]
    if rows:
        yield table(["Option", "Meaning"], rows)


def _options(command: Command, context: Any) -> list[list[str]]:
    full = complete(command)
    records = (parameter.get_help_record(context) for parameter in full.get_params(context))
    rows = [[code(" ".join(one[0].split())), plain(one[1])] for one in records if one is not None]
    return [row for row in rows if "--help" not in row[0]]
