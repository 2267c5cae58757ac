"""ofapp binding: which addresses hosts may use, and what was refused."""

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
from ofapp.cli.output import Column, age, local_time, repeat, say, show_table, tagged

app = typer.Typer(no_args_is_help=True)

AddressArgument = Annotated[
    str,
    typer.Argument(metavar="ADDRESS", help="The IPv4 or IPv6 address, or a prefix: ADDRESS/BITS."),
]


def _claimed(claim: Json) -> str:
    return claim["claim"] if claim["ethertype"] is None else f"ethertype {claim['ethertype']}"


_COLUMNS: tuple[Column, ...] = (
    *("bridge", "port", ("VLAN", tagged), "mac", "address"),
    ("ORIGIN", lambda binding: binding["origin"] + (" shared" if binding["shared"] else "")),
    ("LEFT", lambda binding: age(binding["seconds_left"])),
)
_REFUSED: tuple[Column, ...] = (
    *("bridge", "port", ("VLAN", tagged), "mac", ("CLAIM", _claimed)),
    "address",
    ("BOUND TO", lambda claim: _owner(claim["contradicts"])),
    ("REASON", lambda claim: claim["why"]),
    *("samples", ("LAST", lambda claim: local_time(claim["last"]))),
    ("PASSED", lambda claim: "yes" if claim["passed"] else None),
)


class Origin(StrEnum):
    """Where a binding comes from."""

    DHCP = "dhcp"
    DHCPV6 = "dhcpv6"
    ND = "nd"
    FILE = "file"
    API = "api"


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address", metavar="IP", help="Only this address, and prefixes that contain it."
        ),
    ] = None,
    mac: MacOption = None,
    vlan: VlanOption = None,
    port: PortOption = None,
    origin: Annotated[
        Origin | None, typer.Option("--origin", help="Only bindings that come from there.")
    ] = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the bindings of a bridge, or of all bridges.

    Hosts cause those from DHCP, DHCPv6 and neighbour discovery (nd); LEFT is the time until such a
    binding ends unless it is renewed. Those of the file and of the API stay.
    """
    query = {
        "address": address,
        "mac": mac,
        "vlan": vlan,
        "port": port,
        "origin": None if origin is None else origin.value,
    }
    repeat(lambda: show_table(_COLUMNS, _bindings(client, bridge, query), json), watch, json)


def _bindings(client: Client, bridge: str | None, query: Json) -> list[Json]:
    return [
        binding | {"bridge": known["name"]}
        for known in client.bridges_with(query["port"], bridge)
        for binding in client.entries(path_of(known, "bindings"), query)
    ]


@app.command()
def add(
    bridge: BridgeArgument,
    mac: MacArgument,
    address: AddressArgument,
    port: OnPort,
    vlan: InVlan = 0,
    shared: Annotated[
        bool, typer.Option("--shared", help="Other hosts have a shared binding of it, too.")
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Let a host use an address; it stays until it is removed.

    It replaces a binding that a host has caused. One that was added by a user has to be removed
    first. With --shared several hosts may use the address, as with VRRP: add a binding for each.
    """
    body = {"port": port, "vlan": vlan, "mac": mac, "address": address, "shared": shared}
    client.post(client.path(bridge, "bindings"), body=body)


@app.command()
def remove(
    bridge: BridgeArgument,
    address: AddressArgument,
    vlan: InVlan = 0,
    port: PortOption = None,
    mac: MacOption = None,
    client: Client = CONNECT,
) -> None:
    """Remove a binding; its host can cause it again by DHCP or neighbour discovery.

    If hosts share the address, --port and --mac say which of them loses it; without both all do.
    """
    query = {"port": port, "mac": mac}
    client.delete(client.path(bridge, "bindings", vlan, address), query)


@app.command()
def refused(
    bridge: AnyBridgeArgument = None,
    clear: Annotated[bool, typer.Option("--clear", help="Forget what was refused.")] = False,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show what hosts claimed and were refused, the latest first on each bridge.

    BOUND TO is the host that has the claimed address. SAMPLES counts frames that the switch has
    sampled; more were refused. PASSED: the port only reports, and the frames were forwarded.
    REASON: why the controller has refused them, where it decides and not the switch.
    """
    if clear:
        for known in client.bridges(bridge):
            client.delete(path_of(known, "bindings", "refused"))
        say("forgotten")
        return

    def once() -> None:
        claims = rows_of(client.each(bridge, "bindings", "refused"), "refused")
        show_table(_REFUSED, claims, json)

    repeat(once, watch, json)


def _owner(binding: Json | None) -> str | None:
    return None if binding is None else f"{binding['mac']} {binding['port']['name']}"
