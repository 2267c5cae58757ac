"""Following events of all severities, a line each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import typer

from ofapp.cli.client import Client, Json
from ofapp.cli.output import print_json, say


def follow(
    client: Client, kinds: str, bridge: str | None, words: Callable[[Json], str], json: bool
) -> None:
    """Print events of these kinds, of a bridge or of all, until interrupted.

    kinds: kinds of events, in the form of `--kind`; words: gives the text of an event.
    """
    names = {known["datapath_id"]: known["name"] for known in client.bridges(bridge)}
    query = {"kind": kinds, "bridge": next(iter(names)) if bridge else None}
    try:
        for event in client.events(query):
            if json:
                print_json(event)
                continue
            datapath_id = event["datapath_id"]
            if datapath_id not in names or event["kind"] == "bridge.ready":
                names |= {known["datapath_id"]: known["name"] for known in client.bridges()}
            when = datetime.fromisoformat(event["time"]).astimezone()
            name = names.get(datapath_id) or datapath_id or "-"
            say(f"{when:%H:%M:%S}.{when.microsecond // 1000:03} {name}  {words(event)}")
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
