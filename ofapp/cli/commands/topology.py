"""ofapp topology: how the bridges hang together."""

from __future__ import annotations

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption, WatchOption
from ofapp.cli.client import Client, Json, tell_silent
from ofapp.cli.output import print_json, print_table, repeat, say

app = typer.Typer(help="How the bridges hang together.", no_args_is_help=True)

_NO_TREE = {"role": "-", "state": "-"}


@app.command()
def show(watch: WatchOption = None, json: JsonOption = False, api: ApiOption = DEFAULT_URL) -> None:
    """Show the links between the bridges, and the neighbours that are none of them.

    STP says what spanning tree has made of each end: role and state. Of a switch that is away
    ("away") that is not known.
    """
    client = Client(api)
    repeat(lambda: _show(client, json), watch, json)


def _show(client: Client, json: bool) -> None:
    told = client.get("/v1/topology")
    tell_silent(told)
    if json:
        print_json(told)
        return
    names = {bridge["datapath_id"]: bridge["name"] for bridge in told["bridges"]}
    header = ["BRIDGE", "PORT", "STP", "BRIDGE", "PORT", "STP", "SOURCE"]
    print_table(header, [_link(link, names) for link in told["links"]])
    if told["neighbours"]:
        say()
        header = ["BRIDGE", "PORT", "NEIGHBOUR", "ITS PORT", "SOURCE"]
        print_table(header, [_neighbour(one, names) for one in told["neighbours"]])


def _link(link: Json, names: Json) -> list[str]:
    row = []
    for end in ("a", "b"):
        tree = link["stp"][end] or _NO_TREE
        row += [names[link[end]["datapath_id"]], link[end]["port"]["name"]]
        row.append(f"{tree['role']} {tree['state']}" if link[end]["connected"] else "away")
    return [*row, link["source"]]


def _neighbour(one: Json, names: Json) -> list[str]:
    at = names[one["datapath_id"]], one["member"] or one["port"]["name"]
    said = one["lldp"] or {}
    who = said.get("system_name") or one["chassis_id"]
    return [*at, who, one["port_id"] or "-", one["source"]]
