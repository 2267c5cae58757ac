"""ofapp lag: aggregations and their members."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ofapp.cli.arguments import AnyBridgeArgument, BridgeArgument, JsonOption, WatchOption
from ofapp.cli.client import CONNECT, ApiError, Client, Json, path_of
from ofapp.cli.output import Column, print_json, repeat, say, show_table
from ofapp.cli.parameters import Given, setting, settings

app = typer.Typer(no_args_is_help=True)


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    lag: Annotated[
        str | None,
        typer.Argument(metavar="LAG", help="The aggregation. Without it, all of the bridge."),
    ] = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show aggregations and their members, and why a member carries no traffic."""
    repeat(lambda: _show(_bridges(client, bridge, lag), bridge, json), watch, json)


def _bridges(client: Client, bridge: str | None, lag: str | None) -> list[Json]:
    """Bridges with the aggregations to show; ApiError if there is none of that name."""
    if lag is None and bridge is not None:
        _no_aggregation(client, bridge)
    bridges = client.each(bridge, "lags")
    if lag is not None:
        bridges = [bridge | {"lags": _called(bridge["lags"], lag)} for bridge in bridges]
        if not any(bridge["lags"] for bridge in bridges):
            raise ApiError(f"bridge {bridge} has no aggregation {lag}")
    return bridges


def _no_aggregation(client: Client, name: str) -> None:
    """ApiError if the name is not a bridge, but an aggregation."""
    known = client.bridges()
    if any(name in (bridge["name"], bridge["datapath_id"]) for bridge in known):
        return
    lags = {bridge["name"]: client.get(path_of(bridge, "lags"))["lags"] for bridge in known}
    having = [bridge for bridge, listed in lags.items() if _called(listed, name)]
    if having:
        which = " or ".join(f"`ofapp lag show {bridge} {name}`" for bridge in having)
        raise ApiError(f"{name} is an aggregation and no bridge: give its bridge as well, {which}")


def _show(bridges: list[Json], bridge: str | None, json: bool) -> None:
    if json:
        print_json(bridges)
        return
    if not any(bridge["lags"] for bridge in bridges):
        where = "any bridge" if bridge is None else f"bridge {bridge}"
        say(f"There is no aggregation on {where}; `lags:` in the configuration file makes one.")
        return
    show_table(
        _COLUMNS,
        [row for bridge in bridges for lag in bridge["lags"] for row in _rows(bridge, lag)],
    )


def _owners() -> list[type]:
    from ofapp.bridge.lag.params import LagParams

    return [LagParams]


@setting(app, "set", _owners)
def set_(
    bridge: BridgeArgument,
    lag: Annotated[str, typer.Argument(metavar="LAG", help="The aggregation.")],
    given: Given,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE...",
            help="As in the configuration file: rate=fast, members=[eth0, eth1]",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before a change that interrupts traffic.")
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Change members or parameters of an aggregation, all at once.

    It lasts until the file changes the same values, or `ofapp config reload --reset`.
    """
    wanted = settings(values, given, _owners())
    path = client.path(bridge, "lags", lag)
    if not yes:
        _ask(lag, client.get(path)["parameters"], wanted)
    client.patch(path, wanted)


def _ask(lag: str, parameters: Json, wanted: Json) -> None:
    """Ask before a change that interrupts traffic; ApiError without a terminal."""
    from ofapp.bridge.lag.params import INTERRUPTION, interrupting
    from ofapp.config.derived import off_word

    changed = interrupting(parameters, {name: off_word(value) for name, value in wanted.items()})
    if not changed:
        return
    warning = f"another {' and '.join(changed)} of {lag} interrupts traffic: {INTERRUPTION}"
    if not sys.stdin.isatty():
        raise ApiError(f"{warning}. If that is meant: --yes")
    typer.confirm(f"{warning}. Go on?", abort=True)


def _called(lags: list[Json], name: str) -> list[Json]:
    return [lag for lag in lags if lag["name"] == name]


def _rows(bridge: Json, lag: Json) -> list[Json]:
    state = "down"
    if lag["up"]:
        state = f"up {lag['speed_mbps']} Mbit/s" if lag["speed_mbps"] else "up"
    about = {"bridge": bridge["bridge"], "lag": lag["name"], "lag_state": state}
    return [member | about for member in lag["members"]]


def _partner(member: Json) -> str | None:
    partner = member["partner"]
    return None if partner is None else f"{partner['system']} key {partner['key']}"


def _state(member: Json) -> str:
    """The state of a member; a port that the bridge does not have is `away` in the API."""
    return "absent" if member["state"] == "away" else str(member["state"])


_COLUMNS: tuple[Column, ...] = (
    *("bridge", "lag", ("STATE", "lag_state"), ("MEMBER", "name"), ("STATE", _state)),
    *(("PARTNER", _partner), ("WHY NOT IN USE", "reason")),
)
