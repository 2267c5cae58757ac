"""The command line: all commands, and the options of `ofapp` itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from ofapp.cli import completion
from ofapp.cli.arguments import add_access
from ofapp.cli.commands import (
    acl,
    bench,
    binding,
    bridges,
    cluster,
    config,
    docs,
    doctor,
    events,
    fabric,
    fdb,
    first_hop,
    import_,
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
from ofapp.common.version import full_version

app = typer.Typer(
    help="Managed bridges on Open vSwitch.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, typer.Typer | Callable[..., None]] = {
    "fdb": fdb.app,
    "mdb": mdb.app,
    "multicast": multicast.app,
    "bridge": bridges.app,
    "port": ports.app,
    "vlan": vlan.app,
    "stp": stp.app,
    "lag": lag.app,
    "lldp": lldp.app,
    "first-hop": first_hop.app,
    "binding": binding.app,
    "fabric": fabric.app,
    "topology": topology.app,
    "acl": acl.app,
    "bench": bench.app,
    "deploy": deploy.app,
    "config": config.app,
    "import": import_.app,
    "token": token.app,
    "cluster": cluster.app,
    "snmp": snmp.app,
    "events": events.events,
    "top": top.top,
    "doctor": doctor.doctor,
    "docs": docs.app,
    "completion": completion.completion,
}
"""Commands by name: a group of commands (typer.Typer), or the function of a single one."""

for _name, _command in COMMANDS.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name)(_command)
add_access(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ofapp {full_version()}")
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
