"""ofapp lldp: neighbours of the ports, as they describe themselves by LLDP."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import (
    AnyBridgeArgument,
    BridgeArgument,
    JsonOption,
    PortArgument,
    WatchOption,
)
from ofapp.cli.client import CONNECT, Client, Json, rows_of
from ofapp.cli.output import Column, print_json, repeat, say, show_table
from ofapp.cli.parameters import add_protocol_settings

app = typer.Typer(no_args_is_help=True)

CountersOption = Annotated[
    bool, typer.Option("-s", "--statistics", help="Show the counters of each port instead.")
]
_COUNTED = ("sent", "received", "discarded", "ageouts", "too_many", "forged", "stale")
_COUNTERS: tuple[Column, ...] = (
    *("bridge", ("PORT", "name")),
    *((name.upper().replace("_", "-"), f"counters.{name}") for name in _COUNTED),
)
_COLUMNS: tuple[Column, ...] = (
    *("bridge", "port"),
    ("NEIGHBOUR", lambda neighbour: neighbour["system_name"] or neighbour["chassis_id"]),
    ("ITS PORT", "port_id"),
    ("OWN", lambda neighbour: "yes" if neighbour["own"] else None),
    *("capabilities", ("ADDRESS", "management_addresses")),
)


def _far(port: Json) -> str | None:
    """The port at the other end of a link that is one-way, or the only neighbour."""
    if port["one_way"]:
        return str(port["one_way"]["neighbour"])
    known = port["neighbours"]
    if len(known) != 1:
        return None
    return f"port {known[0]['port_id']} of {known[0]['system_name'] or known[0]['chassis_id']}"


_LINKS: tuple[Column, ...] = (
    *("bridge", ("PORT", "name")),
    ("LINK", lambda port: "one-way" if port["one_way"] else "both ways" if port["heard"] else None),
    ("STATE", lambda port: "held" if (port["one_way"] or {}).get("state") == "held" else "open"),
    ("NEIGHBOUR", _far),
)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    statistics: CountersOption = False,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the neighbours of each port; what they send is not verified.

    OWN marks those that have proven to be bridges of this controller.
    """
    repeat(lambda: _show(client, bridge, statistics, json), watch, json)


def _show(client: Client, bridge: str | None, statistics: bool, json: bool) -> None:
    answers = client.each(bridge, "lldp")
    if json or not any(answer["enabled"] for answer in answers):
        _print(answers, json)
    elif statistics:
        show_table(_COUNTERS, rows_of(answers, "ports"))
    else:
        rows = map(_rows, rows_of(answers, "ports"))
        show_table(_COLUMNS, [row for each in rows for row in each])


def _print(answers: list[Json], json: bool) -> None:
    """Print answers as JSON, or that LLDP is off."""
    if json:
        print_json(answers)
    else:
        say(
            "LLDP is off. `lldp: {enabled: true}` in the configuration file turns it on, and"
            " `ofapp lldp set BRIDGE --on` until the file changes that."
        )


@app.command()
def links(
    bridge: AnyBridgeArgument = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show which ports their neighbours hear, and which ports are closed as one-way.

    LINK is `-` while that is not known: the neighbour does not say which ports it hears, or
    `one_way` is off.
    """

    def once() -> None:
        answers = client.each(bridge, "lldp")
        if json or not any(answer["enabled"] for answer in answers):
            _print(answers, json)
        else:
            show_table(_LINKS, rows_of(answers, "ports"))

    repeat(once, watch, json)


@app.command()
def free(bridge: BridgeArgument, port: PortArgument, client: Client = CONNECT) -> None:
    """Open a port whose link is one-way.  The port closes again while the link stays one-way."""
    client.post(client.path(bridge, "lldp", "ports", port, "free"))


add_protocol_settings(app, "lldp", "LLDP")


def _rows(port: Json) -> list[Json]:
    about = {"bridge": port["bridge"], "port": port["name"]}
    return [neighbour | about for neighbour in port["neighbours"]]
