"""ofapp doctor: what is wrong with this host's bridges, and how to fix it."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption
from ofapp.cli.client import ApiError, Client, Json
from ofapp.cli.commands.deploy.options import DatabaseOption
from ofapp.cli.output import print_json, say

if TYPE_CHECKING:
    from ofapp.deploy.diagnose import ControllerReport
    from ofapp.deploy.finding import Finding


SHOWN = 8
"""Places of one problem that are named."""

WARNINGS = 3
"""Exit status when there are warnings and no error.  2 is for a command that was typed wrong."""


def doctor(
    bridge: Annotated[
        str | None,
        typer.Argument(metavar="BRIDGE", help="The bridge, by its name. Without it, all bridges."),
    ] = None,
    json: JsonOption = False,
    db: DatabaseOption = None,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Say what is wrong with this host, its Open vSwitch and its controller, and how to fix it.

    Exit status: 0 when nothing is wrong, 1 with an error, 3 with warnings only.
    """
    # Half a second that other commands need not wait for.
    from ofapp.deploy.diagnose import diagnose
    from ofapp.deploy.netlink import Netlink
    from ofapp.deploy.observe import observe
    from ofapp.deploy.ovsdb import default_database

    with closing(Netlink()) as kernel:
        host = observe(kernel, db or default_database())
    found = diagnose(host, _ask(api), bridge)
    if json:
        print_json([_as_json(finding) for finding in found])
    else:
        _show(found)
    if found:
        raise typer.Exit(1 if any(finding.fatal for finding in found) else WARNINGS)


def _ask(url: str) -> ControllerReport:
    """Ask the controller for what the diagnosis needs."""
    from ofapp.deploy.diagnose import ControllerReport

    client = Client(url)
    try:
        bridges = {known["datapath_id"]: known for known in client.bridges()}
    except ApiError as error:
        return ControllerReport(url, problem=str(error).partition(" (")[0])
    trees, lags = {}, {}
    for known in bridges:
        with suppress(ApiError):
            trees[known] = client.get(f"/v1/bridges/{known}/stp")
        with suppress(ApiError):
            lags[known] = client.get(f"/v1/bridges/{known}/lags")["lags"]
    config: Json = {}
    with suppress(ApiError):
        config = client.get("/v1/config")
    cluster: Json = {}
    with suppress(ApiError):
        cluster = client.get("/v1/cluster")
    members, unsaved = config.get("members", []), config.get("unsaved")
    invalid = cluster.get("invalid", [])
    return ControllerReport(url, None, bridges, trees, lags, members, invalid, unsaved)


def _show(found: tuple[Finding, ...]) -> None:
    from ofapp.deploy.finding import grouped

    if not found:
        say("nothing is wrong")
        return
    for group in grouped(found):
        kind = "error" if group.fatal else "warning"
        say(f"{kind}: {_places(group.places)}: {group.problem}", bold=True)
        say(f"    {group.fix}")
    errors = sum(finding.fatal for finding in found)
    say(f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}")


def _places(places: tuple[str, ...]) -> str:
    shown = ", ".join(places[:SHOWN])
    if len(places) == 1:
        return shown
    more = f", and {len(places) - SHOWN} more (--json lists them)" if len(places) > SHOWN else ""
    return f"{len(places)} places ({shown}{more})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _as_json(finding: Finding) -> Json:
    return {
        "severity": "error" if finding.fatal else "warning",
        "where": finding.where,
        "problem": finding.problem,
        "fix": finding.fix,
    }
