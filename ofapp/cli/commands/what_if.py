"""ofapp what-if: what a change of the network would lead to, before it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ofapp.cli.arguments import JsonOption
from ofapp.cli.client import CONNECT, ApiError, Client, Json
from ofapp.cli.config_changes import counted
from ofapp.cli.output import print_json, say, show_table

INTERRUPTED = 1
"""Exit status if a host would be cut off, or if there would be a loop."""

_FIELD = re.compile("`(cut|plug|fail|set|config|attach|move|storm|disconnected|fail_member)`")
"""A field of the request in words of the API, which is an option here."""

_PRIORITY = "0 to 61440, in steps of 4096"
_RATE = "write frames a second, s1/eth1=50000"

Ports = Annotated[
    list[str] | None,
    typer.Option(
        "--cut",
        metavar="BRIDGE/PORT",
        help="Cut the cable at this port; of a fabric FABRIC/MEMBER/PORT.",
    ),
]


def what_if(
    cut: Ports = None,
    plug: Annotated[
        list[str] | None,
        typer.Option(
            "--plug", metavar="A,B", help="Plug in a cable between two ports: s1/eth3,s2/eth4."
        ),
    ] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option("--fail", metavar="BRIDGE|FABRIC/MEMBER", help="This switch loses its power."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="BRIDGE:KEY=VALUE",
            help="Set a parameter, by its path in the bridge's section: s3:stp.priority=4096.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Apply this configuration file."),
    ] = None,
    attach: Annotated[
        list[str] | None,
        typer.Option(
            "--attach",
            metavar="BRIDGE/PORT[=PRIORITY]",
            help="Plug in a foreign bridge with spanning tree of this priority, 32768 by default.",
        ),
    ] = None,
    move: Annotated[
        list[str] | None,
        typer.Option(
            "--move", metavar="A,B", help="The host at port A moves to B: s1/eth1,s2/eth3."
        ),
    ] = None,
    storm: Annotated[
        list[str] | None,
        typer.Option(
            "--storm",
            metavar="BRIDGE/PORT[=RATE]",
            help="Broadcasts come in at this port, 10000 frames a second by default.",
        ),
    ] = None,
    disconnected: Annotated[
        float | None,
        typer.Option(
            "--disconnected",
            metavar="SECONDS",
            min=1,
            max=300,
            help="All switches are without this controller for so long.",
        ),
    ] = None,
    fail_member: Annotated[
        str | None,
        typer.Option(
            "--fail-member",
            metavar="MEMBER",
            help="This member of the cluster dies: its switches are without it until another has"
            " them.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", metavar="SECONDS", min=1, max=300, help="How far to predict."),
    ] = 60,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Predict what changes of the network lead to: nothing is changed.

    A copy of the bridges that this controller manages makes the changes in virtual time.

    Exit status: 1 if hosts would be cut off, for however short a time, or if there would be a
    loop, else 0.
    """
    question: dict[str, Any] = {
        "cut": [_port(text) for text in cut or []],
        "plug": [dict(zip("ab", _two(text), strict=True)) for text in plug or []],
        "fail": fail or [],
        "set": _settings(settings or []),
        "attach": [_with_number(text, "priority", _PRIORITY) for text in attach or []],
        "move": [dict(zip(("source", "to"), _two(text), strict=True)) for text in move or []],
        "storm": [_with_number(text, "rate", _RATE) for text in storm or []],
        "disconnected": disconnected,
        "fail_member": fail_member,
        "seconds": seconds,
    }
    if config is not None:
        from ofapp.cli.commands.config import file_body

        question["config"] = file_body(config)
    if not any(question[name] for name in question.keys() - {"seconds"}):
        raise typer.BadParameter(
            "say what changes: "
            "--cut, --plug, --fail, --set, --config, --attach, --move, --storm, --disconnected,"
            " --fail-member"
        )
    try:
        predicted = client.post("/v1/what-if", None, question)
    except ApiError as error:
        typed = {"cut": cut, "plug": plug, "fail": fail, "attach": attach, "move": move}
        raise _by_options(error, {**typed, "storm": storm}, question["set"]) from None
    if json:
        print_json(predicted)
    else:
        _show(predicted)
    if predicted["interrupted"]:
        raise typer.Exit(INTERRUPTED)


def _by_options(
    error: ApiError, typed: Mapping[str, list[str] | None], settings: list[Json]
) -> ApiError:
    """The error, with options in place of the request's fields, as `storm.0.rate`.

    typed: values of options that may be given several times; settings: those of `--set`.
    """
    said: list[str] = []
    for field, why in error.fields:
        name, at, *below = [*field.split("."), ""]
        if not at.isdecimal():
            said.clear()
            break
        if name == "set":  # the path has `settings` before the key
            option = f"--set {settings[int(at)]['bridge']}:{'.'.join(below[1:-1])}"
        else:
            option = f"--{name} {(typed[name] or [])[int(at)]}"
        said.append(f"{option}: {why}")
    text = "; ".join(said) or str(error)
    return ApiError(_FIELD.sub(lambda m: f"`--{m[1].replace('_', '-')}`", text), error.status)


def _two(text: str) -> list[str]:
    ends = text.split(",")
    if len(ends) != 2:
        raise typer.BadParameter(f"{text!r} is not two ports: write s1/eth3,s2/eth4")
    if ends[0] == ends[1]:
        raise typer.BadParameter(f"{text!r} names one port twice: write s1/eth3,s2/eth4")
    return [_port(end) for end in ends]


