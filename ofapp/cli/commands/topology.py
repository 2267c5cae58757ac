"""ofapp topology: how the bridges hang together."""

from __future__ import annotations

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption, WatchOption
from ofapp.cli.client import Client, Json, tell_silent
from ofapp.cli.output import Column, print_json, repeat, say, show_table

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
    show_table(_LINKS, [_link(link, names) for link in told["links"]])
    if told["neighbours"]:
        say()
        bridge = ("BRIDGE", lambda one: names[one["datapath_id"]])
        show_table([bridge, *_NEIGHBOURS], told["neighbours"])


def _link(link: Json, names: Json) -> Json:
    ends = [link[end] | {"stp": link["stp"][end] or _NO_TREE} for end in ("a", "b")]
    for end in ends:
        end["bridge"] = names[end["datapath_id"]]
    return {"a": ends[0], "b": ends[1], "source": link["source"]}


def _tree(end: Json) -> str:
    return f"{end['stp']['role']} {end['stp']['state']}" if end["connected"] else "away"


_LINKS: tuple[Column, ...] = (
    *("a.bridge", "a.port", ("STP", lambda link: _tree(link["a"]))),
    *("b.bridge", "b.port", ("STP", lambda link: _tree(link["b"]))),
    "source",
)
_NEIGHBOURS: tuple[Column, ...] = (
    ("PORT", lambda one: one["member"] or one["port"]),
    ("NEIGHBOUR", lambda one: (one["lldp"] or {}).get("system_name") or one["chassis_id"]),
    *(("ITS PORT", "port_id"), "source"),
)
