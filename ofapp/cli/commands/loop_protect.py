"""ofapp loop-protect: loops behind edge ports."""

from __future__ import annotations

import typer

from ofapp.cli.arguments import (
    AnyBridgeArgument,
    BridgeArgument,
    JsonOption,
    PortArgument,
    WatchOption,
)
from ofapp.cli.client import CONNECT, Client, rows_of
from ofapp.cli.output import Column, print_json, repeat, say, show_table
from ofapp.cli.parameters import add_protocol_settings

app = typer.Typer(no_args_is_help=True)

_COLUMNS: tuple[Column, ...] = (
    *("bridge", ("PORT", "name")),
    ("STATE", lambda port: "held" if port["held"] else "open"),
    ("LOOP TO", "held.other"),
    ("VLAN", "held.vlan"),
    ("TIMES", "held.times"),
    ("OPENS IN", lambda port: port["held"] and f"{port['held']['left']:.0f} s"),
)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the edge ports that are checked for loops, and those that are held."""

    def once() -> None:
        answers = client.each(bridge, "loop-protect")
        if json:
            print_json(answers)
        elif not any(answer["enabled"] for answer in answers):
            say(
                "Loop protection is off. `loop_protect: {enabled: true}` in the configuration file"
                " turns it on, and `ofapp loop-protect set BRIDGE --on` until the file changes"
                " that."
            )
        else:
            show_table(_COLUMNS, rows_of(answers, "ports"))

    repeat(once, watch, json)


@app.command()
def free(bridge: BridgeArgument, port: PortArgument, client: Client = CONNECT) -> None:
    """Open a held port before its time; a loop that is still there closes it again."""
    client.post(client.path(bridge, "loop-protect", "ports", port, "free"))


add_protocol_settings(app, "loop-protect", "loop protection")
