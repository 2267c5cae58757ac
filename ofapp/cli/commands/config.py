"""ofapp config: the configuration file checked, and what runs shown and reloaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.arguments import JsonOption
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.output import print_json, say

app = typer.Typer(help="The configuration file, and what runs.", no_args_is_help=True)

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
    counts = [_counted(len(config.bridges), "bridge")]
    if config.fabrics:
        counts.append(_counted(len(config.fabrics), "fabric"))
    say(f"{file}: valid, {', '.join(counts)}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the file, for editors that complete and check while one types."""
    from ofapp.config.model import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command()
def show(
    bridge: Annotated[
        str | None,
        typer.Option(
            "--bridge", metavar="BRIDGE", help="Only this bridge, by its name or datapath id."
        ),
    ] = None,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show what runs now, as a file that would make it so."""
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing, but say what would change.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Accept the file even if most of its former content is missing."
        ),
    ] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Discard all run-time settings.")] = False,
    flows: Annotated[
        bool, typer.Option("--flows", help="List the changed flows, too, with --dry-run.")
    ] = False,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Have the controller read its file again, without losing a frame.

    What was set at run time stays, unless the file has changed the same value.

    A dry run lists the changed settings, and below them what changes in the network: ports,
    aggregations, addresses and so on, with the number of their flows, groups and meters.
    """
    wanted = {"dry_run": dry_run, "force": force, "reset": reset}
    query = {name: "true" for name, given in wanted.items() if given}
    answer = client.post("/v1/config/reload", query or None)
    if as_json:
        print_json(answer)
        return
    for warning in answer["warnings"]:
        say(f"warning: {warning}", err=True)
    for change in answer["fabrics"]:
        say(f"fabric {change}")
    for bridge in answer["bridges"]:
        counts = "its switch is away" if bridge["sent"] is None else _counts(bridge["sent"])
        say(f"{bridge['name']} ({bridge['datapath_id']}): {counts}")
        for change in bridge["changes"]:
            say(f"  {change}{_RUN_TIME if change in bridge['dropped'] else ''}")
        for item in bridge.get("items", ()):  # an older controller has none
            say(f"    {_item_line(item)}")
        for line in bridge["lines"] if flows else ():
            say(f"      {line}")
    say(f"{'would be: ' if dry_run else ''}{answer['message']}")


@app.command()
def push(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Configuration file to apply on all members.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing, but say what would change.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Push even if most of the former content is missing, or a member cannot apply it.",
        ),
    ] = False,
    as_json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Push a configuration file to all members of a cluster; it replaces every member's local file.

    It is pushed as one document with its drop-ins (FILE.d/*.yaml). Any member may be asked. All
    members check it first; if one refuses it, nothing changes anywhere.
    """
    import base64
    import gzip

    from ofapp.config import ConfigError, merged_config

    try:
        data = base64.b64encode(gzip.compress(merged_config(file))).decode()
    except ConfigError as error:
        say(str(error), err=True)
        raise typer.Exit(1) from None
    wanted = {"dry_run": dry_run, "force": force}
    query = {name: "true" for name, given in wanted.items() if given}
    body = {"file": file.name, "data": data}
    answer = client.post("/v1/config/push", query or None, body)
    if as_json:
        print_json(answer)
        return
    for warning in answer["here"]["warnings"]:
        say(f"warning: {warning}", err=True)
    for own in answer["here"]["bridges"]:
        _say_cut_off(own)
    for line in _member_lines(answer["members"]):
        say(line)
    say(
        f"would be: {answer['here']['message']}"
        if dry_run
        else f"revision {answer['revision']} holds"
    )


def _say_cut_off(bridge: Json) -> None:
    """Name the hosts that would be cut off; an older controller does not tell."""
    for host in bridge.get("cut_off", ()):
        vlan = f" in VLAN {host['vlan']}" if host["vlan"] else ""
        what = f"{host['mac']}{vlan} on port {host['port']} would be cut off: it has no binding"
        say(f"warning: {bridge['name']}: {what}", err=True)


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


_RUN_TIME = " (was set at run time, and is taken back)"


def _item_line(item: Json) -> str:
    changes = f": {', '.join(item['changes'])}" if item["changes"] else ""
    return f"{item['item']}{changes} ({_counts(item['sent'])})"


def _counts(sent: dict[str, int]) -> str:
    counts = (_counted(number, kind.removesuffix("s")) for kind, number in sent.items() if number)
    return ", ".join(counts) or "no flow"


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
        lines += [f"    {_comment(f'at run time: {change}')}\n" for change in bridge["since"]]
        lines += [f"    {line}\n" for line in yaml_text(bridge["config"]).rstrip("\n").split("\n")]
    return lines


def _comment(text: str) -> str:
    """A comment of one line, also for a text of several."""
    seen = (one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return f"# {''.join(seen)}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
