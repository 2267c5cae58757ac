"""Arguments and options that several commands share.

A command declares `client: Client = CONNECT`.  The options for the controller are added here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ofapp.cli import completion
from ofapp.cli.access import CREDENTIALS, LOCAL, TOKEN, Credentials
from ofapp.cli.client import CONNECT, Client
from ofapp.common.api_address import API_SOCKET, API_URL

Command = Callable[..., Any]

DEFAULT_URL = LOCAL
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of all commands."""

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
    str,
    typer.Argument(
        metavar="BRIDGE",
        help="The bridge: its name or datapath id.",
        autocompletion=completion.bridges,
    ),
]
AnyBridgeArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="BRIDGE",
        help="The bridge: its name or datapath id. Without it, all bridges.",
        autocompletion=completion.bridges,
    ),
]
PortArgument = Annotated[
    str,
    typer.Argument(
        metavar="PORT",
        help="The port: its name, its number or LOCAL.",
        autocompletion=completion.ports,
    ),
]
VidArgument = Annotated[int, typer.Argument(metavar="VID", min=1, max=4094)]
MacArgument = Annotated[str, typer.Argument(metavar="MAC", autocompletion=completion.addresses)]

# Filters
MacOption = Annotated[
    str | None,
    typer.Option(
        "--mac",
        metavar="MAC",
        help="Only this address.",
        autocompletion=completion.addresses,
    ),
]
VlanOption = Annotated[
    int | None,
    typer.Option("--vlan", metavar="VID", help="Only this VLAN; 0 stands for untagged frames."),
]
PortOption = Annotated[
    str | None,
    typer.Option(
        "--port",
        metavar="PORT",
        help="Only this port, by its name or number.",
        autocompletion=completion.ports,
    ),
]
BridgeOption = Annotated[
    str | None,
    typer.Option(
        "--bridge",
        metavar="BRIDGE",
        help="Only this bridge, by its name or id.",
        autocompletion=completion.bridges,
    ),
]

KindsOption = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KINDS",
        help="Only events of these kinds, or that begin so: port, stp.role; several with"
        " commas between.",
        autocompletion=completion.kinds,
    ),
]

# An entry
InVlan = Annotated[
    int, typer.Option("--vlan", metavar="VID", help="The VLAN; 0 stands for untagged frames.")
]
OnPort = Annotated[
    str,
    typer.Option(
        "--port",
        metavar="PORT",
        help="The port: its name, its number or LOCAL.",
        autocompletion=completion.ports,
    ),
]


class ControllerCommand(TyperCommand):
    """A command whose help has the options for the controller in one line."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options; `ofapp --help` explains those for the controller."""
        own = [one for one in self.get_params(ctx) if one.name not in ACCESS]
        shared = any(one.name in ACCESS for one in self.get_params(ctx))
        for kind in ("argument", "option"):
            of_kind = (one for one in own if one.param_type_name == kind)
            records = [record for one in of_kind if (record := one.get_help_record(ctx))]
            if kind == "option" and shared:
                records.append(OF_CONTROLLER)
            if records:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl(records)


def with_access(command: Command) -> Command:
    """Add the options for the controller to a command that has a `client`, or `api`.

    Instead of `client` the command line has `--api`; the options for credentials come last.
    """
    signature = inspect.signature(command, eval_str=True)
    if not {"api", "client"} & {*signature.parameters}:
        return command

    @wraps(command)
    def run(**arguments: Any) -> None:
        CREDENTIALS.set(Credentials(**{name: arguments.pop(f"api_{name}") for name in _OPTIONS}))
        if "client" in signature.parameters:
            arguments["client"] = Client(arguments.pop("api"))
        command(**arguments)

    api = inspect.Parameter(
        "api", inspect.Parameter.KEYWORD_ONLY, default=DEFAULT_URL, annotation=ApiOption
    )
    parameters = [api if one.name == "client" else one for one in signature.parameters.values()]
    options = [
        api.replace(name=f"api_{name}", default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    whole = [*(one.replace(kind=one.KEYWORD_ONLY) for one in parameters), *options]
    run.__signature__ = signature.replace(parameters=whole)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in whole}
    return run


def add_access(app: typer.Typer) -> None:
    """Add the options for the controller to all commands of an application and its groups."""
    for info in app.registered_commands:
        if info.callback is not None:
            info.callback = with_access(info.callback)
            if info.cls in (None, TyperCommand):
                info.cls = ControllerCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_access(group.typer_instance)


def _option(flag: str, help_: str) -> Any:
    name = f"OFAPP_{flag.removeprefix('--').upper().replace('-', '_')}"
    return Annotated[str | None, typer.Option(flag, metavar="FILE", envvar=name, help=help_)]


_OPTIONS = {
    "token": _option("--api-token-file", f"File with the token to use; else it is in {TOKEN}."),
    "authority": _option("--api-ca", "CA that signed the controller's certificate, PEM."),
    "certificate": _option("--api-cert", "Certificate to show the controller, with its key, PEM."),
}

ACCESS = ("api", *(f"api_{name}" for name in _OPTIONS))
"""Names of the parameters that say which controller a command asks, and how."""
OF_CONTROLLER = "--api ...", "The controller and its credentials: see `ofapp --help`."
"""What the help of a command has in place of these options."""


def access_records(ctx: Any) -> list[tuple[str, str]]:
    """The options for the controller with their help, for the help of `ofapp` itself."""

    def ask(client: Client = CONNECT) -> None:
        """Stand for any command."""

    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command()(with_access(ask))
    options = typer.main.get_command(made).params
    records = (one.get_help_record(ctx) for one in options if one.name in ACCESS)
    return [record for record in records if record is not None]
