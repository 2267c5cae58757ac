"""ofapp completion: scripts for completion by the shell, and the values that they complete.

A value is asked of the controller.  Where it does not answer, nothing is offered.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from typing import Annotated

import typer

from ofapp.cli.access import CREDENTIALS, LOCAL, Credentials
from ofapp.cli.client import ApiError, Client, path_of

MOST = 1000
"""Addresses that are asked for."""
PATIENCE = 2.0
"""Seconds that a shell waits for the controller."""
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


def bridges(context: typer.Context, incomplete: str) -> list[str]:
    """Names of bridges."""
    with suppress(ApiError):
        known = _client(context).get("/v1/bridges")["bridges"]
        return sorted({one["name"] for one in known if one["name"].startswith(incomplete)})
    return []


def ports(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the ports of the named bridge, or of all bridges."""
    with suppress(ApiError):
        client = _client(context)
        names = {
            port["name"]
            for bridge in client.bridges(context.params.get("bridge"))
            for port in client.get(path_of(bridge, "ports"))["ports"]
        }
        return sorted(name for name in names if name.startswith(incomplete))
    return []


def addresses(context: typer.Context, incomplete: str) -> list[str]:
    """MAC addresses of the named bridge, or of all bridges.

    With dashes, unless colons are typed: bash and zsh take a colon for the end of a word.
    """
    between = ":" if ":" in incomplete else "-"
    with suppress(ApiError):
        client = _client(context)
        bridge = context.params.get("bridge")
        path = "/v1/fdb" if bridge is None else client.path(bridge, "fdb")
        found = client.get(path, {"limit": MOST})["entries"]
        texts = {one["mac"].replace(":", between) for one in found}
        return sorted(text for text in texts if text.startswith(incomplete.lower()))
    return []


def kinds(context: typer.Context, incomplete: str) -> list[str]:
    """Kinds of events, also behind a comma."""
    before, comma, last = incomplete.rpartition(",")
    with suppress(ApiError):
        known = _client(context).get("/v1/events/kinds")["kinds"]
        names = (one["kind"] for one in known)
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]
    return []


def _client(context: typer.Context) -> Client:
    """The controller that the command line and the environment name; ApiError."""
    given = context.params
    credentials = ("api_token", "api_authority", "api_certificate")
    CREDENTIALS.set(Credentials(*map(given.get, credentials)))
    return Client(given.get("api") or LOCAL, PATIENCE)


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
