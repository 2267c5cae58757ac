"""ofapp vlan: the VLANs of ports, as `bridge vlan` has them."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.client import DEFAULT_URL, ApiOption, Client, Json, JsonOption
from ofapp.cli.fdb import AnyBridgeArgument, BridgeArgument
from ofapp.cli.output import print_json, print_table

app = typer.Typer(help="VLANs of ports.", no_args_is_help=True)

PortArgument = Annotated[str, typer.Argument(metavar="PORT", help="A name, a number, or LOCAL.")]
VidArgument = Annotated[int, typer.Argument(metavar="VID", min=1, max=4094)]


@app.command()
def show(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, api: ApiOption = DEFAULT_URL
) -> None:
    """Show the VLANs that each port is in."""
    client = Client(api)
    told = [
        {"bridge": known["name"], "datapath_id": known["datapath_id"]}
        | client.get(f"/v1/bridges/{known['datapath_id']}/vlans")
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
    pvid: Annotated[bool, typer.Option("--pvid", help="Untagged frames belong to it.")] = False,
    untagged: Annotated[bool, typer.Option("--untagged", help="It leaves untagged.")] = False,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Let a port be in a VLAN.

    It lasts until the controller restarts, or its file changes the port's VLANs.
    """
    client = Client(api)
    path = f"{client.path(bridge)}/ports/{port}/vlans/{vid}"
    client.put(path, {"pvid": pvid, "untagged": untagged})


@app.command("del")
def delete(
    bridge: BridgeArgument, port: PortArgument, vid: VidArgument, api: ApiOption = DEFAULT_URL
) -> None:
    """Take a port out of a VLAN.

    It lasts until the controller restarts, or its file changes the port's VLANs.
    """
    client = Client(api)
    client.delete(f"{client.path(bridge)}/ports/{port}/vlans/{vid}")


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
