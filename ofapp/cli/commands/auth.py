"""ofapp auth: who is authorised on controlled ports, and why others are not."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import (
    AnyBridgeArgument,
    BridgeArgument,
    JsonOption,
    MacOption,
    WatchOption,
)
from ofapp.cli.client import CONNECT, Client, Json, rows_of
from ofapp.cli.config_changes import counted
from ofapp.cli.output import Column, age, print_json, repeat, say, show_table
from ofapp.cli.parameters import add_protocol_settings

app = typer.Typer(help="Port access control: 802.1X and MAC authentication.", no_args_is_help=True)

OfPort = Annotated[
    str | None, typer.Argument(metavar="[PORT]", help="The port, by name or number; all without.")
]
StatisticsOption = Annotated[
    bool, typer.Option("-s", "--statistics", help="Show the counters of each port instead.")
]


def _granted(host: Json) -> str:
    """What the server grants a host besides the VLAN of its untagged frames."""
    given = (
        ("untagged", " ".join(map(str, host["untagged"]))),
        ("tagged", " ".join(map(str, host["tagged"]))),
        ("acl", host["acl"]),
        *((name, host[name] and f"{host[name]} kbit/s") for name in ("rate_in", "rate_out")),
    )
    return ", ".join(f"{name} {value}" for name, value in given if value)


_COLUMNS: tuple[Column, ...] = (
    *("bridge", "port", "mac"),
    ("USER", "user"),
    ("AUTHORISED", lambda host: "yes" if host["authorised"] else "no"),
    *("method", "vlan"),
    ("GRANTED", _granted),
    ("LEFT", lambda host: age(host["seconds_left"])),
    ("WHY", lambda host: host["why"]),
)


_COUNTERS: tuple[Column, ...] = (
    *("bridge", "port", ("AUTHENTICATION", "authentication"), "host_mode"),
    ("HOSTS", lambda port: f"{port['authorised']}/{port['hosts']}"),
    ("COUNTERS", lambda port: " ".join(f"{k}={v}" for k, v in port["counters"].items())),
)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    statistics: StatisticsOption = False,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the hosts of controlled ports.

    GRANTED has what the RADIUS server grants besides VLAN: further VLANs, an access list, rates.
    LEFT is the time until a host is authenticated again, or may be if it is held. WHY has the
    reason of a host that is not authorised, with the message of the RADIUS server.
    """
    repeat(lambda: _show(client, bridge, statistics, json), watch, json)


def _show(client: Client, bridge: str | None, statistics: bool, json: bool) -> None:
    answers = client.each(bridge, "port-access")
    if json:
        print_json(answers)
        return
    if not any(answer["enabled"] for answer in answers):
        say(
            "Port access control is off. `port_access: {enabled: true}` in the configuration file"
            " turns it on, and `ofapp auth set BRIDGE --on` until the file changes that."
        )
        return
    for each in answers:
        if each["dead"]:
            say(f"{each['bridge']}: no answer from {', '.join(each['dead'])}")
    columns, of = (_COUNTERS, "ports") if statistics else (_COLUMNS, "hosts")
    rows = rows_of(answers, of)
    controlled = sum(len(each["ports"]) for each in answers)
    if rows:
        show_table(columns, rows)
    elif controlled:
        say(f"No host has tried on {counted(controlled, 'controlled port')}.")
    else:
        say(
            "No controlled port is up. `ofapp auth set-port BRIDGE PORT --authentication dot1x`"
            " controls a port."
        )


@app.command()
def reauthenticate(
    bridge: BridgeArgument, port: OfPort = None, mac: MacOption = None, client: Client = CONNECT
) -> None:
    """Authenticate hosts again at once; they stay authorised meanwhile."""
    client.post(client.path(bridge, "port-access", "reauthenticate"), body=_selected(port, mac))


@app.command()
def clear(
    bridge: BridgeArgument, port: OfPort = None, mac: MacOption = None, client: Client = CONNECT
) -> None:
    """Forget hosts, also those that are held: each may try again at once."""
    client.post(client.path(bridge, "port-access", "clear"), body=_selected(port, mac))


def _selected(port: str | None, mac: str | None) -> Json:
    given = {"port": port, "mac": mac}
    return {name: value for name, value in given.items() if value is not None}


add_protocol_settings(app, "port-access", "port access control")
