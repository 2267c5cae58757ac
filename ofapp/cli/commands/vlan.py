"""ofapp vlan: VLANs of ports, as `bridge vlan`."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import AnyBridgeArgument, BridgeArgument, PortArgument, VidArgument
from ofapp.cli.client import CONNECT, Client, Json, rows_of
from ofapp.cli.output import Column, show_table

app = typer.Typer(no_args_is_help=True)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    json: Annotated[
        bool, typer.Option("-j", "--json", help="Print JSON as `bridge -j vlan show` does.")
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Show the VLANs of each port."""
    ports = rows_of(client.each(bridge, "vlans"), "ports")
    show_table(_COLUMNS, map(_as_iproute2, ports) if json else ports, json)


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
    client: Client = CONNECT,
) -> None:
    """Add a port to a VLAN.

    It lasts until the file changes the port's VLANs, or `ofapp config reload --reset`.
    """
    path = client.path(bridge, "ports", port, "vlans", vid)
    client.put(path, {"pvid": pvid, "untagged": untagged})


@app.command("del")
def delete(
    bridge: BridgeArgument, port: PortArgument, vid: VidArgument, client: Client = CONNECT
) -> None:
    """Remove a port from a VLAN.

    It lasts until the file changes the port's VLANs, or `ofapp config reload --reset`.
    """
    client.delete(client.path(bridge, "ports", port, "vlans", vid))


_COLUMNS: tuple[Column, ...] = (
    "bridge",
    "port",
    ("MODE", lambda port: port["mode"] + ("" if port["takes_part"] else " (no part)")),
    "vlans",
    ("PVID", lambda port: "untagged" if port["pvid"] == 0 else port["pvid"]),
    "untagged",
)


def _as_iproute2(port: Json) -> Json:
    """A port in the format of `bridge -j vlan show`, with its bridge and mode."""
    text = "1-4094" if port["vlans"] == "all" else port["vlans"].replace("none", "")
    apart = {*port["untagged"], port["pvid"]} - {None}
    vlans: list[Json] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        vlans += _ranges(int(first), int(last or first), apart)
    for vlan in vlans:
        flags = ["PVID"] * (vlan["vlan"] == port["pvid"])
        flags += ["Egress Untagged"] * (vlan["vlan"] in port["untagged"])
        if flags:
            vlan["flags"] = flags
    name = port["port"]["name"]
    return {"ifname": name, "vlans": vlans, "master": port["bridge"], "mode": port["mode"]}


def _ranges(first: int, last: int, apart: set[int]) -> list[Json]:
    """Split a range: each VLAN of `apart` becomes a separate entry."""
    ranges: list[Json] = []
    for vid in [*sorted(vid for vid in apart if first <= vid <= last), last + 1]:
        if vid > first:
            more = {"vlanEnd": vid - 1} if vid - 1 > first else {}
            ranges.append({"vlan": first} | more)
        if vid <= last:
            ranges.append({"vlan": vid})
        first = vid + 1
    return ranges
