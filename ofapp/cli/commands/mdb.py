"""ofapp mdb: show and set multicast groups and their ports."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from ofapp.cli.arguments import (
    AnyBridgeArgument,
    BridgeArgument,
    InVlan,
    JsonOption,
    OnPort,
    PortOption,
    VlanOption,
)
from ofapp.cli.client import CONNECT, Client, Json, path_of
from ofapp.cli.output import Column, age, print_json, show_table, tagged

app = typer.Typer(no_args_is_help=True)

GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group: an IPv4, IPv6 or MAC address.")
]
FromSource = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="ADDRESS",
        help="Only frames from this source. Without it, frames from all sources.",
    ),
]


class Type(StrEnum):
    """Origin of an entry."""

    TEMP = "temp"
    PERMANENT = "permanent"


GroupOption = Annotated[
    str | None, typer.Option("--group", metavar="GROUP", help="Only this group.")
]
TypeOption = Annotated[Type | None, typer.Option("--type", help="Only entries of this kind.")]


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    group: GroupOption = None,
    vlan: VlanOption = None,
    port: PortOption = None,
    type_: TypeOption = None,
    json: Annotated[
        bool, typer.Option("-j", "--json", help="Print JSON as `bridge -j mdb show` does.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "-d",
            "--details",
            help="Also show members; with -j also modes, sources and router ports.",
        ),
    ] = False,
    statistics: Annotated[
        bool, typer.Option("-s", "--statistics", help="With -j, also print timers.")
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Show the multicast entries of a bridge, or of all bridges."""
    query = {
        "group": group,
        "vlan": vlan,
        "port": port,
        "type": None if type_ is None else type_.value,
    }
    known = client.bridges_with(port, bridge)
    entries = []
    for one in known:
        path = path_of(one, "mdb")
        entries += [entry | {"bridge": one["name"]} for entry in client.entries(path, query)]
    if json:
        shaped = [row for entry in entries for row in _as_iproute2(entry, details, statistics)]
        routers = _routers(client, known, statistics) if details else {}
        print_json([{"mdb": shaped, "router": routers}])
        return
    columns = [*_COLUMNS, *(["hosts"] if details else []), *(["bridge"] if len(known) > 1 else [])]
    show_table(columns, entries)


@app.command()
def add(
    bridge: BridgeArgument,
    group: GroupArgument,
    port: OnPort,
    vlan: InVlan = 0,
    source: FromSource = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="ADDRESS",
            help="Frames from all sources but this; may be given several times.",
        ),
    ] = None,
    temp: Annotated[
        bool, typer.Option("--temp", help="Make an entry that ages, as if a host had joined.")
    ] = False,
    proto: Annotated[
        str | None,
        typer.Option(
            "--proto",
            metavar="NAME",
            help="Origin of the entry, as iproute2 names it: static, zebra, bgp, ...",
        ),
    ] = None,
    client: Client = CONNECT,
) -> None:
    """Add a permanent entry: forward a group to a port.

    The bridge's local port, which has the bridge's name, delivers the group to this host.
    """
    query = {
        "source": source,
        "exclude": ",".join(exclude) if exclude else None,
        "type": "temp" if temp else None,
        "proto": proto,
    }
    client.put(_path(client, bridge, vlan, group, port), query=query)


@app.command("del")
def delete(
    bridge: BridgeArgument,
    group: GroupArgument,
    port: OnPort,
    vlan: InVlan = 0,
    source: FromSource = None,
    type_: TypeOption = None,
    client: Client = CONNECT,
) -> None:
    """Delete an entry; the next query lets hosts report it again."""
    query = {"source": source, "type": None if type_ is None else type_.value}
    client.delete(_path(client, bridge, vlan, group, port), query)


