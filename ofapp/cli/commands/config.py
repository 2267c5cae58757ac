"""ofapp config: the configuration file checked, and what runs shown and reloaded."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.arguments import JsonOption
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.commands import config_versions
from ofapp.cli.config_changes import (
    DryRunOption,
    FlowsOption,
    counted,
    query_of,
    say_changes,
    say_outcome,
)
from ofapp.cli.output import print_json, say

app = typer.Typer(no_args_is_help=True)

USUAL = Path("/etc/ofapp/ofapp.yaml")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to check.")] = USUAL,
) -> None:
    """Check a configuration file and its drop-ins (FILE.d/*.yaml).

    Every mistake is shown with its file and line; the status is 1 if there is one.

    It asks no switch: `ofapp config reload --dry-run` also compares names with a switch's ports.
    """
    from ofapp.config import ConfigError, load_config

    try:
        config = load_config(file)
    except ConfigError as error:
        for fault in error.faults:
            say(str(fault), err=True)
        raise typer.Exit(1) from None
    for warning in config.warnings():
        say(f"{file}: warning: {warning}", err=True)
    counts = [counted(len(config.bridges), "bridge")]
    if config.fabrics:
        counts.append(counted(len(config.fabrics), "fabric"))
    say(f"{file}: valid, {', '.join(counts)}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the file, for editors that complete and check while one types."""
    from ofapp.config.model import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command()
def show(
    version: Annotated[
        int | None,
        typer.Argument(
            metavar="[VERSION]", min=1, help="Print the file of this version, see `history`."
        ),
    ] = None,
    bridge: Annotated[
        str | None,
        typer.Option(
            "--bridge", metavar="BRIDGE", help="Only this bridge, by its name or datapath id."
        ),
    ] = None,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show what runs now, as a file that would make it so; or the file of a former version."""
    if version is not None:
        own = client.get(f"/v1/config/versions/{version}")
        if as_json:
            print_json(own)
        elif own["text"] is None:
            say(f"version {version} is too large: its file is not kept", err=True)
            raise typer.Exit(1)
        elif sys.stdout.isatty():
            for line in own["text"].splitlines():
                say(line)
        else:
            typer.echo(own["text"], nl=False)  # as it was, for a file
        return
    wanted = None if bridge is None else client.bridges(bridge)[0]["datapath_id"]
    status = client.get("/v1/config")
    bridges = [bridge for bridge in status["bridges"] if wanted in (None, bridge["datapath_id"])]
    if as_json:
        print_json({"bridges": {bridge["datapath_id"]: bridge["config"] for bridge in bridges}})
        return
    for line in _lines(status, bridges):
        say(line.rstrip("\n"))


@app.command()
def reload(
    dry_run: DryRunOption = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Accept the file even if most of its former content is missing."
        ),
    ] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Discard all run-time settings.")] = False,
    flows: FlowsOption = False,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Have the controller read its file again, without losing a frame.

    What was set at run time stays, unless the file has changed the same value.

    A dry run lists the changed settings, and below them what changes in the network: ports,
    aggregations, addresses and so on, with the number of their flows, groups and meters.
    """
    query = query_of(dry_run=dry_run, force=force, reset=reset)
    say_outcome(client.post("/v1/config/reload", query), flows, as_json, dry_run)


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Configuration file to compare.")],
    flows: FlowsOption = False,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show what a configuration file would change, and change nothing.

    The file is compared with what runs, with its drop-ins (FILE.d/*.yaml). It need not be where
    the controller reads its file. In a cluster the bridges of the member that is asked are shown.
    """
    answer = client.post("/v1/config/plan", None, file_body(file))
    say_outcome(answer, flows, as_json, dry_run=True)


@app.command()
def push(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Configuration file to apply on all members.")
    ],
    dry_run: DryRunOption = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Push even if most of the former content is missing, or a member cannot apply it.",
        ),
    ] = False,
    flows: FlowsOption = False,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Push a configuration file to all members of a cluster; it replaces every member's local file.

    It is pushed as one document with its drop-ins (FILE.d/*.yaml). Any member may be asked. All
    members check it first; if one refuses it, nothing changes anywhere.
    """
    query = query_of(dry_run=dry_run, force=force)
    answer = client.post("/v1/config/push", query, file_body(file))
    if as_json:
        print_json(answer)
        return
    say_changes(answer["here"], flows)
    for line in _member_lines(answer["members"]):
        say(line)
    say(
        f"would be: {answer['here']['message']}"
        if dry_run
        else f"revision {answer['revision']} holds"
    )


def file_body(file: Path) -> Json:
    """A file with its drop-ins, as requests have it; exit status 1 if it is not valid."""
    import base64
    import gzip

    from ofapp.config import ConfigError, merged_config

    try:
        data = base64.b64encode(gzip.compress(merged_config(file))).decode()
    except ConfigError as error:
        say(str(error), err=True)
        raise typer.Exit(1) from None
    return {"file": file.name, "data": data}


def _member_lines(members: list[Json]) -> list[str]:
    lines = []
    for member in members:
        does = (
            "its machine's file" if member["revision"] is None else f"revision {member['revision']}"
        )
        differs = "; its machine's file says something else" if member["differs"] else ""
        error = f"; it cannot do as the last one says: {member['error']}" if member["error"] else ""
        lines.append(f"member {member['name']}: {does}{differs}{error}")
    return lines


def _lines(status: Json, bridges: list[Json]) -> list[str]:
    from ofapp.common.yaml_text import yaml_text

    file = status["file"] or "no configuration file"
    lines = [_comment(f"{file}, read {status['loaded']}") + "\n"]
    lines += [_comment(line) + "\n" for line in _member_lines(status.get("members", []))]
    if not bridges:
        return [*lines, "bridges: {}\n"]
    lines.append("bridges:\n")
    for bridge in bridges:
        lines.append(f'  "{bridge["datapath_id"]}":  {_comment(bridge["name"])}\n')
        changes = [*bridge["since"], *bridge.get("run_time_entries", ())]  # not of an older one
        lines += [f"    {_comment(f'at run time: {change}')}\n" for change in changes]
        lines += [f"    {line}\n" for line in yaml_text(bridge["config"]).rstrip("\n").split("\n")]
    return lines


def _comment(text: str) -> str:
    """A comment of one line, also for a text of several."""
    seen = (one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return f"# {''.join(seen)}"


for _command in (config_versions.history, config_versions.diff, config_versions.rollback):
    app.command()(_command)
