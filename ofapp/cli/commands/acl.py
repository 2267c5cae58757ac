"""ofapp acl: access lists and their counters."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import AnyBridgeArgument, JsonOption
from ofapp.cli.client import CONNECT, Client, Json, path_of
from ofapp.cli.output import Column, local_time, say, show_table

app = typer.Typer(no_args_is_help=True)


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
    client: Client = CONNECT,
) -> None:
    """Show the access lists of a bridge, or of all bridges, with the hits of each rule."""
    acls = []
    for known in client.bridges(bridge):
        about = {"bridge": known["name"], "datapath_id": known["datapath_id"]}
        answer = client.get(path_of(known, "acls"))
        about |= {"metered": answer["metered"], "first_zone": answer["first_zone"]}
        acls += [about | acl for acl in answer["acls"]]
    if details and not json:
        _print_details(acls)
    else:
        rules = acls if json else [rule for acl in acls for rule in _rules(acl)]
        show_table(_COLUMNS, rules, json)


def _rules(acl: Json) -> list[Json]:
    about = {"bridge": acl["bridge"], "acl": acl["name"]}
    return [rule | about | {"#": number} for number, rule in enumerate(acl["rules"], 1)]


def _print_details(acls: list[Json]) -> None:
    for at, acl in enumerate(acls):
        if at:
            say()
        ports = ", ".join(port["name"] for port in acl["ports"]) or "no port"
        say(f"{acl['bridge']} {acl['name']}, on {ports}")
        if acl["metered"] is False and any(rule["rate"] for rule in acl["rules"]):
            say("The switch has no meters: rates are not limited.")
        if acl["first_zone"] is not None:
            say(f"Connections are tracked in zone {acl['first_zone']} plus the VID.")
        show_table(_DETAILED, _rules(acl))


def _action(rule: Json) -> str:
    said = str(rule["action"])
    for mark in ("dscp", "pcp"):
        if rule[mark] is not None:
            said += f" {mark}={rule[mark]}"
    if rule["rate"] is not None:
        said += f" {rule['rate']}/s"
    if rule["mirror"] is not None:
        away = "" if rule["mirror"]["number"] is not None else " (absent)"
        said += f", to {rule['mirror']['name']}{away}"
    return said


_COLUMNS: tuple[Column, ...] = (
    *("bridge", "acl", "#", ("RULE", "name"), ("ACTION", _action), "packets", "bytes"),
)
_DETAILED: tuple[Column, ...] = (
    "#",
    ("RULE", lambda rule: None if rule["name"] == rule["match"] else rule["name"]),
    "match",
    ("ACTION", _action),
    "packets",
    "bytes",
    ("OVER RATE", lambda rule: rule["over_rate"] if rule["rate"] else None),
    ("SINCE", lambda rule: local_time(rule["since"])),
)
