"""ofapp vlan: the VLANs of ports, as `bridge vlan` has them."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import (
    DEFAULT_URL,
    AnyBridgeArgument,
    ApiOption,
    BridgeArgument,
    JsonOption,
    PortArgument,
    VidArgument,
)
from ofapp.cli.client import Client, Json, path_of
from ofapp.cli.output import print_json, print_table

app = typer.Typer(help="VLANs of ports.", no_args_is_help=True)


@app.command()
def show(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, api: ApiOption = DEFAULT_URL
) -> None:
    """Show the VLANs that each port is in."""
    client = Client(api)
    told = [
        {"bridge": known["name"], "datapath_id": known["datapath_id"]}
        | client.get(path_of(known, "vlans"))
        for known in client.bridges(bridge)
    ]
    if json:
        print_json(told)
        return
    header = ["BRIDGE", "PORT", "MODE", "VLANS", "PVID", "UNTAGGED"]
    rows = [_row(status["bridge"], port) for status in told for port in status["ports"]]
    print_table(header, rows)


@app.command()
def add(
    bridge: BridgeArgument,
    port: PortArgument,
    vid: VidArgument,
    pvid: Annotated[
        bool, typer.Option("--pvid", help="Untagged frames that come in belong to this VLAN.")
    ] = False,
    untagged: Annotated[
        bool, typer.Option("--untagged", help="Frames of this VLAN leave the port untagged.")
    ] = False,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Let a port be in a VLAN.

    It lasts until the file changes the port's VLANs, or `ofapp config reload --reset`.
    """
    client = Client(api)
    path = client.path(bridge, "ports", port, "vlans", vid)
    client.put(path, {"pvid": pvid, "untagged": untagged})


@app.command("del")
def delete(
    bridge: BridgeArgument, port: PortArgument, vid: VidArgument, api: ApiOption = DEFAULT_URL
) -> None:
    """Take a port out of a VLAN.

    It lasts until the file changes the port's VLANs, or `ofapp config reload --reset`.
    """
    client = Client(api)
    client.delete(client.path(bridge, "ports", port, "vlans", vid))


def _row(bridge: str, port: Json) -> list[str]:
    pvid = {None: "-", 0: "untagged"}.get(port["pvid"], str(port["pvid"]))
    return [
        bridge,
        port["port"]["name"],
        port["mode"] if port["takes_part"] else f"{port['mode']} (no part)",
        port["vlans"],
        pvid,
        ",".join(map(str, port["untagged"])) or "-",
    ]