def _port(text: str) -> str:
    if not re.fullmatch("[^/]+(/[^/]+){1,2}", text):
        raise typer.BadParameter(f"{text!r} is not BRIDGE/PORT: write s1/eth1, or pod/s1/eth1")
    return text


def _with_number(text: str, name: str, form: str) -> Json:
    """A port, and the number after it if there is one.  form: form of the number, in words."""
    port, _, number = text.partition("=")
    found: Json = {"port": _port(port)}
    if number and not number.isdecimal():
        raise typer.BadParameter(f"{number!r} is no {name}: {form}")
    return {**found, name: int(number)} if number else found


def _settings(texts: list[str]) -> list[Json]:
    """The settings of each bridge, merged."""
    import yaml

    bridges: dict[str, Json] = {}
    for text in texts:
        (place, _, value) = text.partition("=")
        bridge, _, path = place.partition(":")
        if not (bridge and path and value):
            raise typer.BadParameter(f"{text!r} is not BRIDGE:KEY=VALUE: s3:stp.priority=4096")
        section = bridges.setdefault(bridge, {})
        *outer, last = path.split(".")
        for name in outer:
            section = section.setdefault(name, {})
        section[last] = yaml.safe_load(value)
    return [{"bridge": name, "settings": given} for name, given in bridges.items()]


def _show(predicted: Json) -> None:
    for one in predicted["loops"]:
        say(f"LOOP in {_vlan(one['vlan'])}: {_time(one)}", bold=True, colour=typer.colors.RED)
    for one in predicted["cut_off"]:
        where = f"{one['a']} and {one['b']}, {_vlan(one['vlan'])}"
        here, there = one["hosts"]
        say(f"cut off: {where} ({here} and {counted(there, 'host')}): {_time(one)}")
    for one in predicted["silent"]:
        where = f"{one['bridge']}/{one['port']}"
        hosts = counted(one["hosts"], "host") if one["hosts"] else "no host learned"
        say(f"closed: {where}, {_vlan(one['vlan'])} ({hosts}): {_time(one)}")
    for one in predicted["events"]:
        if one["kind"] == "bindings.moved":
            say(f"{one['bridge']}: {one['message']}")
    for one in predicted["refused"]:
        bound = f"bound at {one['bound_bridge']}/{one['bound_port']} ({one['origin']})"
        why = bound if one["bound_port"] else "without a binding"
        say(f"refused: {one['mac']} at {one['bridge']}/{one['port']}, {_vlan(one['vlan'])}: {why}")
    if not predicted["interrupted"]:
        say("No host is cut off, and there is no loop.")
    for one in predicted["roots"]:
        say(f"root of {one['bridge']}: {one['root_name'] or one['root']}")
    if predicted["changes"]:
        say()
        show_table(_CHANGES, predicted["changes"])
    if predicted["roles"]:
        say()
        show_table(["bridge", "port", "before", "after"], predicted["roles"])
    flushed = [one for one in predicted["flushed"] if one["addresses"]]
    if flushed:
        say()
        show_table(["bridge", "port", ("FORGOTTEN ADDRESSES", "addresses")], flushed)
    if predicted["paths"]:
        say()
        show_table(_PATHS, predicted["paths"])
    if predicted["storms"]:
        say()
        show_table(_STORMS, predicted["storms"])
    if predicted["groups"]:
        say()
        show_table(_GROUPS, predicted["groups"])
    for switch in predicted["switches"]:
        for words in switch["changes"]:
            say(f"{switch['bridge']}: {words}")
    if predicted["switches"]:
        say()
        show_table(_CONTENTS, predicted["switches"])
    if predicted["single_points"]:
        say()
        say(f"Single points of failure afterwards: {', '.join(predicted['single_points'])}")
    for sentence in predicted["assumptions"]:
        say(f"Assumed: {sentence}.")


def _vlan(vid: int) -> str:
    return f"VLAN {vid}" if vid else "untagged"


def _time(one: Json) -> str:
    if one["seconds"] is None:
        return f"from {one['since']:.3f} s to the end"
    return f"{one['seconds']:.3f} s, from {one['since']:.3f} s"


_GROUPS = (
    *("group", "source"),
    ("VLAN", lambda one: one["vlan"] or "-"),
    *("change", "bridge", "port"),
    ("HOSTS THERE", lambda one: "yes" if one["receiver"] else "no"),
)
_CONTENTS = (
    ("CHANGES IN", "bridge"),
    ("ITEMS", lambda one: len(one["planned"]["items"])),
    *("planned.sent.flows", "planned.sent.groups", "planned.sent.meters"),
)


def _shown(paths: list[list[str]]) -> str:
    return " or ".join(", ".join(links) for links in paths) or "none"


_PATHS = (
    ("FROM", "a"),
    ("TO", "b"),
    ("PATHS BEFORE", lambda one: _shown(one["before"])),
    ("PATHS AFTER", lambda one: _shown(one["after"])),
)
_STORMS = ("bridge", "port", ("VLAN", lambda one: one["vlan"] or "-"), ("FRAMES/S", "rate"))
_CHANGES = (
    ("SECONDS", lambda one: f"{one['at']:.3f}"),
    "bridge",
    "port",
    ("OLD", lambda one: one["old"] or "down"),
    ("NEW", lambda one: one["new"] or "down"),
    "reason",
)
