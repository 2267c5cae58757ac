"""ofapp events: show and follow events, and explain their kinds."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import typer

from ofapp.bridge.event import Severity
from ofapp.cli.arguments import BridgeOption, JsonOption, KindsOption
from ofapp.cli.client import CONNECT, MISSED, ApiError, Client, Json, report_silent
from ofapp.cli.output import local_time, print_json, say, severity_colour


def events(
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Continue and print events as they happen.")
    ] = False,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Only the events since a time (2026-01-31 09:30, 09:30), since so long ago (30s,"
            " 10m, 2h, 7d), or after an event's number.",
        ),
    ] = "0",
    kind: KindsOption = None,
    kinds: Annotated[
        bool,
        typer.Option(
            "--kinds",
            help="Explain the kinds of events and what to do about them; with --kind only those.",
        ),
    ] = False,
    bridge: BridgeOption = None,
    severity: Annotated[
        Severity | None,
        typer.Option(
            "--severity",
            help="Only events at least as severe; debug, which -f alone can show, has each BPDU and"
            " each learned address.",
        ),
    ] = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the last thousand events, oldest first; with -j one JSON object a line.

    In a cluster they are those of all members, with the member before the number; -f shows only
    those of the member that is asked.

    -f continues when the controller restarts, whose events are numbered from one again, and
    reports if some were missed.  BPDUs are not among them: see `ofapp stp trace`.
    """
    if kind is not None:
        _check_kinds(client, kind)
    if kinds:
        _show_kinds(client, kind, json)
        return
    least = Severity.INFO if severity is None else severity
    chosen = {
        "since": _start(since),
        "kind": kind,
        "bridge": bridge,
        "severity": least.value,
    }
    if not follow:
        answer = client.get("/v1/events", chosen)
        for event in answer["events"]:
            _show(event, json)
        report_silent(answer)
        return
    try:
        for event in client.events(chosen):
            _show(event, json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _check_kinds(client: Client, chosen: str) -> None:
    """Raise ApiError for a kind that the controller does not have, with a kind that is near."""
    from ofapp.config.base import similar

    names = [one["kind"] for one in client.get("/v1/events/kinds")["kinds"]]
    for kind in (each.rstrip(".") for each in chosen.split(",")):
        if any(f"{name}.".startswith(f"{kind}.") for name in [*names, MISSED]):
            continue
        groups = {".".join(name.split(".")[:n]) for name in names for n in range(1, 5)}
        near = similar(kind, sorted(groups))
        hint = f"did you mean {near}?" if near else "`ofapp events --kinds` explains all"
        raise ApiError(f"there is no kind of events {kind}: {hint}")


def _show_kinds(client: Client, chosen: str | None, json: bool) -> None:
    kinds = client.get("/v1/events/kinds", {"kind": chosen})["kinds"]
    if json:
        print_json(kinds)
        return
    for one in kinds:
        say(f"{one['kind']} ({'/'.join(one['severities'])}, {one['count']} so far)", bold=True)
        say(f"    {one['meaning']}")
        if one["remedy"]:
            say(f"    To do: {one['remedy']}")


def _start(since: str) -> str:
    """Convert to the API's format, which is in UTC."""
    if re.fullmatch("[0-9]+[smhd]?", since):
        return since
    today = f"{datetime.now():%Y-%m-%d}T"
    for text in (since, today + since):
        with suppress(ValueError):
            return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    raise typer.BadParameter(f"{since} is neither a time, as 09:30, nor a number, nor as 10m")


def _number(event: Json) -> str:
    member = event.get("member")
    return str(event["number"]) if member is None else f"{member}:{event['number']}"


def _show(event: Json, json: bool) -> None:
    if json:
        print_json(event)
        return
    say(
        f"{_number(event)} {local_time(event['time'])} {event['datapath_id'] or '-'}"
        f" {event['severity']} {event['kind']}: {event['message']}",
        colour=severity_colour(event["severity"]),
    )
