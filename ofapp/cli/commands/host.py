"""ofapp host: each host once, with its names, and labels for hosts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from ofapp.cli.arguments import JsonOption, MacArgument, PortOption, VlanOption
from ofapp.cli.client import CONNECT, Client, Json, report_silent
from ofapp.cli.output import Column, age, local_time, print_json, show_table

app = typer.Typer(help="Hosts: names, place, first and last seen.", no_args_is_help=True)


def _name(host: Json) -> str:
    if not host["names"]:
        return ""
    first = host["names"][0]
    source = "" if first["source"] == "label" else f" ({first['source']})"
    return f"{first['name']}{source}"


def _last(host: Json) -> str:
    return str(age(host["updated"])) if host["present"] else _time(host["last_seen"])


def _time(moment: str | None) -> str:
    return local_time(moment) or ""


_COLUMNS: tuple[Column, ...] = (
    "mac",
    ("NAME", _name),
    ("VENDOR", lambda host: host["vendor"] or ""),
    ("BRIDGE", lambda host: host["bridge"] or ""),
    ("PORT", lambda host: "" if host["port"] is None else host["port"]["name"]),
    ("VLAN", lambda host: [str(vlan) if vlan else "-" for vlan in host["vlans"]]),
    ("ADDRESSES", lambda host: host["addresses"]),
    ("FIRST SEEN", lambda host: _time(host["first_seen"])),
    ("LAST SEEN", _last),
)


@app.command()
def show(
    text: Annotated[
        str,
        typer.Argument(
            metavar="[TEXT]",
            help="Only hosts with this in a name, the MAC address, the vendor's name, or at the"
            " beginning of an IP address.",
        ),
    ] = "",
    vlan: VlanOption = None,
    port: PortOption = None,
    present: Annotated[
        bool, typer.Option("--present", help="Only hosts that a switch knows now.")
    ] = False,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """List each host once, at the port where it is attached; also hosts that have left.

    A name without a source is a label, set by `ofapp host label`. Other names are given by the
    host itself, by DHCP or LLDP, and are not verified.
    """
    wanted = {"q": text, "vlan": vlan, "port": port, "present": "true" if present else None}
    query = {name: value for name, value in wanted.items() if value not in (None, "")}
    hosts: list[Json] = []
    answer: Json = {"next": ""}
    while answer["next"] is not None:
        if answer["next"]:
            query["cursor"] = answer["next"]
        answer = client.get("/v1/hosts", query)
        hosts += answer["hosts"]
    if json:
        print_json(hosts)
    else:
        show_table(_COLUMNS, hosts)
    report_silent(answer)


@app.command()
def label(
    mac: MacArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The label: at most 64 characters.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the label.")] = False,
    client: Client = CONNECT,
) -> None:
    """Label a host: the label is shown before any name that the host gives itself."""
    if remove == (name is not None):
        raise typer.BadParameter("give either NAME or --remove")
    path = f"/v1/hosts/{quote(mac, safe=':')}/label"
    if name is None:
        client.delete(path)
    else:
        client.put(path, {"label": name})
