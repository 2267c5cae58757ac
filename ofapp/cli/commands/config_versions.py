"""ofapp config history, diff, rollback: configurations that were applied, and the way back."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import JsonOption
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.config_changes import DryRunOption, FlowsOption, query_of, say_outcome
from ofapp.cli.output import local_time, print_json, say

VersionArgument = Annotated[
    int, typer.Argument(metavar="VERSION", min=1, help="As in `ofapp config history`.")
]
_STATES = {
    "none": "there is no configuration file",
    "invalid": "{file} is invalid: {error}",
    "applied": "{file} is in force",
    "newer": "{file} was changed and is not applied: see `ofapp config diff`",
    "replaced": "{file} is not in force: another configuration is, see `ofapp config diff`",
}


def history(json: JsonOption = False, client: Client = CONNECT) -> None:
    """List the configurations that were applied, with author, time and changes.

    The last 50 files are kept. Settings that were made at run time are no versions: `ofapp events
    --kind audit` has them.
    """
    answer = client.get("/v1/config/versions")
    if json:
        print_json(answer)
        return
    for own in answer["versions"]:
        mark = ", in force" if own["in_force"] else ""
        where = f" ({own['address']})" if own["address"] else ""
        by = "" if own["how"] == "start" else f" by {own['by']}{where}"
        head = f"{own['version']}  {local_time(own['at'])}  {own['how']}{by}{mark}"
        say(head, bold=True)
        place = f"{own['file']} of member {own['member']}" if own["member"] else own["file"]
        say(f"    {place or 'no file'}")
        for change in own["changes"]:
            say(f"    {change}")
        if own["more"]:
            say(f"    and {own['more']} more changes")
    disk = answer["disk"]
    say(_STATES[disk["state"]].format(**disk))


def _version_or_disk(given: str | None) -> str | None:
    if given in (None, "disk") or given.isdecimal():
        return given
    raise typer.BadParameter(
        f"{given!r} is neither a version nor `disk`: see `ofapp config history`"
    )


def diff(
    old: Annotated[
        str | None,
        typer.Argument(
            metavar="[A]",
            help="A version, or `disk`: the file on disk. By default the version in force.",
            callback=_version_or_disk,
        ),
    ] = None,
    new: Annotated[
        str,
        typer.Argument(
            metavar="[B]", help="Another version, or `disk`.", callback=_version_or_disk
        ),
    ] = "disk",
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Compare two versions, or a version with the file on disk, which may be invalid.

    The lines of the file come first, then what differs for each bridge, in words.
    """
    query = {"new": new} if old is None else {"old": old, "new": new}
    answer = client.get("/v1/config/difference", query)
    if json:
        print_json(answer)
        return
    for line in answer["lines"]:
        say(line)
    if answer["more"]:
        say(f"and {answer['more']} more lines")
    if not answer["lines"]:
        say(f"{answer['old']['name']} and {answer['new']['name']} are equal")
    for file in (answer["old"], answer["new"]):
        if file["error"]:
            say(file["error"], err=True)
    _say_words(answer)


def rollback(
    version: VersionArgument,
    dry_run: DryRunOption = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="In a cluster: also if most of the former content is missing, or a member cannot"
            " apply it.",
        ),
    ] = False,
    flows: FlowsOption = False,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Apply a former version again, without losing a frame; in a cluster on all members.

    Without a cluster the file on disk stays as it is: the version is in force in its place, also
    after a restart, until the file is changed or `ofapp config reload` reads it.
    """
    query = query_of(dry_run=dry_run, force=force)
    answer = client.post(f"/v1/config/versions/{version}/rollback", query)
    say_outcome(answer, flows, json, dry_run)


def _say_words(answer: Json) -> None:
    for change in answer["fabrics"]:
        say(f"fabric {change}")
    for bridge in answer["bridges"] or ():
        say(f"{bridge['name']} ({bridge['datapath_id']}):")
        for change in bridge["changes"]:
            say(f"  {change}")
    for change in answer["restart"]:
        say(f"from the next start on: {change}")
