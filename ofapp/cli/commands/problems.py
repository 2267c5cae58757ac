"""ofapp problems: what is wrong now, and what to do about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ofapp.cli.arguments import BridgeOption, JsonOption
from ofapp.cli.client import CONNECT, Client, Json, report_silent
from ofapp.cli.groups import ShowByDefault
from ofapp.cli.output import local_time, print_json, say, severity_colour


class Severity(StrEnum):
    """Severities of problems, the least first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


FAULTY = 1
"""Exit status while there is an error that is not acknowledged."""

SeverityOption = Annotated[
    Severity, typer.Option("--severity", help="Only problems at least as severe.")
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="As in the list: 1f2e3d4c.")]

app = typer.Typer(
    cls=ShowByDefault,
)


@app.command("show")
def show_problems(
    bridge: BridgeOption = None,
    severity: SeverityOption = Severity.INFO,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Say what is wrong now, the worst first, and what to do about it.

    Exit status: 1 while there is an error that is not acknowledged, else 0.
    """
    answer = client.get("/v1/problems", {"severity": severity.value})
    listed = [
        one for one in answer["problems"] if bridge in (None, one["bridge"], one["datapath_id"])
    ]
    if json:
        print_json(listed)
    else:
        show(listed)
    report_silent(answer)
    if any(one["severity"] == "error" and not one["acknowledged"] for one in listed):
        raise typer.Exit(FAULTY)


@app.command()
def acknowledge(
    id_: IdArgument,
    comment: Annotated[str, typer.Option("--comment", help="What you say about it.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take it back.")] = False,
    client: Client = CONNECT,
) -> None:
    """Acknowledge a problem until it ends: it is listed, and does not count any more."""
    path = f"/v1/problems/{id_}/acknowledgement"
    if undo:
        client.delete(path)
    else:
        client.put(path, {"comment": comment})


@app.command()
def kinds(json: JsonOption = False, client: Client = CONNECT) -> None:
    """Explain all kinds of problems: what they mean, what to do, and when they end."""
    listed = client.get("/v1/problems/kinds")["kinds"]
    if json:
        print_json(listed)
        return
    for one in listed:
        say(f"{one['kind']} ({one['severity']})", bold=True)
        say(f"    {one['meaning']}")
        say(f"    To do: {one['advice']}")
        if one["remedy"]:
            say(f"        {one['remedy']}")
        say(f"    It ends when: {one['ends']}")


def show(listed: list[Json]) -> None:
    """Print problems, each with its remedy."""
    if not listed:
        say("No problems.")
    for one in listed:
        place = "/".join(filter(None, (one["bridge"] or "controller", one["port"])))
        seen = one["acknowledged"]
        colour = None if seen else severity_colour(one["severity"])
        say(f"{one['severity']}: {place}: {one['message']}", bold=True, colour=colour)
        say(f"    {one['advice']}")
        if one["remedy"]:
            say(f"        {one['remedy']}")
        by = f", acknowledged by {seen['by']}: {seen['comment'] or '-'}" if seen else ""
        say(f"    {one['id']} {one['kind']}, since {local_time(one['since'])}{by}")
