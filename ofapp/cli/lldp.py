"""ofapp lldp: who is behind the ports, as they say themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.arguments import DEFAULT_URL, AnyBridgeArgument, ApiOption, JsonOption
from ofapp.cli.client import Client, Json, path_of
from ofapp.cli.output import print_json, print_table, say

app = typer.Typer(help="Neighbours by LLDP (IEEE 802.1AB).", no_args_is_help=True)

CountersOption = Annotated[
    bool, typer.Option("-s", "--statistics", help="Show what each port has counted instead.")
]
_COUNTED = ("sent", "received", "discarded", "ageouts", "too_many", "forged", "stale")


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    statistics: CountersOption = False,
    json: JsonOption = False,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Show the neighbours of each port, which are what they say that they are.

    OWN names those that have proven to be bridges of this controller.
    """
    client = Client(api)
    told = [client.get(path_of(known, "lldp")) for known in client.bridges(bridge)]
    if json:
        print_json(told)
        return
    if not any(own["enabled"] for own in told):
        say("LLDP is off. `lldp: {enabled: true}` in the configuration file turns it on.")
        return
    if statistics:
        header = ["BRIDGE", "PORT", *(name.upper().replace("_", "-") for name in _COUNTED)]
        print_table(header, [row for own in told for row in map(_counts, _of(own))])
        return
    header = ["BRIDGE", "PORT", "NEIGHBOUR", "ITS PORT", "OWN", "CAPABILITIES", "ADDRESS"]
    print_table(header, [row for own in told for port in _of(own) for row in _rows(port)])


def _of(own: Json) -> list[Json]:
    return [port | {"bridge": own["bridge"]} for port in own["ports"]]


def _rows(port: Json) -> list[list[str]]:
    return [
        [
            *(port["bridge"], port["name"]),
            one["system_name"] or one["chassis_id"],
            one["port_id"],
            "yes" if one["own"] else "-",
            ",".join(one["capabilities"]) or "-",
            ",".join(one["management_addresses"]) or "-",
        ]
        for one in port["neighbours"]
    ]


def _counts(port: Json) -> list[str]:
    return [port["bridge"], port["name"], *(str(port["counters"][name]) for name in _COUNTED)]
