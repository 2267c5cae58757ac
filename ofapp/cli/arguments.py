"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.access import LOCAL
from ofapp.common.places import API_SOCKET, API_URL

DEFAULT_URL = LOCAL

ApiOption = Annotated[
    str,
    typer.Option(
        "--api",
        metavar="URL",
        envvar="OFAPP_API",
        help="Where the controller's API is: http://ADDRESS:PORT, https://NAME:PORT, unix:PATH of"
        f" its socket, or {LOCAL}: {API_SOCKET} if that answers, else {API_URL}.",
    ),
]
WatchOption = Annotated[
    float | None,
    typer.Option(
        "--watch", metavar="S", min=1, help="Show it again every S seconds until interrupted."
    ),
]
JsonOption = Annotated[bool, typer.Option("-j", "--json", help="Print JSON, for programs.")]

BridgeArgument = Annotated[
    str, typer.Argument(metavar="BRIDGE", help="The bridge: its name or datapath id.")
]
AnyBridgeArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="BRIDGE", help="The bridge: its name or datapath id. Without it, all bridges."
    ),
]
PortArgument = Annotated[
    str, typer.Argument(metavar="PORT", help="The port: its name, its number or LOCAL.")
]
VidArgument = Annotated[int, typer.Argument(metavar="VID", min=1, max=4094)]
MacArgument = Annotated[str, typer.Argument(metavar="MAC")]

# Filters
MacOption = Annotated[str | None, typer.Option("--mac", metavar="MAC", help="Only this address.")]
VlanOption = Annotated[
    int | None,
    typer.Option("--vlan", metavar="VID", help="Only this VLAN; 0 stands for untagged frames."),
]
PortOption = Annotated[
    str | None,
    typer.Option("--port", metavar="PORT", help="Only this port, by its name or number."),
]

# An entry
InVlan = Annotated[
    int, typer.Option("--vlan", metavar="VID", help="The VLAN; 0 stands for untagged frames.")
]
OnPort = Annotated[
    str, typer.Option("--port", metavar="PORT", help="The port: its name, its number or LOCAL.")
]
