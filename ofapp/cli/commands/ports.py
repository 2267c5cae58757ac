"""ofapp port: ports, their counters and their parameters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from ofapp.cli.arguments import AnyBridgeArgument, BridgeArgument, PortArgument
from ofapp.cli.client import CONNECT, Client, Json, path_of
from ofapp.cli.output import Column, print_json, repeat, say, short, show_table
from ofapp.cli.parameters import Given, setting, settings

app = typer.Typer(no_args_is_help=True)

_COUNTED = {
    "RX-FRAMES": ("rx_frames",),
    "RX-BYTES": ("rx_bytes",),
    "TX-FRAMES": ("tx_frames",),
    "TX-BYTES": ("tx_bytes",),
    "ERRORS": ("rx_errors", "tx_errors"),
    "DROPS": ("rx_dropped", "tx_dropped"),
}
"""Columns of counters; of two, the first counts received frames and the second sent ones."""
_RATES = ("RX-PPS", "RX-B/S", "TX-PPS", "TX-B/S", "ERRORS/S", "DROPS/S")
_Taken = dict[tuple[str, int], tuple[float, Json]]
"""Counters and the time when they were read, by bridge and port number."""


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    statistics: Annotated[
        bool,
        typer.Option("-s", "--statistics", help="Show the switch's counters of each port."),
    ] = False,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch",
            metavar="S",
            min=1,
            help="Show it again every S seconds until interrupted; with -s as rates a second.",
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("-j", "--json", help="Print JSON as `bridge -j link show` does, and more."),
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Show the ports of a bridge, or of all bridges.

    POLICY has what differs from the defaults: shutdown, isolated, locked, community, access list,
    rates in kbit/s, and priorities. It has rates by a RADIUS server, too.

    ERRORS and DROPS are those of received / sent frames.  With -s the frames are shown, too, that
    rates, storm control and limits towards the controller have dropped.
    """
    before: _Taken | None = None

    def once() -> None:
        nonlocal before
        ports = _ports(client, bridge, statistics)
        if json:
            print_json([_as_iproute2(port) for port in ports])
        else:
            _print(ports, statistics, before)
        before = _taken(ports) if statistics and watch is not None else None

    repeat(once, watch, json)


def _owners() -> list[type]:
    from ofapp.bridge.params.params import PortParams
    from ofapp.bridge.params.policy import PortPolicy

    return [PortParams, PortPolicy]


@setting(app, "set", _owners)
def set_(
    bridge: BridgeArgument,
    port: PortArgument,
    given: Given,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE...",
            help="As in the configuration file: isolated=true, vlan=10, "
            "vlan={trunk: [10, 20-30], native: 1}, storm={broadcast: 100}; "
            "rate_in=null takes a value away",
        ),
    ] = None,
    client: Client = CONNECT,
) -> None:
    """Change the VLANs or the policy of a port.

    It lasts until the file changes the same values, or `ofapp config reload --reset`.
    """
    client.patch(client.path(bridge, "ports", port), settings(values, given, _owners()))


def _ports(client: Client, bridge: str | None, counters: bool) -> list[Json]:
    ports = []
    for known in client.bridges(bridge):
        about = {"bridge": known["name"], "datapath_id": known["datapath_id"]}
        query = {"counters": "true"} if counters else None
        for port in client.get(path_of(known, "ports"), query)["ports"]:
            ports.append(about | port)
    return ports


def _print(ports: list[Json], statistics: bool, before: _Taken | None) -> None:
    if not statistics:
        trust = ["trust"] if any(port["trust"] != "none" for port in ports) else []
        policy: list[Column] = [("POLICY", _policy)] if any(map(_policy, ports)) else []
        show_table([*_COLUMNS, *trust, *policy], ports)
        return
    headings = _COUNTED if before is None else _RATES
    counted = (
        (heading, partial(_counts, names, before))
        for heading, names in zip(headings, _COUNTED.values(), strict=True)
    )
    speed = "MBIT/S", lambda port: port["speed_mbps"] or None
    show_table(["bridge", ("PORT", "name"), speed, *counted], ports)
    for port in ports:
        if held := [f"{kind} {count}" for kind, count in port["held_back"].items() if count]:
            age = port["held_back_age"]
            since = "" if age is None else f", as of {age:.0f} s ago"
            say(f"{port['bridge']} {port['name']}: frames above limits: {', '.join(held)}{since}")


def _number(port: Json) -> object:
    return "LOCAL" if port["local"] else port["number"]


def _state(port: Json) -> object:
    return port["state"] if port["lag"] is None else f"{port['state']} ({port['lag']})"


def _policy(port: Json) -> str:
    """What differs from the defaults in a port's policy."""
    flags = [name for name in ("shutdown", "isolated", "locked") if port[name]]
    defaults: Json = {"community": None, "acl": None, "rate_in": None, "rate_out": None}
    defaults |= {"qos_trust": "both", "priority": 0}
    unit = {"rate_in": " kbit/s", "rate_out": " kbit/s"}
    values = [
        f"{name} {port[name]}{unit.get(name, '')}"
        for name, usual in defaults.items()
        if port[name] != usual
    ]
    return ", ".join([*flags, *values])


_COLUMNS: tuple[Column, ...] = (
    *("bridge", ("PORT", "name"), ("NUMBER", _number), "mac", ("STATE", _state)),
    *("learned", "limit"),
)


def _taken(ports: list[Json]) -> _Taken:
    now = time.monotonic()
    return {
        (port["datapath_id"], port["number"]): (now - port["counters"]["age"], port["counters"])
        for port in ports
        if port["counters"] is not None
    }


def _counts(names: Sequence[str], before: _Taken | None, port: Json) -> str:
    """Counts since the switch began, or their increase per second since `before`."""
    return "/".join(_count(port, name, before) for name in names)


def _count(port: Json, name: str, before: _Taken | None) -> str:
    counters = port["counters"]
    if counters is None or counters[name] is None:
        return "-"
    if before is None:
        return short(counters[name])
    now = time.monotonic() - counters["age"]
    then, was = before.get((port["datapath_id"], port["number"]), (now, counters))
    if now <= then or was[name] is None or counters[name] < was[name]:
        return "-"
    return short(round((counters[name] - was[name]) / (now - then)))


def _as_iproute2(port: Json) -> Json:
    """A port in the format of `bridge -j link show`, with the fields of the API."""
    up = ["UP", "LOWER_UP"] if port["up"] else ["NO-CARRIER", "UP"]
    shaped = {"ifname": port["name"], "flags": up, "master": port["bridge"]}
    return shaped | port
