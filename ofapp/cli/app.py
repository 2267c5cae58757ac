"""The command line: all commands, and the options of `ofapp` itself."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ofapp.cli import completion
from ofapp.cli.arguments import add_access
from ofapp.common.version import full_version

Command = Any
"""A command of the click that typer contains, which does not export the type."""

COMMANDS = {
    "fdb": "fdb.app",
    "mdb": "mdb.app",
    "multicast": "multicast.app",
    "bridge": "bridges.app",
    "port": "ports.app",
    "vlan": "vlan.app",
    "stp": "stp.app",
    "lag": "lag.app",
    "lldp": "lldp.app",
    "first-hop": "first_hop.app",
    "binding": "binding.app",
    "fabric": "fabric.app",
    "topology": "topology.app",
    "acl": "acl.app",
    "bench": "bench.app",
    "deploy": "deploy.commands.app",
    "config": "config.app",
    "import": "import_.app",
    "token": "token.app",
    "cluster": "cluster.app",
    "snmp": "snmp.app",
    "problems": "problems.app",
    "status": "status.status",
    "events": "events.events",
    "top": "top.top",
    "doctor": "doctor.doctor",
    "record": "recording.record",
    "replay": "recording.replay",
    "docs": "docs.app",
}
"""Commands by name: where a group (typer.Typer), or the function of a single command, is.

Only the module of the command that is typed is imported: all of them take three times as long.
"""


@cache
def load(name: str) -> Command:
    """Import a command of `COMMANDS`."""
    module, _, attribute = COMMANDS[name].rpartition(".")
    found = getattr(import_module(f"ofapp.cli.commands.{module}"), attribute)
    made = typer.Typer()
    if isinstance(found, typer.Typer):
        made.add_typer(found, name=name)
    else:
        made.command(name)(found)
    add_access(made)
    return typer.main.get_group(made).commands[name]


class _Commands(MutableMapping[str, Command]):
    """Commands by name, each imported when it is asked for; more: those that are here."""

    def __init__(self, more: MutableMapping[str, Command]) -> None:
        self._more = more

    def __getitem__(self, name: str) -> Command:
        return load(name) if name in COMMANDS else self._more[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._more[name] = command

    def __delitem__(self, name: str) -> None:
        del self._more[name]

    def __iter__(self) -> Iterator[str]:
        yield from COMMANDS
        yield from self._more

    def __len__(self) -> int:
        return len(COMMANDS) + len(self._more)


class Program(TyperGroup):
    """All commands of ofapp."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.commands)


app = typer.Typer(
    cls=Program,
    help="Managed bridges on Open vSwitch.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("completion")(completion.completion)


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
    from ofapp.cli.commands.run import run

    run(context.args)
