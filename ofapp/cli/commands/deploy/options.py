"""The options of `ofapp deploy`, and the wish that they make with the file's section `deploy`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ofapp.cli.client import ApiError

if TYPE_CHECKING:
    from ofapp.host_setup.model import DeployConfig

FileOption = Annotated[
    Path | None,
    typer.Option(
        "--config-file",
        metavar="FILE",
        help="Read options that are not given here from section `deploy` of this file.",
    ),
]
BridgeOption = Annotated[
    str | None, typer.Option("--bridge", metavar="NAME", help="The bridge. (default: br0)")
]
JournalOption = Annotated[
    Path,
    typer.Option("--journal", metavar="DIR", help="Directory for the data that `revert` needs."),
]
DatabaseOption = Annotated[
    str | None, typer.Option("--db", metavar="unix:PATH", help="The database of Open vSwitch.")
]
WithinOption = Annotated[
    float | None,
    typer.Option(
        "--confirm-within",
        metavar="SECONDS",
        min=1,
        help="Revert everything unless `ofapp deploy confirm` is run in time.",
    ),
]
PingOption = Annotated[
    str | None,
    typer.Option(
        "--confirm-ping",
        metavar="ADDRESS",
        help="Confirm when this address answers three times, within 60 s or --confirm-within.",
    ),
]
NicOption = Annotated[
    list[str] | None,
    typer.Option("--nic", metavar="NIC", help="An uplink; may be given several times."),
]
BondOption = Annotated[
    str | None,
    typer.Option(
        "--bond",
        metavar="HOW",
        help="Bundle the uplinks into one port, by lacp or static. This is written into the"
        " controller's file.",
    ),
]
PortOption = Annotated[
    list[str] | None,
    typer.Option(
        "--port",
        metavar="NAME:TYPE",
        help="Another port: tap, internal, afxdp, vhost-user:SOCKET or dpdk:DEVICE; may be given"
        " several times.",
    ),
]
DatapathOption = Annotated[
    str | None,
    typer.Option(
        "--datapath", help="The datapath: system (the kernel's) or netdev. (default: system)"
    ),
]
ControllerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--controller",
        metavar="TARGET",
        help="The controller; may be given several times. (default: tcp:127.0.0.1:6653)",
    ),
]
InBandOption = Annotated[
    bool | None,
    typer.Option("--in-band", help="The controller is reached through an uplink of this bridge."),
]
RestOption = Annotated[
    str | None,
    typer.Option("--api", metavar="URL", envvar="OFAPP_API", help="Where the controller's API is."),
]
RateOption = Annotated[
    int | None,
    typer.Option(
        "--rate-limit",
        metavar="N",
        help="How many packets a second the switch may send to the controller.",
    ),
]
BurstOption = Annotated[
    int | None,
    typer.Option(
        "--burst-limit",
        metavar="N",
        help="How many packets the switch may send to the controller at once.",
    ),
]
DatapathIdOption = Annotated[
    str | None,
    typer.Option(
        "--datapath-id",
        metavar="HEX",
        help="The datapath id, 16 hexadecimal digits. (default: made of the MAC address)",
    ),
]
MacOption = Annotated[
    str | None,
    typer.Option(
        "--mac", metavar="MAC", help="The bridge's MAC address. (default: the first uplink's)"
    ),
]
MtuOption = Annotated[
    int | None,
    typer.Option("--mtu", metavar="BYTES", help="The MTU of the bridge. (default: left as it is)"),
]
GuardOption = Annotated[
    bool | None,
    typer.Option(
        "--stp-guard/--no-stp-guard",
        help="With several uplinks, go on only if the controller runs spanning tree.",
    ),
]
SettleOption = Annotated[
    float | None,
    typer.Option(
        "--settle-within",
        metavar="SECONDS",
        help="How long the gateway may take to answer over the bridge. (default: 45)",
    ),
]


def read_config(file: Path | None, options: Mapping[str, Any]) -> DeployConfig:
    """Read the deployment's settings; `options` by field name, None if not given.  ApiError.

    The whole file must be good, as the controller will not start with one that is not.
    """
    from pydantic import ValidationError

    from ofapp.config import ConfigError, load_config
    from ofapp.host_setup.model import DeployConfig

    try:
        section = load_config(file).deploy
    except ConfigError as error:
        raise ApiError("\nofapp: ".join(str(error).splitlines())) from None
    stored = {} if section is None else section.model_dump(exclude_unset=True)
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return DeployConfig.model_validate({**stored, **given})
    except ValidationError as error:
        raise ApiError("\nofapp: ".join(_fault(fault, given) for fault in error.errors())) from None


_OPTIONS = {"nics": "--nic", "ports": "--port", "controllers": "--controller"}


def _fault(fault: Any, options: Mapping[str, Any]) -> str:
    field = next(iter(fault["loc"]), "")
    text: str = fault["msg"].removeprefix("Value error, ")
    if field in options:
        return f"{_OPTIONS.get(field, '--' + field.replace('_', '-'))}: {text}"
    return text
