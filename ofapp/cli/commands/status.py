"""ofapp status: the network on one screen."""

from __future__ import annotations

import time

import typer

from ofapp.cli.arguments import WatchOption
from ofapp.cli.client import CONNECT, Client, Json, report_silent
from ofapp.cli.commands.bridges import state
from ofapp.cli.commands.top import lateness, taken
from ofapp.cli.output import age, local_time, repeat, say, severity_colour, show_table

SHOWN = 10
"""Most problems that are shown."""


def status(watch: WatchOption = None, client: Client = CONNECT) -> None:
    """Show on one screen what is wrong, the switches and their trees, and the load."""
    repeat(lambda: _show(client), watch)


def _show(client: Client) -> None:
    version = client.get("/v1/version")
    answer = client.get("/v1/problems", {"acknowledged": "false"})
    report_silent(answer)
    _problems(answer["problems"])
    say()
    bridges = client.bridges()
    trees = {one["datapath_id"]: one for one in client.get("/v1/topology")["bridges"]}
    columns = (
        *(("BRIDGE", "name"), ("STATE", state), ("ADDRESSES", "fdb.learned")),
        ("TREE", lambda one: _tree(trees.get(one["datapath_id"]))),
    )
    show_table(columns, bridges)
    say()
    now = taken(client.text("/metrics"), time.monotonic())
    late = lateness(now, None)
    uptime = version["uptime"]
    said = [f"controller {version['version']}, up {age(uptime)}"]
    said.append(f"{now.processor / max(uptime, 1):.0%} of a processor")
    if late is not None:
        said.append(f"at most {late * 1000:g} ms late since its start")
    say("; ".join(said))


def _problems(listed: list[Json]) -> None:
    if not listed:
        say("No problems.", bold=True, colour=typer.colors.GREEN)
        return
    counts = {
        severity: sum(one["severity"] == severity for one in listed)
        for severity in ("error", "warning", "info")
    }
    words = [f"{count} of severity {severity}" for severity, count in counts.items() if count]
    say(f"Problems: {', '.join(words)}", bold=True)
    for one in listed[:SHOWN]:
        place = "/".join(filter(None, (one["bridge"] or "controller", one["port"])))
        since = local_time(one["since"], "%H:%M:%S")
        line = f"  {since} {one['severity']}: {place}: {one['message']}"
        say(line, colour=severity_colour(one["severity"]))
    more = f" ({len(listed) - SHOWN} more)" if len(listed) > SHOWN else ""
    say(f"  `ofapp problems` says what to do{more}")


def _tree(one: Json | None) -> str:
    if one is None or one["root_id"] is None:
        return "-"
    return "root" if one["root"] else f"root {one['root_id']}"