@app.command()
def flush(
    bridge: BridgeArgument,
    group: GroupOption = None,
    vlan: VlanOption = None,
    port: PortOption = None,
    type_: Annotated[Type, typer.Option("--type", help="Kind of entries to flush.")] = Type.TEMP,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Flush entries that match all given options; without options, all that hosts reported."""
    query = {"group": group, "vlan": vlan, "port": port, "type": type_.value}
    answer = client.delete(client.path(bridge, "mdb"), query)
    if json:
        print_json(answer)
    else:
        typer.echo(f"{answer['flushed']} entries forgotten")


def _path(client: Client, bridge: str, vlan: int, group: str, port: str) -> str:
    return client.path(bridge, "mdb", vlan, group, port)


def _left(entry: Json) -> str:
    timer, sources = entry["timer"], entry["sources"]
    if timer is None and sources and entry["type"] == Type.TEMP:
        timer = max(source["timer"] for source in sources)
    return age(timer)


def _sources(entry: Json) -> str:
    """The sources of a group: all, all but some, or some."""
    if entry["source"] is not None:
        return str(entry["source"])
    if entry["filter_mode"] == "include":
        return ",".join(source["address"] for source in entry["sources"])
    blocked = ",".join(source["address"] for source in entry["sources"] if source["blocked"])
    return f"not {blocked}" if blocked else "all"


_COLUMNS: tuple[Column, ...] = (
    *("group", ("SOURCES", _sources), ("VLAN", tagged), "port", "type", ("LEFT", _left)),
)


def _as_iproute2(entry: Json, details: bool, statistics: bool) -> Iterator[Json]:
    """Entries in the format and order of `bridge -j mdb show`.

    A source that a host has named is a separate object there, without a time, and stands in
    the group's list as well.
    """
    for source in entry["sources"]:
        shaped = {
            **entry,
            "source": source["address"],
            "filter_mode": "include",
            "sources": [],
            "timer": None,
        }
        yield _object(shaped, ["blocked"] if source["blocked"] else [], details, statistics)
    yield _object(entry, [], details, statistics)


def _object(entry: Json, flags: list[str], details: bool, statistics: bool) -> Json:
    """`index` is the bridge's interface index, unknown to OpenFlow, so 0."""
    shaped: Json = {
        "index": 0,
        "dev": entry["bridge"],
        "port": entry["port"]["name"],
        "grp": entry["group"],
    }
    if entry["source"] is not None:
        shaped["src"] = entry["source"]
    shaped["state"] = entry["type"]
    if details:
        shaped["filter_mode"] = entry["filter_mode"]
        if entry["sources"]:
            shaped["source_list"] = [
                {"address": source["address"], "timer": f"{source['timer']:.2f}"}
                for source in entry["sources"]
            ]
        shaped["protocol"] = entry["proto"]
    shaped["flags"] = flags
    if entry["vlan"]:
        shaped["vid"] = entry["vlan"]
    if statistics:
        shaped["timer"] = _timer(entry["timer"])
    return shaped


def _timer(left: float | None) -> str:
    return f"{left or 0.0:7.2f}"


def _routers(client: Client, bridges: list[Json], statistics: bool) -> dict[str, list[Json]]:
    """Router ports by bridge; one in several VLANs is listed once, with the longest time."""
    routers: dict[str, list[Json]] = {}
    for bridge in bridges:
        status = client.get(path_of(bridge, "multicast"))
        left: dict[str, float] = {}
        permanent = set()
        for vlan in status["vlans"]:
            for router in vlan["ipv4"]["router_ports"] + vlan["ipv6"]["router_ports"]:
                name = router["port"]["name"]
                left[name] = max(left.get(name, 0.0), router["timer"] or 0.0)
                if "permanent" in router["reasons"]:
                    permanent.add(name)
        for name, timer in left.items():
            shaped: Json = {"port": name}
            if statistics:
                shaped["timer"] = _timer(None if name in permanent else timer)
                shaped["type"] = "permanent" if name in permanent else "temp"
            routers.setdefault(bridge["name"], []).append(shaped)
    return routers
