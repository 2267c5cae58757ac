"""ofapp events: what happened, and what happens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ofapp.cli.arguments import DEFAULT_URL, ApiOption, JsonOption
from ofapp.cli.client import Client, Json
from ofapp.cli.output import print_json, say


def events(
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on and print events as they happen.")
    ] = False,
    since: Annotated[
        int, typer.Option("--since", metavar="N", min=0, help="Only the events after number N.")
    ] = 0,
    json: JsonOption = False,
    api: ApiOption = DEFAULT_URL,
) -> None:
    """Show the last thousand events, oldest first; with -j one JSON object a line.

    -f goes on when the controller is started anew, whose events count from one again.  BPDUs are
    not among them: see `ofapp stp trace`.
    """
    client = Client(api)
    if not follow:
        for event in client.get("/v1/events", {"since": since})["events"]:
            _show(event, json)
        return
    try:
        for event in client.events({"since": since, "severity": "info"}):
            _show(event, json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _show(event: Json, json: bool) -> None:
    if json:
        print_json(event)
        return
    told = datetime.fromisoformat(event["time"]).astimezone()
    say(
        f"{event['number']} {told:%Y-%m-%d %H:%M:%S} {event['datapath_id'] or '-'}"
        f" {event['severity']} {event['kind']}: {event['message']}"
    )
