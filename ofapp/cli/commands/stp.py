"""ofapp stp: show, configure and trace spanning tree."""

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
from ofapp.cli.client import CONNECT, Client, Json
from ofapp.cli.follow import follow
from ofapp.cli.output import Column, age, print_json, repeat, say, show_table
from ofapp.cli.parameters import add_protocol_settings

app = typer.Typer(no_args_is_help=True)


# Show


@app.command()
def show(
    bridge: AnyBridgeArgument = None,
    detail: Annotated[bool, typer.Option("--detail", help="Show all details.")] = False,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the spanning tree of a bridge, or of all bridges."""

    def once() -> None:
        bridges = client.each(bridge, "stp")
        if json:
            print_json(bridges)
            return
        for number, status in enumerate(bridges):
            if number:
                say()
            _show_bridge(status, detail)

    repeat(once, watch, json)


def _show_bridge(status: Json, detail: bool) -> None:
    params = status["parameters"]
    version = "STP" if params["force_version"] == 0 else "RSTP"
    away = "" if status["connected"] else ", its switch is disconnected; last known state"
    say(f"{status['bridge']}: {version if status['enabled'] else 'off'}{away}", bold=True)
    if status["bridge_id"] is not None:
        _show_pairs(_bridge_pairs(status, detail))
    if not detail:
        connected = {"connected": status["connected"]}
        show_table(_COLUMNS, [port | connected for port in status["ports"]])
        return
    for port in status["ports"]:
        say(f"{port['name']} ({port['number']})", bold=True)
        _show_pairs(_port_pairs(port))


def _bridge_pairs(status: Json, detail: bool) -> list[tuple[str, str]]:
    root, times, change = status["root_port"], status["root_times"], status["topology_change"]
    where = "this bridge" if status["root_id"] == status["bridge_id"] else status["root_id"]
    if root is not None:
        where += f" through {root['name']} ({root['number']}), cost {status['root_path_cost']}"
    pairs = [
        ("bridge id", status["bridge_id"]),
        ("root", where),
        ("times", _times(times)),
        ("topology change", _change(change)),
    ]
    if detail:
        params = status["parameters"]
        pairs += [
            ("own times", _times(params)),
            ("root's age", f"{times['message_age']:g}"),
            ("priority", str(params["priority"])),
            ("hold count", str(params["transmit_hold_count"])),
            ("force version", str(params["force_version"])),
            ("guard recovery", f"{params['bpdu_guard_recovery']:g} s"),
        ]
    return pairs


def _times(times: Json) -> str:
    return (
        f"hello {times['hello_time']:g}, max age {times['max_age']:g},"
        f" forward delay {times['forward_delay']:g}"
    )


def _change(change: Json) -> str:
    if change["since"] is None:
        return "none so far"
    where = f" at {change['port']['name']}" if change["port"] else ""
    when = "now" if change["active"] else f"{age(change['since'])} ago"
    return f"{when}{where}, {change['count']} so far"


def _state(port: Json) -> str:
    if not port["connected"]:
        return "disconnected"
    return ": ".join([port["state"], *port["guards"]]) if port["up"] else "down"


_COLUMNS: tuple[Column, ...] = (
    ("PORT", "name"),
    "role",
    ("STATE", _state),
    ("COST", "path_cost"),
    ("EDGE", lambda port: _yes(port["edge"]["oper"])),
    ("P2P", lambda port: _yes(port["point_to_point"]["oper"])),
    ("DESIGNATED BRIDGE", "designated.bridge"),
    ("ITS PORT", "designated.port"),
)


def _port_pairs(port: Json) -> list[tuple[str, str]]:
    edge, link, params = port["edge"], port["point_to_point"], port["parameters"]
    designated = port["designated"]
    switched_on = [name for name in params if params[name] is True and name not in _SHOWN_OTHERWISE]
    pairs = [
        ("role", port["role"]),
        ("state", f"{port['state']} ({port['reason']})"),
        ("link", "up" if port["up"] else "down"),
        ("edge", f"{_yes(edge['oper'])} (admin {_yes(edge['admin'])}, auto {_yes(edge['auto'])})"),
        ("point to point", f"{_yes(link['oper'])} ({link['admin']})"),
        ("switched on", ", ".join(switched_on)),
    ]
    if designated is not None:
        pairs += [
            ("port id", f"{port['port_id']}, priority {params['priority']}"),
            ("cost", f"{port['path_cost']} ({_cost_origin(params)})"),
            ("designated root", f"{designated['root']}, cost {designated['cost']}"),
            ("designated", f"{designated['bridge']}, port {designated['port']}"),
            ("these are", port["information"]),
            ("sends", port["sends"].upper()),
            ("proposing", f"{_yes(port['proposing'])}, agreed {_yes(port['agreed'])}"),
            ("held by", ", ".join(port["guards"])),
            ("guards struck", _counts(port["guard_counts"])),
            ("timers", ", ".join(f"{name} {left:.1f}" for name, left in port["timers"].items())),
            ("BPDUs sent", _counts(port["sent"])),
            ("BPDUs received", _counts(port["received"])),
            ("BPDUs dropped", _counts(port["drops"])),
            ("began to forward", f"{port['forward_transitions']} times"),
        ]
    return pairs


_SHOWN_OTHERWISE = ("admin_edge", "auto_edge")


def _cost_origin(params: Json) -> str:
    return "of its speed" if params["path_cost"] is None else "set"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _show_pairs(pairs: list[tuple[str, str]]) -> None:
    for name, value in pairs:
        say(f"  {name:16}  {value or '-'}")


# Configure


add_protocol_settings(app, "stp", "spanning tree")


@app.command()
def recover(bridge: BridgeArgument, port: PortArgument, client: Client = CONNECT) -> None:
    """Unblock a port that a guard has blocked."""
    client.post(client.path(bridge, "stp", "ports", port, "recover"))


@app.command()
def mcheck(bridge: BridgeArgument, port: PortArgument, client: Client = CONNECT) -> None:
    """Have a port send RSTP again to detect its neighbour's protocol version."""
    client.post(client.path(bridge, "stp", "ports", port, "migration-check"))


# Trace


@app.command()
def trace(
    bridge: AnyBridgeArgument = None, json: JsonOption = False, client: Client = CONNECT
) -> None:
    """Follow spanning tree as it happens: BPDUs sent (>) and heard (<), roles, states, links.

    Of a BPDU: its type, the sender's role, its flags in brackets, then the root, the
    sender's cost to it, the sender and its port, and the message age.
    """
    follow(client, "stp,port,bridge", bridge, story, json)


def story(event: Json) -> str:
    what = str(event["message"]).removeprefix("port ")
    if event["kind"] == "stp.root":
        what += f": {_bridge_id(event['data']['new'])}, cost {event['data']['root_path_cost']}"
    return what


def _bridge_id(text: str) -> str:
    """8000020000000001 as 8000.02:00:00:00:00:01."""
    return f"{text[:4]}.{':'.join(text[i : i + 2] for i in range(4, 16, 2))}"
