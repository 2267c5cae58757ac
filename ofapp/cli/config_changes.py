"""How commands show the changes of a configuration, and the option for it."""

from __future__ import annotations

from typing import Annotated

import typer

from ofapp.cli.client import Json
from ofapp.cli.output import print_json, say

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing, but say what would change.")
]
FlowsOption = Annotated[
    bool, typer.Option("--flows", help="List the changed flows, too, where nothing is changed.")
]


_RUN_TIME = " (was set at run time, and is taken back)"


def query_of(**options: bool) -> dict[str, str] | None:
    """The query of the options that are given; None without any."""
    return {name: "true" for name, value in options.items() if value} or None


def say_outcome(answer: Json, flows: bool, as_json: bool, dry_run: bool) -> None:
    """The outcome of a reload, a plan or a rollback."""
    if as_json:
        print_json(answer)
        return
    say_changes(answer, flows)
    say(f"{'would be: ' if dry_run else ''}{answer['message']}")


def say_changes(answer: Json, flows: bool) -> None:
    """The changes of a reload, a plan or a push, bridge by bridge and item by item."""
    for warning in answer["warnings"]:
        say(f"warning: {warning}", err=True)
    for change in answer["fabrics"]:
        say(f"fabric {change}")
    for bridge in answer["bridges"]:
        _say_cut_off(bridge)
        counts = "its switch is disconnected" if bridge["sent"] is None else _counts(bridge["sent"])
        say(f"{bridge['name']} ({bridge['datapath_id']}): {counts}")
        for change in bridge["changes"]:
            say(f"  {change}{_RUN_TIME if change in bridge['dropped'] else ''}")
        for item in bridge.get("items", ()):  # an older controller has none
            say(f"    {item_line(item)}")
        for line in bridge["lines"] if flows else ():
            say(f"      {line}")


def _say_cut_off(bridge: Json) -> None:
    """Name the hosts that would be cut off; an older controller does not tell."""
    for host in bridge.get("cut_off", ()):
        vlan = f" in VLAN {host['vlan']}" if host["vlan"] else ""
        what = f"{host['mac']}{vlan} on port {host['port']} would be cut off: it has no binding"
        say(f"warning: {bridge['name']}: {what}", err=True)


def item_line(item: Json) -> str:
    """One line about a planned item: what changes, and the number of messages."""
    changes = f": {', '.join(item['changes'])}" if item["changes"] else ""
    return f"{item['item']}{changes} ({_counts(item['sent'])})"


def _counts(sent: dict[str, int]) -> str:
    counts = (counted(number, kind.removesuffix("s")) for kind, number in sent.items() if number)
    return ", ".join(counts) or "no flow"


def counted(number: int, what: str) -> str:
    """A number with its noun: "2 bridges"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
