"""The command line put together."""

from __future__ import annotations

from typing import Annotated

import typer

import ofapp
from ofapp.cli import completion
from ofapp.cli.access import add_access
from ofapp.cli.commands import (
    acl,
    bench,
    bridges,
    cluster,
    config,
    doctor,
    events,
    fdb,
    lag,
    lldp,
    mdb,
    multicast,
    ports,
    snmp,
    stp,
    token,
    top,
    topology,
    vlan,
)
from ofapp.cli.commands.deploy import commands as deploy
from ofapp.cli.commands.run import run

app = typer.Typer(
    help="Managed bridges on Open vSwitch.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(fdb.app, name="fdb")
app.add_typer(mdb.app, name="mdb")
app.add_typer(multicast.app, name="multicast")
app.add_typer(bridges.app, name="bridge")
app.add_typer(ports.app, name="port")
app.add_typer(vlan.app, name="vlan")
app.add_typer(stp.app, name="stp")
app.add_typer(lag.app, name="lag")
app.add_typer(lldp.app, name="lldp")
app.add_typer(topology.app, name="topology")
app.add_typer(acl.app, name="acl")
app.add_typer(bench.app, name="bench")
app.add_typer(deploy.app, name="deploy")
app.add_typer(config.app, name="config")
app.add_typer(token.app, name="token")
app.add_typer(cluster.app, name="cluster")
app.add_typer(snmp.app, name="snmp")
app.command("events")(events.events)
app.command("top")(top.top)
app.command("doctor")(doctor.doctor)
app.command("completion")(completion.completion)
add_access(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ofapp {ofapp.__version__}")
        raise typer.Exit


@app.callback()
def ofapp_(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See `_version`; without a callback typer has no options of the program itself."""


@app.command(
    "run",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],  # --help is for the launcher
    },
)
def run_(context: typer.Context) -> None:
    """Run the controller: all that follows is for ofapp-manager (see `ofapp run --help`)."""
    run(context.args)
