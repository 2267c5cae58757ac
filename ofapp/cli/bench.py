"""ofapp bench: how fast a bridge is, beside what it replaces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ofapp.bench import BenchError
from ofapp.bench.names import Datapath, Dut, Measurement

app = typer.Typer(
    help="Measure bridges: RFC 2544, RFC 2889, streams and transactions, with a report.",
    no_args_is_help=True,
)


def _short(text: str) -> str:
    """Names of interfaces have 15 characters, and something is added."""
    if not (text.isascii() and text.isalnum() and len(text) <= 8):
        raise typer.BadParameter(f"{text}: at most 8 letters and digits")
    return text


OvsRunDir = Annotated[
    Path,
    typer.Option(
        "--ovs-rundir", metavar="DIR", help="Of the Open vSwitch to use: db.sock and the pid file."
    ),
]
Tag = Annotated[
    str,
    typer.Option(
        "--tag",
        metavar="TEXT",
        callback=_short,
        help="What names of all that is made begin with: up to 8 letters and digits.",
    ),
]
_RUN_DIR = Path("/var/run/openvswitch")
_TAG = "ofbench"


@app.command()
def run(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results and report go.")],
    dut: Annotated[
        list[Dut] | None,
        typer.Option(
            help="Device under test; may be given several times. ofapp and normal are bridges of"
            " Open vSwitch, linux and router are the kernel's, wire is a cable (what the generator"
            " can do), external is what somebody else has put between --tx and --rx."
            " [default: all but external]"
        ),
    ] = None,
    datapath: Annotated[
        list[Datapath] | None,
        typer.Option(help="Of ofapp and normal; may be given several times. [default: netdev]"),
    ] = None,
    test: Annotated[
        list[Measurement] | None,
        typer.Option(
            help="What to measure; may be given several times. [default: throughput, latency, tcp,"
            " transactions, udp, flooding, learning]"
        ),
    ] = None,
    size: Annotated[
        list[int] | None,
        typer.Option(
            min=64,
            max=9216,
            help="Frame size in octets, with the 4 of the checksum; several times for several."
            " [default: 64, 512, 1518]",
        ),
    ] = None,
    addresses: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=1_000_000,
            help="Hosts behind the far port, for the tests addresses and caching."
            " [default: 1, 1000, 10000]",
        ),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Repetitions. [default: 3]")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, metavar="S", help="Of one trial. [default: 0.5]")
    ] = None,
    loss: Annotated[
        float, typer.Option(min=0, max=0.5, metavar="SHARE", help="That a load may lose.")
    ] = 0.001,
    quick: Annotated[bool, typer.Option("--quick", help="Little of everything, once.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Every test, every size of the RFC and 9000.")
    ] = False,
    tx: Annotated[
        str, typer.Option(metavar="IF", help="Send by this interface, not by a veth pair.")
    ] = "",
    rx: Annotated[str, typer.Option(metavar="IF", help="Count at this interface.")] = "",
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IF", help="With --tx and --rx: the device's two interfaces, cabled to those."
        ),
    ] = None,
    ovs_rundir: OvsRunDir = _RUN_DIR,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Heading of the report.")] = "",
    tag: Tag = _TAG,
) -> None:
    """Measure devices in turns and write a report (as root).

    Each device is set up, measured and removed; nothing that exists is touched. A wire is measured
    too, so that the report can say where the generator and not the device was the limit.

    \b
    ofapp bench run --quick --out /tmp/bench
    ofapp bench run --dut ofapp --dut normal --test throughput --size 64 --out /tmp/bench
    ofapp bench run --tx eth1 --rx eth4 --port eth2 --port eth3 --dut ofapp --out /tmp/bench
    """
    from ofapp.bench import presets
    from ofapp.bench.bed import Given
    from ofapp.bench.choose import Where
    from ofapp.bench.run import carry_out

    if quick and full:
        raise typer.BadParameter("--quick and --full: give one of them")
    if bool(tx) != bool(rx):
        raise typer.BadParameter("--tx and --rx: give both or none")
    preset = presets.QUICK if quick else presets.FULL if full else presets.USUAL
    asked = presets.Asked(
        dut or (), datapath or (), test or (), size or (), addresses or (), repeat, seconds, loss
    )
    given = Given(tx, rx, tuple(port or ())) if tx else None
    try:
        plan = presets.plan(asked, preset)
        where = Where(tag, given, ovs_rundir)
        results = carry_out(plan, where, title or "ofapp bench", out)
    except BenchError as error:
        _fail(error)
    _report([out], out)
    if results.problems:
        raise typer.Exit(1)


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Of one run or several.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write it. [default: the first DIR]"),
    ] = None,
) -> None:
    """Make the report of runs anew: report.md, report.html and plots.

    Several runs, on other machines or datapaths, become sections of one report.
    """
    _report(folders, out or folders[0])


@app.command()
def clean(tag: Tag = _TAG, ovs_rundir: OvsRunDir = _RUN_DIR) -> None:
    """Remove what a killed run has left behind: namespaces, interfaces and a bridge."""
    from ofapp.bench.run import remove_rests

    try:
        gone = remove_rests(tag, ovs_rundir)
    except BenchError as error:
        _fail(error)
    typer.echo(f"removed: {', '.join(gone)}" if gone else "there was nothing to remove")


def _report(folders: list[Path], out: Path) -> None:
    try:
        from ofapp.bench.report import write
    except ImportError as error:
        typer.echo(
            f"No report without {error.name}: pip install 'ofapp[bench]', then"
            f" `ofapp bench report {' '.join(map(str, folders))}`",
            err=True,
        )
        raise typer.Exit(1) from error
    try:
        typer.echo(write(folders, out))
    except BenchError as error:
        _fail(error)


def _fail(error: Exception) -> None:
    typer.echo(f"Error: {error}", err=True)
    raise typer.Exit(1) from error
