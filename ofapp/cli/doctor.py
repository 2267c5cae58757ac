"""ofapp doctor: what is wrong with this host's bridges, and how to mend it."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption
from ofapp.cli.client import ApiError, Client, Json
from ofapp.cli.deploy_options import DatabaseOption
from ofapp.cli.output import print_json, say

if TYPE_CHECKING:
    from ofapp.deploy.diagnose import Told
    from ofapp.deploy.finding import Finding


def doctor(
    bridge: Annotated[
        str | None,
        typer.Argument(metavar="BRIDGE", help="The bridge, by its name. Without it, all bridges."),
    ] = None,
    json: JsonOption = False,
    db: DatabaseOption = None,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Say what is wrong with this host, its Open vSwitch and its controller, and how to mend it.

    Exit status 1 when there is an error; warnings alone leave it at 0.
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
    if any(finding.fatal for finding in found):
        raise typer.Exit(1)


def _ask(url: str) -> Told:
    """What the controller tells."""
    from ofapp.deploy.diagnose import Told

    client = Client(url)
    try:
        bridges = {known["datapath_id"]: known for known in client.bridges()}
    except ApiError as error:
        return Told(url, problem=str(error).partition(" (")[0])
    trees, lags = {}, {}
    for known in bridges:
        with suppress(ApiError):
            trees[known] = client.get(f"/v1/bridges/{known}/stp")
        with suppress(ApiError):
            lags[known] = client.get(f"/v1/bridges/{known}/lags")["lags"]
    config: Json = {}
    with suppress(ApiError):
        config = client.get("/v1/config")
    members, unsaved = config.get("members", []), config.get("unsaved")
    return Told(url, None, bridges, trees, lags, members, unsaved)


def _show(found: tuple[Finding, ...]) -> None:
    if not found:
        say("nothing is wrong")
    for finding in found:
        kind = "error" if finding.fatal else "warning"
        say(f"{kind}: {finding.where}: {finding.problem}", bold=True)
        say(f"    {finding.fix}")


def _as_json(finding: Finding) -> Json:
    return {
        "severity": "error" if finding.fatal else "warning",
        "where": finding.where,
        "problem": finding.problem,
        "fix": finding.fix,
    }
