"""ofapp topology: links between bridges, and their neighbours."""

from __future__ import annotations

import typer

from ofapp.cli.arguments import BridgeArgument, JsonOption, PortArgument, WatchOption
from ofapp.cli.client import CONNECT, Client, Json, report_silent
from ofapp.cli.output import Column, local_time, print_json, repeat, say, show_table

app = typer.Typer(no_args_is_help=True)

CABLES = ("cable.missing", "cable.silent")
"""Kinds of problems of cables that were there and carry nothing."""
_NO_TREE = {"role": "-", "state": "-"}


@app.command()
def show(watch: WatchOption = None, json: JsonOption = False, client: Client = CONNECT) -> None:
    """Show the links between the bridges, and neighbours that are not managed here.

    STP is the role and state of each end in spanning tree, or "disconnected" if its switch is not
    connected.
    """
    repeat(lambda: _show(client, json), watch, json)


@app.command("forget")
def forget_cable(bridge: BridgeArgument, port: PortArgument, client: Client = CONNECT) -> None:
    """Forget the missing cable of a port, which was removed for good."""
    client.delete(client.path(bridge, "ports", port, "cable"))


def _show(client: Client, json: bool) -> None:
    answer = client.get("/v1/topology")
    report_silent(answer)
    if json:
        print_json(answer)
        return
    names = {bridge["datapath_id"]: bridge["name"] for bridge in answer["bridges"]}
    show_table(_LINKS, [_link(link, names) for link in answer["links"]])
    for one in client.get("/v1/problems")["problems"]:
        if one["kind"] in CABLES:
            say(f"{one['message']}, since {local_time(one['since'])}", colour=typer.colors.RED)
    if answer["neighbours"]:
        say()
        bridge = ("BRIDGE", lambda one: names[one["datapath_id"]])
        show_table([bridge, *_NEIGHBOURS], answer["neighbours"])


def _link(link: Json, names: Json) -> Json:
    ends = [link[end] | {"stp": link["stp"][end] or _NO_TREE} for end in ("a", "b")]
    for end in ends:
        end["bridge"] = names[end["datapath_id"]]
    return {"a": ends[0], "b": ends[1], "source": link["source"]}


def _tree(end: Json) -> str:
    return f"{end['stp']['role']} {end['stp']['state']}" if end["connected"] else "disconnected"


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
