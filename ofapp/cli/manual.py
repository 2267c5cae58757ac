"""Manual pages, generated from the commands: `python -m ofapp.cli.manual FOLDER`.

One page for `ofapp`, one for each group or single command (`ofapp-fdb.1`), and one for
`ofapp-manager`.  They contain what `--help` prints, and are generated when the package is built.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

import ofapp
from ofapp.cli.app import app
from ofapp.cli.arguments import ACCESS, OF_CONTROLLER, access_records
from ofapp.cli.groups import paragraphs, summary
from ofapp.cli.parameters import SettingCommand

_NAME = "ofapp"
MANAGER = "ofapp-manager"
_ABOUT_MANAGER = [
    "Runs os-ken applications, named as modules or as files, and `ofapp.app` unless others are"
    " named. Modules come before the options that they register themselves.",
    "By default it listens to this machine alone, for switches and for the API.",
    "SIGTERM and SIGINT end it, and the switches keep their flows. SIGHUP has it read its file"
    " again. It ends with status 2 for a wrong command line, with 1 when it cannot begin or go on.",
]
Command = Any
"""A command of the click that typer contains, which does not export the type."""


def pages() -> Iterator[tuple[str, str]]:
    """File names and contents."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    context = typer.Context(root, info_name=_NAME)
    children = sorted(root.commands.items())
    yield f"{_NAME}.1", _page(_NAME, root, context, [name for name, _ in children])
    for name, command in children:
        below = typer.Context(command, info_name=name, parent=context)
        yield f"{_NAME}-{name}.1", _page(f"{_NAME}-{name}", command, below, [])
    yield f"{MANAGER}.8", _manager_page()


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text)


def _page(title: str, command: Command, context: typer.Context, others: list[str]) -> str:
    said = paragraphs(command)
    summary = (said[0].splitlines() or [""])[0].rstrip(".:")
    lines = [
        *_head(title, 1, summary[:1].lower() + summary[1:]),
        *_synopsis(command, context),
    ]
    if len(said) > 1 or "\n" in said[0]:
        lines += [".SH DESCRIPTION", *_body(said)]
    if isinstance(command, TyperGroup) and not others:
        lines.append(".SH COMMANDS")
        for name, subcommand in sorted(command.commands.items()):
            below = typer.Context(subcommand, info_name=name, parent=context)
            lines += [f'.SS "{_text(below.command_path)}"', *_synopsis(subcommand, below)]
            lines += [".PP", *_body(paragraphs(subcommand)), *_options(subcommand, below)]
    else:
        options = _options(command, context)
        lines += [".SH OPTIONS", *options] if options else []
    if others:
        lines += [".SH THE CONTROLLER", "Options of the commands that ask it:"]
        lines += _rows(access_records(context))
        lines += [".SH COMMANDS", "Each has its own page.", *_list_of(command, others)]
        lines += [".SH SEE ALSO", f".BR {MANAGER} (8)"]
    else:
        lines += [".SH SEE ALSO", f".BR {_NAME} (1)"]
    return "\n".join(lines) + "\n"


def _manager_page() -> str:
    """The page of the launcher, whose options are registered with os-ken."""
    from ofapp.launcher.options import described

    lines = [
        *_head(MANAGER, 8, "the controller: starts os-ken applications"),
        f".B {_text(MANAGER)}",
        _text("[MODULE ...] [OPTION ...]"),
        ".SH DESCRIPTION",
        *_body(_ABOUT_MANAGER),
        ".SH OPTIONS",
    ]
    lines += _rows(described())
    return "\n".join([*lines, ".SH SEE ALSO", f".BR {_NAME} (1)"]) + "\n"


def _head(title: str, section: int, summary: str) -> list[str]:
    return [
        f'.TH {_text(title).upper()} {section} "" "ofapp {ofapp.__version__}" "ofapp"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
    ]


def _list_of(command: Command, others: list[str]) -> Iterator[str]:
    assert isinstance(command, TyperGroup)
    for name in others:
        yield from (".TP", f".BR {_NAME}-{_text(name)} (1)")
        yield _text(summary(command.commands[name]))


def _synopsis(command: Command, context: typer.Context) -> list[str]:
    pieces = " ".join(complete(command).collect_usage_pieces(context))
    return [f".B {_text(context.command_path)}", _text(pieces)]


def _options(command: Command, context: typer.Context) -> Iterator[str]:
    whole = complete(command)
    own = (one for one in whole.get_params(context) if one.name not in ACCESS)
    records = [record for one in own if (record := one.get_help_record(context)) is not None]
    if any(one.name in ACCESS for one in whole.get_params(context)):
        records.append(OF_CONTROLLER)
    yield from _rows(records)


def _rows(records: Iterable[tuple[str, str]]) -> Iterator[str]:
    for option, sentence in records:
        yield from (
            ".TP",
            f".B {_text(' '.join(option.split()))}",
            _text(" ".join(sentence.split())),
        )


def complete(command: Command) -> Command:
    """The command with all its options, also those that it makes when it runs."""
    return command.whole() if isinstance(command, SettingCommand) else command


def _body(paragraphs: list[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        yield _text(" ".join(paragraph.split()))


def _text(words: str) -> str:
    """Escape text for roff."""
    words = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words.startswith((".", "'")) else words


if __name__ == "__main__":
    write(Path(sys.argv[1]))
