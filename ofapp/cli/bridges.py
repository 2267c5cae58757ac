"""ofapp bridge and ofapp port: what there is and how it is."""

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
)
from ofapp.cli.client import Client, Json, path_of
from ofapp.cli.output import age, print_json, print_table, say
from ofapp.cli.parameters import Given, setting
from ofapp.cli.values import settings

bridge_app = typer.Typer(help="Bridges.", no_args_is_help=True)
port_app = typer.Typer(help="Ports.", no_args_is_help=True)


@bridge_app.command("show")
def show_bridges(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, api: ApiOption = DEFAULT_URL
) -> None:
    """Show the bridges, or one."""
    bridges = Client(api).bridges(bridge)
    if json:
        print_json(bridges)
        return
    header = ["BRIDGE", "DATAPATH ID", "STATE", "LEARNED", "STATIC", "PEER"]
    print_table(header, [_bridge_row(known) for known in bridges])


@bridge_app.command("forget")
def forget_bridge(bridge: BridgeArgument, api: ApiOption = DEFAULT_URL) -> None:
    """Forget a bridge whose switch is away for good, with its static and permanent entries.

    By the name that another bridge has now, it is every bridge that was called so before.
    """
    client = Client(api)
    gone = [known for known in client.bridges() if known["former_name"] == bridge]
    for known in gone or client.bridges(bridge):
        client.delete(path_of(known))
        say(f"forgot {known['datapath_id']}")


@port_app.command("show")
def show_ports(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, api: ApiOption = DEFAULT_URL
) -> None:
    """Show the ports of a bridge, or of all bridges."""
    client = Client(api)
    ports = []
    for known in client.bridges(bridge):
        about = {"bridge": known["name"], "datapath_id": known["datapath_id"]}
        for port in client.get(path_of(known, "ports"))["ports"]:
            ports.append(about | port)
    if json:
        print_json(ports)
        return
    header = ["BRIDGE", "PORT", "NUMBER", "MAC", "STATE", "LEARNED", "LIMIT"]
    print_table(header, [_port_row(port) for port in ports])


def _owners() -> list[type]:
    from ofapp.bridge.params import PortParams
    from ofapp.bridge.policy import PortPolicy

    return [PortParams, PortPolicy]


@setting(port_app, "set", _owners)
def set_port(
    bridge: BridgeArgument,
    port: PortArgument,
    given: Given,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE...",
            help="As in the configuration file: isolated=true, vlan=10, "
            "vlan={trunk: [10, 20-30], native: 1}, storm={broadcast: 100}",
        ),
    ] = None,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Give a port other VLANs or another policy.

    It lasts until the controller restarts, or its file changes the same values.
    """
    client = Client(api)
    client.patch(client.path(bridge, "ports", port), settings(values, given))


def _bridge_row(bridge: Json) -> list[str]:
    state = "ready" if bridge["in_line"] else "refusing" if bridge["refused"] else "connected"
    state = "standby" if bridge["standby"] else state
    if not bridge["connected"]:
        state = "away" if bridge["away"] is None else f"away {age(bridge['away'])}"
    former = bridge["former_name"]
    return [
        bridge["name"] if former is None else f"{bridge['name']} (was {former})",
        bridge["datapath_id"],
        state,
        str(bridge["fdb"]["learned"]),
        str(bridge["fdb"]["static"]),
        bridge["peer"] or "-",
    ]


def _port_row(port: Json) -> list[str]:
    return [
        port["bridge"],
        port["name"],
        "LOCAL" if port["local"] else str(port["number"]),
        port["mac"],
        port["state"],
        str(port["learned"]),
        "-" if port["limit"] is None else str(port["limit"]),
    ]
