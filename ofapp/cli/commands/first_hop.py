"""ofapp first-hop: settings of first-hop security."""

from __future__ import annotations

import typer

from ofapp.cli.arguments import AnyBridgeArgument, JsonOption, WatchOption
from ofapp.cli.client import CONNECT, Client, rows_of
from ofapp.cli.output import Column, repeat, show_table
from ofapp.cli.parameters import add_protocol_settings

app = typer.Typer(no_args_is_help=True)


def _yes(name: str) -> Column:
    return name.upper().replace("_", "-"), lambda port: "yes" if port["parameters"][name] else "-"


_COLUMNS: tuple[Column, ...] = (
    *("bridge", "port", "trust"),
    ("SOURCE-GUARD", "parameters.source_guard"),
    ("ARP", _yes("arp_inspection")[1]),
    ("ND", _yes("nd_inspection")[1]),
    *(_yes("dhcp_server"), _yes("router")),
    ("BINDINGS", lambda port: f"{port['bindings']}/{port['parameters']['max_bindings']}"),
    "refused",
    ("ETHERTYPES", "parameters.ethertypes"),
)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show what is checked on each port.

    DHCP-SERVER and ROUTER tell whether these may be there. REFUSED counts bindings that were not
    made because the port's limit was reached; `ofapp binding refused` shows refused frames.
    ETHERTYPES are those that hosts may send.
    """
    repeat(lambda: _show(client, bridge, json), watch, json)


def _show(client: Client, bridge: str | None, json: bool) -> None:
    answers = client.each(bridge, "first-hop")
    show_table(_COLUMNS, answers if json else rows_of(answers, "ports"), json)


add_protocol_settings(app, "first-hop", None)
