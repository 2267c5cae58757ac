"""What the commands of `ofapp bench` share: options, the measurement itself, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer

from ofapp.bench import BenchError
from ofapp.bench.names import Datapath
from ofapp.cli.output import say

if TYPE_CHECKING:
    from ofapp.bench.model import Plan


def _short(text: str) -> str:
    """Names of interfaces have 15 characters, and something is added."""
    if not (text.isascii() and text.isalnum() and len(text) <= 8):
        raise typer.BadParameter(f"{text}: at most 8 letters and digits")
    return text


def message_sizes(octets: list[int] | None) -> list[int] | None:
    """Sizes of sockperf's messages, which have 14 octets at least, or 0 for a stream."""
    for size in octets or ():
        if 0 < size < 14:
            raise typer.BadParameter(f"{size}: give 0 for a stream, or 14 to 65000 octets")
    return octets


OvsRunDir = Annotated[
    Path,
    typer.Option(
        "--ovs-rundir",
        metavar="DIR",
        help="Where the Open vSwitch to use has its db.sock and pid file.",
    ),
]
Tag = Annotated[
    str,
    typer.Option(
        "--tag",
        metavar="TEXT",
        callback=_short,
        help="Prefix of all names that are created: up to 8 letters and digits.",
    ),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where the results and the report go.")
]
Datapaths = Annotated[
    list[Datapath] | None,
    typer.Option(
        "--datapath",
        metavar="NAME",
        help="The datapath of ofapp and normal; may be given several times: system, netdev,"
        " afxdp, dpdk."
        " Default: netdev.",
    ),
]
Repeat = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="How many times each measurement is made. Default: 3."),
]
Seconds = Annotated[
    float | None,
    typer.Option(min=0.1, metavar="S", help="How long one trial takes. Default: 0.5."),
]
Tx = Annotated[
    str, typer.Option(metavar="IF", help="Send by this interface instead of a veth pair.")
]
Rx = Annotated[str, typer.Option(metavar="IF", help="Count at this interface.")]
Ports = Annotated[
    list[str] | None,
    typer.Option(
        "--port",
        metavar="IF",
        help="With --tx and --rx: an interface of the device; give the two that are cabled"
        " to those.",
    ),
]
Title = Annotated[str, typer.Option(metavar="TEXT", help="The heading of the report.")]
RUN_DIR = Path("/var/run/openvswitch")
TAG = "ofbench"


class Links(NamedTuple):
    """Interfaces of the machine to measure between, if any."""

    tx: str
    rx: str
    ports: tuple[str, ...]


class Output(NamedTuple):
    """Directory and heading of the results, prefix of names, and the switch."""

    out: Path
    title: str
    tag: str
    ovs_rundir: Path


def measure(plan: Plan, links: Links, output: Output) -> None:
    """Carry it out and write the report; exit status 1 when something was not measured."""
    from ofapp.bench.bed import Given
    from ofapp.bench.choose import Where
    from ofapp.bench.run import carry_out

    if bool(links.tx) != bool(links.rx):
        raise typer.BadParameter("--tx and --rx: give both or none")
    given = Given(links.tx, links.rx, links.ports) if links.tx else None
    try:
        where = Where(output.tag, given, output.ovs_rundir)
        results = carry_out(plan, where, output.title, output.out)
    except BenchError as error:
        fail(error)
    write_report([output.out], output.out)
    if results.problems:
        raise typer.Exit(1)


def write_report(folders: list[Path], out: Path) -> None:
    """Write the report and say what it says in short; exit status 1 without it."""
    try:
        from ofapp.bench.report import write
    except ImportError as error:
        say(
            f"No report without {error.name}: pip install 'ofapp[bench]', then"
            f" `ofapp bench report {' '.join(map(str, folders))}`",
            err=True,
        )
        raise typer.Exit(1) from error
    try:
        for line in write(folders, out):
            say(line)
    except BenchError as error:
        fail(error)


def fail(error: Exception) -> NoReturn:
    """End with an error and exit status 1."""
    say(f"Error: {error}", err=True)
    raise typer.Exit(1) from error
