"""ofapp fabric: several switches that are one bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from ofapp.cli.arguments import JsonOption, WatchOption
from ofapp.cli.client import CONNECT, ApiError, Client, Json, report_silent
from ofapp.cli.commands.config import USUAL
from ofapp.cli.output import Column, age, print_json, repeat, say, show_table
from ofapp.fabric_setup import DIRECTORY

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The fabric. Without it, all fabrics.")
]
FabricOption = Annotated[
    str | None,
    typer.Option("--fabric", metavar="NAME", help="The fabric; needed if there are several."),
]

FileFabric = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="The fabric; needed if the file has several."),
]
AppliedArgument = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The fabric. Without it, all that are applied.")
]
FileOption = Annotated[
    Path,
    typer.Option("--config-file", metavar="FILE", help="The file with the section `fabrics`."),
]
DatabasesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--db",
        metavar="unix:PATH|tcp:ADDRESS:PORT",
        help="The database of an Open vSwitch with members; may be given several times. (default:"
        " this machine's)",
    ),
]
ControllerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--controller",
        metavar="TARGET",
        help="The controller; may be given several times. (default: those that a bridge has)",
    ),
]
JournalOption = Annotated[
    Path,
    typer.Option("--journal", metavar="DIR", help="Directory for the data that `revert` needs."),
]


@app.command()
def show(
    name: NameArgument = None,
    watch: WatchOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show the fabrics, or the members and links of one.

    READY: the member is connected and holds the plan that its frames use. VERSION is the plan's.
    """
    repeat(lambda: _show(client, name, json), watch, json)


@app.command()
def trace(
    start: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            help="Where the frames enter: a port (s1/eth0), or the MAC or IP address of a host.",
        ),
    ],
    to: Annotated[
        str, typer.Argument(metavar="TO", help="The MAC or IP address that they are for.")
    ],
    vlan: Annotated[
        int | None,
        typer.Option(
            "--vlan",
            metavar="VID",
            min=0,
            max=4094,
            help="The VLAN, 0 for untagged frames. Without it, the one where the host is known.",
        ),
    ] = None,
    fabric: FabricOption = None,
    json: JsonOption = False,
    client: Client = CONNECT,
) -> None:
    """Show which links frames to a host take, and which after the failure of each of them.

    Nothing is sent. A path in red or blue is one around a failure.
    """
    path = _path(fabric or _only(client), "trace")
    found = client.get(path, {"from": start, "to": to, "vlan": vlan})
    if json:
        print_json(found)
        return
    say(f"from {_place(found['start'])} to {found['mac']}{_in_vlan(found)}{_end(found)}")
    for hops in found["ways"]:
        say(f"  {_hops(hops)}")
    for detour in found["after"]:
        paths = detour["ways"]
        say(f"without {detour['one']} - {detour['other']}:{'' if paths else ' no path is left'}")
        for hops in paths:
            say(f"  {_hops(hops)}")


@app.command()
def plan(
    name: FileFabric = None,
    file: FileOption = USUAL,
    db: DatabasesOption = None,
    controller: ControllerOption = None,
    json: JsonOption = False,
) -> None:
    """Show what `apply` would change in the members' switches, as commands of ovs-vsctl.

    The commands can be typed by hand, too: on a member that is not reached from here, or without
    this program. The first part of a switch changes nothing for its traffic.
    """
    from ofapp.cli.commands import fabric_setup

    params = fabric_setup.read_fabric(file, name)
    targets = fabric_setup.look(params, db or [], tuple(controller or ()))
    fabric_setup.show_plan(params, targets, json)


@app.command()
def apply(
    name: FileFabric = None,
    file: FileOption = USUAL,
    db: DatabasesOption = None,
    controller: ControllerOption = None,
    confirm_within: Annotated[
        float,
        typer.Option(
            "--confirm-within",
            metavar="SECONDS",
            min=1,
            help="Put everything back unless `ofapp fabric confirm` is run in time.",
        ),
    ] = 120,
    journal: JournalOption = DIRECTORY,
) -> None:
    """Make the switches that are reached from here ready to be members of a fabric.

    Run it on each member, before the controller gets section `fabrics` of the file: links need a
    larger MTU and BFD.
    """
    from ofapp.cli.commands import fabric_setup
    from ofapp.fabric_setup.journal import Store

    params = fabric_setup.read_fabric(file, name)
    controllers = tuple(controller or ())
    targets = fabric_setup.look(params, db or [], controllers)
    fabric_setup.do_apply(params, targets, controllers, Store(journal), confirm_within)


