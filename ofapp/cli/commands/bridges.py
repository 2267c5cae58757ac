"""ofapp bridge: the bridges and their state."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli import completion
from ofapp.cli.arguments import AnyBridgeArgument, JsonOption
from ofapp.cli.client import CONNECT, Client, Json, path_of, report_silent
from ofapp.cli.output import age, say, show_table

app = typer.Typer(no_args_is_help=True)


def _name(bridge: Json) -> str:
    former = bridge["former_name"]
    return str(bridge["name"]) if former is None else f"{bridge['name']} (was {former})"


def state(bridge: Json) -> str:
    """The state of a bridge's switch in a word."""
    if not bridge["connected"]:
        away = bridge["away"]
        return "disconnected" if away is None else f"disconnected {age(away)}"
    if bridge["standby"]:
        return "standby"
    return "ready" if bridge["in_line"] else "refusing" if bridge["refused"] else "connected"


_COLUMNS = (
    *(("BRIDGE", _name), "datapath_id", ("STATE", state)),
    *("fdb.learned", "fdb.static", "peer"),
)


@app.command("show")
def show_bridges(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, client: Client = CONNECT
) -> None:
    """Show all bridges, or one."""
    show_table(_COLUMNS, client.bridges(bridge), json)


@app.command("forget")
def forget_bridge(
    bridge: Annotated[
        str | None,
        typer.Argument(
            metavar="[BRIDGE]",
            help="The bridge: its name or datapath id.",
            autocompletion=completion.bridges,
        ),
    ] = None,
    absent: Annotated[
        bool, typer.Option("--absent", help="Forget all bridges whose switches are disconnected.")
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Forget a bridge whose switch is gone for good, with its static and permanent entries.

    A name that another bridge has taken over selects the bridges that had it before.
    """
    if absent == (bridge is not None):
        raise typer.BadParameter("give either BRIDGE or --absent")
    if absent:
        answer = client.delete("/v1/bridges", {"absent": "true"})
        report_silent(answer)
        for datapath_id in answer["forgotten"]:
            say(f"forgot {datapath_id}")
        return
    every = client.bridges()
    gone = [known for known in every if known["former_name"] == bridge]
    if not gone and not any(bridge in (known["name"], known["datapath_id"]) for known in every):
        gone = [{"datapath_id": bridge}]  # absent since the controller started, or unknown
    for known in gone or client.bridges(bridge):
        client.delete(path_of(known))
        say(f"forgot {known['datapath_id']}")
