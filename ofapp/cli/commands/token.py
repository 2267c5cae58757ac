"""ofapp token: tokens for clients of the API."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption
from ofapp.cli.client import ApiError, Client
from ofapp.cli.output import Column, local_time, say, show_table

app = typer.Typer(
    no_args_is_help=True,
)

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]


class TokenRole(StrEnum):
    """Role of a token."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def _seconds(text: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,8})([smhdwy])", text)
    if match is None:
        raise typer.BadParameter(f"{text}: write a number and s, m, h, d, w or y, such as 30d")
    return int(match[1]) * _UNITS[match[2]]


@app.command()
def create(
    name: NameArgument,
    role: Annotated[
        TokenRole,
        typer.Option(
            "--role",
            help="viewer reads; operator changes bridges and ports, too; admin also reloads the"
            " file, forgets bridges and makes tokens.",
        ),
    ],
    expires: Annotated[
        int | None,
        typer.Option(
            "--expires",
            metavar="TIME",
            parser=_seconds,
            help="Lifetime: 12h, 30d, 1y. Without it, unlimited.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the token to this new file, mode 0600, instead of printing it.",
        ),
    ] = None,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Make a token and print it; it is not shown again.

    Root may do so on the controller's machine, over the API's socket; remote clients need the
    role admin. From the first token on, all clients of the API have to authenticate.
    """
    file = None if output is None else _private(output)
    asked = {"name": name, "role": role.value, "expires_in": expires}
    try:
        made = Client(api).post("/v1/tokens", body=asked)
    except ApiError:
        if output is not None and file is not None:
            os.close(file)
            output.unlink()
        raise
    until = "until it is revoked" if made["expires"] is None else f"until {_when(made['expires'])}"
    say(f"token {made['name']}, {made['role']}, good {until}; it is not shown again:", err=True)
    if made["closes"]:
        say("it is the first: from now on the API asks everybody but root for a token", err=True)
        say(f"to undo that: ofapp token revoke {made['name']} --open", err=True)
    if file is None:
        typer.echo(made["token"])
        return
    with open(file, "w") as private:
        private.write(f"{made['token']}\n")


@app.command("list")
def list_(json: JsonOption = False, api: ApiOption = DEFAULT_URL) -> None:
    """List the tokens: roles, and time and address of their last use."""
    show_table(_COLUMNS, Client(api).get("/v1/tokens")["tokens"], json)


@app.command()
def revoke(
    name: NameArgument,
    reopen: Annotated[
        bool,
        typer.Option(
            "--open",
            help="With the last token: users of the controller's machine need none any more, as"
            " before the first one.",
        ),
    ] = False,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Revoke a token, and end the sessions that began with it."""
    query = {"open": "true"} if reopen else None
    Client(api).delete(f"/v1/tokens/{quote(name, safe='')}", query)
    say(f"revoked {name}{'; the API asks for no token any more' if reopen else ''}")


def _private(path: Path) -> int:
    """Create a file of mode 0600; typer.BadParameter if it exists."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        what = "it exists already; remove it, or name another file"
        reason = what if isinstance(error, FileExistsError) else error.strerror
        raise typer.BadParameter(f"--output {path}: {reason}") from None


def _when(moment: str | None) -> str | None:
    return local_time(moment, "%Y-%m-%d %H:%M")


_COLUMNS: tuple[Column, ...] = (
    *("name", "role", ("EXPIRES", lambda token: _when(token["expires"]) or "never")),
    ("LAST USED", lambda token: _when(token["used"])),
    *(("FROM", "used_from"), ("MADE BY", "creator")),
)
