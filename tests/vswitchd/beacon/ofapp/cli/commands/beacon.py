"""ofapp beacon: beacons by port."""

from __future__ import annotations

import typer

from ofapp.cli.arguments import BridgeArgument
from ofapp.cli.client import CONNECT, Client, path_of
from ofapp.cli.output import Column, show_table

app = typer.Typer(help="Beacons.", no_args_is_help=True)

_COLUMNS: tuple[Column, ...] = ("port", "heard")


@app.command()
def show(bridge: BridgeArgument, client: Client = CONNECT) -> None:
    """Show the beacons of each port."""
    known = client.bridges(bridge)[0]
    heard = client.get(path_of(known, "beacon"))["heard"]
    show_table(_COLUMNS, [{"port": port, "heard": count} for port, count in heard.items()])


@app.callback()
def beacon() -> None:
    """Beacons."""
