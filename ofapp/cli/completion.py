"""ofapp completion: scripts for completion by the shell."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

COMPLETING = "_OFAPP_COMPLETE"
"""Environment variable that the shell sets for a completion."""


class Shell(StrEnum):
    """Shells with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def prepare() -> None:
    """Prepare for a completion if the shell asks for one."""
    if COMPLETING in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a completion script for ofapp's commands and options.

    For bash: ofapp completion bash > /etc/bash_completion.d/ofapp.  For zsh it is a file _ofapp in
    a folder of fpath, for fish ~/.config/fish/completions/ofapp.fish.  The Debian package has them.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="ofapp", complete_var=COMPLETING, shell=shell.value)
    typer.echo(script)
