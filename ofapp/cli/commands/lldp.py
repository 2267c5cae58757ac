"""ofapp lldp: neighbours of the ports, as they describe themselves by LLDP."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated

import typer

from ofapp.cli.arguments import AnyBridgeArgument, JsonOption, WatchOption
from ofapp.cli.client import CONNECT, Client, Json, path_of
from ofapp.cli.output import Column, print_json, repeat, say, show_table
from ofapp.cli.parameters import add_protocol_settings

app = typer.Typer(help="Neighbours by LLDP (IEEE 802.1AB).", no_args_is_help=True)

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
    answers = [client.get(path_of(known, "lldp")) for known in client.bridges(bridge)]
    if json:
        print_json(answers)
        return
    if not any(answer["enabled"] for answer in answers):
        say(
            "LLDP is off. `lldp: {enabled: true}` in the configuration file turns it on, and"
            " `ofapp lldp set BRIDGE --on` until the file changes that."
        )
        return
    if statistics:
        show_table(_COUNTERS, [port for answer in answers for port in _of(answer)])
        return
    show_table(_COLUMNS, [row for answer in answers for port in _of(answer) for row in _rows(port)])


def _params() -> ModuleType:
    from ofapp.bridge.lldp import params

    return params


add_protocol_settings(app, "lldp", "LLDP", _params)


def _of(answer: Json) -> list[Json]:
    return [port | {"bridge": answer["bridge"]} for port in answer["ports"]]


def _rows(port: Json) -> list[Json]:
    about = {"bridge": port["bridge"], "port": port["name"]}
    return [neighbour | about for neighbour in port["neighbours"]]
