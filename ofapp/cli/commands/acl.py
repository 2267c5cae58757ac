"""ofapp acl: access lists and their counters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ofapp.cli.arguments import DEFAULT_URL, AnyBridgeArgument, ApiOption, JsonOption
from ofapp.cli.client import Client, Json, path_of
from ofapp.cli.output import print_json, print_table, say

app = typer.Typer(help="Access lists.", no_args_is_help=True)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    details: Annotated[
        bool,
        typer.Option(
            "-d",
            "--details",
            help="Also show the ports, the matches, the frames over the rate and since when.",
        ),
    ] = False,
    json: JsonOption = False,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Show the access lists of a bridge, or of all bridges, rule by rule with what each has hit."""
    client = Client(api)
    told = []
    for known in client.bridges(bridge):
        about = {"bridge": known["name"], "datapath_id": known["datapath_id"]}
        found = client.get(path_of(known, "acls"))
        told += [about | acl | {"metered": found["metered"]} for acl in found["acls"]]
    if json:
        print_json(told)
    elif details:
        _print_details(told)
    else:
        header = ["BRIDGE", "ACL", "#", "RULE", "ACTION", "PACKETS", "BYTES"]
        print_table(header, [row for acl in told for row in _rows(acl)])


def _rows(acl: Json) -> list[list[str]]:
    return [
        [
            acl["bridge"],
            acl["name"],
            str(position),
            rule["name"],
            _action(rule),
            _number(rule["packets"]),
            _number(rule["bytes"]),
        ]
        for position, rule in enumerate(acl["rules"], 1)
    ]


def _print_details(told: list[Json]) -> None:
    for at, acl in enumerate(told):
        if at:
            say()
        ports = ", ".join(port["name"] for port in acl["ports"]) or "no port"
        say(f"{acl['bridge']} {acl['name']}, on {ports}")
        if acl["metered"] is False and any(rule["rate"] for rule in acl["rules"]):
            say("The switch has no meters: rates are not kept.")
        header = ["#", "RULE", "MATCH", "ACTION", "PACKETS", "BYTES", "OVER RATE", "SINCE"]
        print_table(header, [_detailed(n, rule) for n, rule in enumerate(acl["rules"], 1)])


def _detailed(position: int, rule: Json) -> list[str]:
    since = rule["since"]
    return [
        str(position),
        "-" if rule["name"] == rule["match"] else rule["name"],
        rule["match"],
        _action(rule),
        _number(rule["packets"]),
        _number(rule["bytes"]),
        _number(rule["over_rate"] if rule["rate"] else None),
        "-" if since is None else f"{datetime.fromisoformat(since).astimezone():%Y-%m-%d %H:%M:%S}",
    ]


def _action(rule: Json) -> str:
    said = str(rule["action"])
    if rule["rate"] is not None:
        said += f" {rule['rate']}/s"
    if rule["mirror"] is not None:
        away = "" if rule["mirror"]["number"] is not None else " (away)"
        said += f", to {rule['mirror']['name']}{away}"
    return said


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
