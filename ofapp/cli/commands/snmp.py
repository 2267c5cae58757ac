"""ofapp snmp: the SNMP subagent."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption
from ofapp.cli.client import ApiError, Client

app = typer.Typer(no_args_is_help=True)


@app.callback()
def snmp() -> None:
    """SNMP subagent (AgentX) for snmpd."""


@app.command()
def run(
    master: Annotated[
        Path,
        typer.Option(metavar="PATH", help="Where snmpd listens for AgentX (`master agentx`)."),
    ] = Path("/var/agentx/master"),
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Be a subagent of snmpd (AgentX), until it is ended: read only, fed by the controller's API.

    BRIDGE-MIB, RSTP-MIB, Q-BRIDGE-MIB and the part of IF-MIB that they refer to, in a context for
    each bridge by its name; without a context, too, where there is one bridge alone.
    """
    from ofapp.snmp.subagent import Subagent

    logging.basicConfig(format="%(message)s", level=logging.INFO)
    client = Client(api)
    Subagent(client.get, ApiError, master).run()