@app.command()
def confirm(name: AppliedArgument = None, journal: JournalOption = DIRECTORY) -> None:
    """Keep what `apply` did: nothing is put back by itself any more."""
    from ofapp.cli.reversible import confirm_all
    from ofapp.fabric_setup.journal import Store

    confirm_all(Store(journal), name)


@app.command()
def revert(
    name: AppliedArgument = None,
    journal: JournalOption = DIRECTORY,
    force: Annotated[
        bool, typer.Option("--force", help="Also while the controller has the fabric in force.")
    ] = False,
    client: Client = CONNECT,
) -> None:
    """Give the switches the settings that they had before `apply`."""
    from ofapp.cli.commands import fabric_setup
    from ofapp.fabric_setup.journal import Store

    fabric_setup.do_revert(Store(journal), name, None if force else client)


@app.command()
def recover(journal: JournalOption = DIRECTORY) -> None:
    """Put back what was broken off or not confirmed: for a unit that runs at boot."""
    from ofapp.cli.commands import fabric_setup
    from ofapp.fabric_setup.journal import Store

    fabric_setup.do_recover(Store(journal))


def _show(client: Client, name: str | None, json: bool) -> None:
    if name is not None:
        fabric = client.get(_path(name))
        if json:
            print_json(fabric)
        else:
            _show_one(fabric)
        return
    answer = client.get("/v1/fabrics")
    report_silent(answer)
    if not json and not answer["fabrics"]:
        say(
            "There is no fabric. Section `fabrics:` of the configuration file names its members;"
            " `ofapp fabric plan` says what their switches need."
        )
        return
    show_table(_FABRICS, answer["fabrics"], json)


def _show_one(fabric: Json) -> None:
    plan = (
        "all members use the newest plan"
        if fabric["settled"]
        else "links are being proven, or the plan is changing"
    )
    say(f"{fabric['name']}: bridge {fabric['bridge']}, {plan}", bold=True)
    if fabric["paused"]:
        say(f"the bridge's protocols are paused: {fabric['paused']}")
    say()
    show_table(_MEMBERS, fabric["members"])
    say()
    show_table(_LINKS, fabric["links"])
    for link in fabric["links"]:
        if link["reason"]:
            say(f"{link['one']}: {link['reason']}")


def _only(client: Client) -> str:
    """The name of the only fabric; exits with an error if there is none, or several."""
    answer = client.get("/v1/fabrics")
    report_silent(answer)
    names: list[str] = [fabric["name"] for fabric in answer["fabrics"]]
    if len(names) != 1:
        what = f"there are several fabrics: give --fabric {' or '.join(names)}"
        raise ApiError(what if names else "there is no fabric")
    return names[0]


def _path(name: str, *below: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("v1", "fabrics", name, *below))


def _place(end: Json) -> str:
    return str(end["port"] or end["member"])


def _in_vlan(found: Json) -> str:
    return f" in VLAN {found['vlan']}" if found["vlan"] else ""


def _end(found: Json) -> str:
    if found["flooded"]:
        return ", which is not known: flooded by the tree to all members"
    if found["ways"]:
        return f" at {_place(found['end'])}"
    same = found["start"]["member"] == found["end"]["member"]
    none = "at the same member: no link is used" if same else "to which no link carries frames"
    return f" at {_place(found['end'])}, {none}"


def _hops(hops: list[Json]) -> str:
    """The hops of a path, each with its colour where that changes."""
    words, colour = [], "green"
    for hop in hops:
        changed = f" ({hop['colour']})" if hop["colour"] != colour else ""
        colour = hop["colour"]
        words.append(f"{hop['out']} > {hop['into']}{changed}")
    return ", ".join(words)


_FABRICS: tuple[Column, ...] = (
    *(("FABRIC", "name"), "bridge", "members", "ready"),
    ("LINKS", lambda fabric: _counted(fabric["links"])),
    ("SETTLED", lambda fabric: _yes(fabric["settled"])),
    "paused",
)
_MEMBERS: tuple[Column, ...] = (
    ("MEMBER", "name"),
    ("CONNECTED", lambda member: _yes(member["connected"])),
    ("READY", lambda member: _yes(member["ready"])),
    *("version", ("HELD", "versions"), "ports", "hosts", "conversations"),
)
_LINKS: tuple[Column, ...] = (
    *(("LINK", "one"), ("TO", "other"), "state"),
    ("FOR", lambda link: age(link["seconds"])),
    *("cost", "failures"),
)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _counted(links: Json) -> str:
    return ", ".join(f"{number} {state}" for state, number in links.items() if number)
