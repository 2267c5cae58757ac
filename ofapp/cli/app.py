"""The command line: all commands, and the options of `ofapp` itself."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from ofapp.cli import completion
from ofapp.cli.arguments import HELP, access_records, add_access
from ofapp.cli.groups import Group
from ofapp.common.version import full_version

Command = Any
"""A command of the click that typer contains, which does not export the type."""

PLAIN: Any = None
"""Help as plain text: rich takes longer to import than all the rest of a command."""


class CommandEntry(NamedTuple):
    """Where a command is, MODULE.NAME, and the first paragraph of its help."""

    path: str
    summary: str


COMMANDS = {
    "fdb": CommandEntry("fdb.app", "Forwarding databases: the port of each MAC address."),
    "mdb": CommandEntry("mdb.app", "Multicast groups and their ports."),
    "multicast": CommandEntry("multicast.app", "Multicast snooping."),
    "bridge": CommandEntry("bridges.app", "Bridges."),
    "port": CommandEntry("ports.app", "Ports."),
    "vlan": CommandEntry("vlan.app", "VLANs of ports."),
    "stp": CommandEntry("stp.app", "Spanning tree (RSTP, STP)."),
    "lag": CommandEntry("lag.app", "Link aggregation."),
    "lldp": CommandEntry("lldp.app", "Neighbours by LLDP (IEEE 802.1AB)."),
    "loop-protect": CommandEntry("loop_protect.app", "Loops behind edge ports."),
    "first-hop": CommandEntry(
        "first_hop.app", "First-hop security: what the hosts behind each port may claim."
    ),
    "binding": CommandEntry("binding.app", "Bindings: which addresses hosts may use."),
    "auth": CommandEntry("auth.app", "Port access control: 802.1X and MAC authentication."),
    "host": CommandEntry("host.app", "Hosts: names, place, first and last seen."),
    "fabric": CommandEntry("fabric.app", "Several switches that are one bridge."),
    "topology": CommandEntry("topology.app", "Links between bridges, and their neighbours."),
    "acl": CommandEntry("acl.app", "Access lists."),
    "bench": CommandEntry(
        "bench.commands.app",
        "Measure bridges: RFC 2544, RFC 2889, streams and transactions, with a report.",
    ),
    "deploy": CommandEntry(
        "deploy.commands.app",
        "Move this host's network onto a bridge without losing access, and back.",
    ),
    "config": CommandEntry("config.app", "The configuration file, and what runs."),
    "import": CommandEntry(
        "import_.app", "Write a configuration file from that of another bridge."
    ),
    "token": CommandEntry("token.app", "Tokens for clients of the API, with a role each."),
    "cluster": CommandEntry("cluster.app", "Several controllers that serve one network."),
    "snmp": CommandEntry("snmp.app", "SNMP subagent (AgentX) for snmpd."),
    "problems": CommandEntry(
        "problems.app", "What is wrong now, and what to do about it: `ofapp problems` lists it."
    ),
    "what-if": CommandEntry(
        "what_if.what_if", "Predict what changes of the network lead to: nothing is changed."
    ),
    "status": CommandEntry(
        "status.status",
        "Show on one screen what is wrong, the switches and their trees, and the load.",
    ),
    "events": CommandEntry(
        "events.events",
        "Show the last thousand events, oldest first; with -j one JSON object a line.",
    ),
    "top": CommandEntry(
        "top.top",
        "Show the load of the controller and its switches live: lateness, addresses, rates.",
    ),
    "doctor": CommandEntry(
        "doctor.doctor",
        "Say what is wrong with this host, its Open vSwitch and its controller, and how to fix it.",
    ),
    "record": CommandEntry(
        "recording.record", "Save the recording of a controller that runs with --record."
    ),
    "replay": CommandEntry(
        "recording.replay",
        "Run a recording through the bridge again, and report the first difference.",
    ),
    "support": CommandEntry(
        "support.support",
        "Save what a report of a fault needs: state, settings, events, problems and the recording.",
    ),
    "docs": CommandEntry(
        "docs.app",
        "The documentation: `ofapp docs PAGE` shows a page, and `ofapp docs` names them.",
    ),
}
"""Commands by name: groups (typer.Typer), and functions of single commands.

Only the module of the command that is typed is imported, and none for `ofapp --help`: all of them
take three times as long.
"""


@cache
def load(name: str) -> Command:
    """Import a command of `COMMANDS`."""
    path, summary = COMMANDS[name]
    module, _, attribute = path.rpartition(".")
    found = getattr(import_module(f"ofapp.cli.commands.{module}"), attribute)
    made = typer.Typer(rich_markup_mode=PLAIN)
    if isinstance(found, typer.Typer):
        its = found.info.cls
        group = its if isinstance(its, type) else Group
        made.add_typer(found, name=name, cls=group, help=summary)
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


class Program(Group):
    """All commands of ofapp."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.commands)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands; typer's own method would import them."""
        return [*self.commands]

    def summary(self, name: str) -> str:
        """The first paragraph of the help of a command, without its module where it has one."""
        return COMMANDS[name].summary if name in COMMANDS else super().summary(name)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of `ofapp`, and those that its commands share."""
        super().format_options(ctx, formatter)
        with formatter.section("The controller (options of the commands that ask it)"):
            formatter.write_dl(access_records(ctx))


app = typer.Typer(
    cls=Program,
    help="Managed bridges on Open vSwitch.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=PLAIN,
    pretty_exceptions_enable=False,
    context_settings=HELP,
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
