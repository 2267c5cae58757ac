"""ofapp completion: what has a shell complete commands, options and their values."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

COMPLETING = "_OFAPP_COMPLETE"
"""Set by the shell when it is the shell that asks."""


class Shell(StrEnum):
    """For which there is a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def prepare() -> None:
    """Answer a shell that asks, when the command runs; else this costs nothing."""
    if COMPLETING in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that has the shell complete ofapp's commands and options.

    For bash: ofapp completion bash > /etc/bash_completion.d/ofapp.  For zsh it is a file _ofapp in
    a folder of fpath, for fish ~/.config/fish/completions/ofapp.fish.  The Debian package has them.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="ofapp", complete_var=COMPLETING, shell=shell.value)
    typer.echo(script)
