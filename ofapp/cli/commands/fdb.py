"""ofapp fdb: show and change forwarding databases."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ofapp.cli.arguments import (
    AnyBridgeArgument,
    BridgeArgument,
    InVlan,
    JsonOption,
    MacArgument,
    MacOption,
    OnPort,
    PortOption,
    VlanOption,
    WatchOption,
)
from ofapp.cli.client import CONNECT, Client, Json, path_of, rows_of
from ofapp.cli.follow import follow
from ofapp.cli.output import Column, age, print_json, repeat, say, show_table, tagged

app = typer.Typer(no_args_is_help=True)

_COLUMNS: tuple[Column, ...] = (
    "mac",
    ("VLAN", lambda entry: "all" if entry["vlan"] is None else tagged(entry)),
    "port",
    ("TYPE", lambda entry: [entry["type"], *entry["flags"]]),
    ("UPDATED", lambda entry: age(entry["updated"])),
    ("USED", lambda entry: age(entry["used"])),
)
_LEFT = "LEFT", lambda entry: age(entry["seconds_left"])
_HELD: tuple[Column, ...] = (
    "mac",
    ("VLAN", tagged),
    "port",
    "elsewhere",
    "reason",
    _LEFT,
    "bridge",
)

_STATES = {"learned": "", "static": "static", "local": "permanent"}


class Type(StrEnum):
    """Origin of an entry."""

    LEARNED = "learned"
    STATIC = "static"
    LOCAL = "local"


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    mac: MacOption = None,
    vlan: VlanOption = None,
    port: PortOption = None,
    type_: Annotated[Type | None, typer.Option("--type", help="Only entries of this kind.")] = None,
    json: Annotated[
        bool, typer.Option("-j", "--json", help="Print JSON as `bridge -j fdb show` does.")
    ] = False,
    ip: Annotated[
        str | None,
        typer.Option("--ip", metavar="IP", help="Only hosts with this IP address."),
    ] = None,
    statistics: Annotated[
        bool, typer.Option("-s", "--statistics", help="With -j, also print `used` and `updated`.")
    ] = False,
    watch: WatchOption = None,
    client: Client = CONNECT,
) -> None:
    """Show the entries of a bridge, or of all bridges.

    IP is an address that the host has used as its sender address; hosts may forge it.
    """
    query = {
        "mac": mac,
        "vlan": vlan,
        "port": port,
        "type": None if type_ is None else type_.value,
        "ip": ip,
    }

    def once() -> None:
        entries = _entries(client, bridge, query)
        if json:
            print_json([_as_iproute2(entry, statistics) for entry in entries])
        else:
            _print(entries, bridge is None)

    repeat(once, watch, json)


def _entries(client: Client, bridge: str | None, query: Json) -> list[Json]:
    if bridge is None and query["port"] is None:
        return list(client.entries("/v1/fdb", query))
    return [
        entry | {"bridge": known["name"]}
        for known in client.bridges_with(query["port"], bridge)
        for entry in client.entries(path_of(known, "fdb"), query)
    ]


def _print(entries: list[Json], bridges: bool) -> None:
    """Print the table; columns IP and BRIDGE only where they are useful."""
    columns = [*_COLUMNS]
    if any(entry["addresses"] for entry in entries):
        columns.append(("IP", "addresses"))
    if bridges:
        columns.append("bridge")
    show_table(columns, entries)


@app.command()
def add(
    bridge: BridgeArgument,
    mac: MacArgument,
    port: OnPort,
    vlan: InVlan = 0,
    extern_learn: Annotated[
        bool,
        typer.Option(
            "--extern-learn",
            help="The entry does not age, but may move; it is lost when the controller restarts.",
        ),
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Add a static entry, or one that may move (--extern-learn)."""
    type_ = {"type": "extern_learn"} if extern_learn else {}
    client.put(client.path(bridge, "fdb", vlan, mac), {"port": port, **type_})


@app.command("del")
def delete(
    bridge: BridgeArgument,
    mac: MacArgument,
    vlan: InVlan = 0,
    client: Client = CONNECT,
) -> None:
    """Delete an entry; the address may be learned again."""
    client.delete(client.path(bridge, "fdb", vlan, mac))


@app.command()
def flush(
    bridge: BridgeArgument,
    mac: MacOption = None,
    vlan: VlanOption = None,
    port: PortOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Flush learned entries that match all given options; without options, all of them."""
    query = {"mac": mac, "vlan": vlan, "port": port}
    answer = client.delete(client.path(bridge, "fdb"), query)
    if json:
        print_json(answer)
    else:
        say(f"{answer['flushed']} entries forgotten")


@app.command()
def held(
    bridge: AnyBridgeArgument = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the addresses that are held down, because they flap or belong to a sticky port."""
    show_table(_HELD, rows_of(client.each(bridge, "fdb", "held"), "held"), json)


@app.command()
def release(
    bridge: BridgeArgument,
    mac: MacArgument,
    vlan: InVlan = 0,
    client: Client = CONNECT,
) -> None:
    """Release an address that is held down; it may move again."""
    client.delete(client.path(bridge, "fdb", "held", vlan, mac))


@app.command()
def monitor(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, client: Client = CONNECT
) -> None:
    """Follow the addresses as they are learned, move and go, as `bridge monitor fdb` does.

    Addresses that are held down and limits that are reached are shown, too.  Where very many are
    learned at a time, some are left out, and the numbers of the events (-j) have a gap.
    """
    follow(client, "fdb", bridge, lambda event: str(event["message"]), json)


def _as_iproute2(entry: Json, statistics: bool) -> Json:
    """An entry in the format and order of `bridge -j fdb show`."""
    shaped: Json = {"mac": entry["mac"], "ifname": entry["port"]["name"]}
    if entry["vlan"]:
        shaped["vlan"] = entry["vlan"]
    if statistics and entry["used"] is not None:
        shaped |= {"used": int(entry["used"]), "updated": int(entry["updated"])}
    return shaped | {
        "flags": entry["flags"],
        "master": entry["bridge"],
        "state": _STATES[entry["type"]],
    }
