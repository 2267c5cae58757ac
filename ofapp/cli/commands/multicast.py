"""ofapp multicast: state and parameters of multicast snooping."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import AnyBridgeArgument, BridgeArgument, JsonOption, WatchOption
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.output import Column, age, repeat, show_table, tagged
from ofapp.cli.parameters import Given, is_off, say_no_effect, setting, settings

app = typer.Typer(no_args_is_help=True)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show where multicast is restricted to members, the queriers, and router ports."""
    repeat(lambda: _show(client, bridge, json), watch, json)


def _show(client: Client, bridge: str | None, json: bool) -> None:
    answers = client.each(bridge, "multicast")
    show_table(
        _COLUMNS, answers if json else [row for status in answers for row in _rows(status)], json
    )


def _owners() -> list[type]:
    from ofapp.bridge.multicast.params import Params, PortParams, VlanParams

    return [VlanParams, Params, PortParams]


@setting(app, "set", _owners)
def set_(
    bridge: BridgeArgument,
    given: Given,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE...",
            help="As in the configuration file: mcast_querier=true mcast_query_interval=60, "
            "vlans=[{vlan: 7, mcast_querier: false}]",
        ),
    ] = None,
    vlan: Annotated[
        int | None,
        typer.Option(
            "--vlan", metavar="VID", help="Set them for this VLAN; 0 stands for untagged frames."
        ),
    ] = None,
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="Set them for this port.")
    ] = None,
    client: Client = CONNECT,
) -> None:
    """Set parameters of a bridge, a VLAN or a port, all at once, in any order.

    With a port and a VLAN, mcast_router holds in that VLAN of the port; null: as the port's.
    It lasts until the file changes the same values, or `ofapp config reload --reset`.
    """
    below: tuple[str | int, ...] = () if port is None else ("ports", port)
    below = below if vlan is None else (*below, "vlans", vlan)
    wanted = settings(values, given, _owners())
    answer = client.patch(client.path(bridge, "multicast", *below), wanted)
    if "mcast_snooping" not in wanted and is_off(client, bridge, "multicast", answer):
        say_no_effect(f"`ofapp multicast set {bridge} mcast_snooping=true` turns snooping on")


def _rows(status: Json) -> list[Json]:
    if not status["enabled"]:
        off = {"vlan": None, "family": None, "groups": None, "forwarding": "flood"}
        return [{"bridge": status["bridge"], **off, "querier": None, "router_ports": []}]
    return [
        {"bridge": status["bridge"], "vlan": vlan["vlan"], "family": family, **vlan[family]}
        for vlan in status["vlans"]
        for family in ("ipv4", "ipv6")
    ]


def _querier(row: Json) -> str:
    querier = row["querier"]
    if querier is None:
        return "off"
    if querier["state"] == "none":
        return "none"
    if querier["state"] == "self":
        return f"self {querier['address']}"
    where = f" at {querier['port']['name']}" if querier["port"] is not None else ""
    return f"{querier['address'] or 'unknown'}{where}, {age(querier['timer'])} left"


def _routers(row: Json) -> list[str]:
    return [f"{router['port']['name']} ({_left(router)})" for router in row["router_ports"]]


def _left(router: Json) -> str:
    return "permanent" if "permanent" in router["reasons"] else age(router["timer"])


_COLUMNS: tuple[Column, ...] = (
    *("bridge", ("VLAN", tagged), "family", "groups", "forwarding"),
    *(("QUERIER", _querier), ("ROUTER PORTS", _routers)),
)
