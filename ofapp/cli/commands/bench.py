"""ofapp bench: how fast a bridge is, beside what it replaces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ofapp.bench import BenchError
from ofapp.bench.names import Datapath, Dut, Measurement
from ofapp.cli.output import say

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
_RUN_DIR = Path("/var/run/openvswitch")
_TAG = "ofbench"


@app.command()
def run(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the results and the report go.")
    ],
    dut: Annotated[
        list[Dut] | None,
        typer.Option(
            metavar="DEVICE",
            help="The device under test; may be given several times: ofapp or normal (bridges of"
            " Open"
            " vSwitch), linux or router (the kernel's), wire (a cable: what the generator can do),"
            " external (what is between --tx and --rx already). Default: all but external.",
        ),
    ] = None,
    datapath: Annotated[
        list[Datapath] | None,
        typer.Option(
            metavar="NAME",
            help="The datapath of ofapp and normal; may be given several times: system, netdev,"
            " afxdp, dpdk."
            " Default: netdev.",
        ),
    ] = None,
    test: Annotated[
        list[Measurement] | None,
        typer.Option(
            metavar="TEST",
            help="What to measure; may be given several times: throughput, overload (what comes"
            " through of all that can be"
            " sent), latency, loss, back-to-back (RFC 2544);"
            " flooding, addresses, caching, learning (RFC 2889); tcp, udp, transactions."
            " Default: without loss, back-to-back, addresses, caching.",
        ),
    ] = None,
    size: Annotated[
        list[int] | None,
        typer.Option(
            min=64,
            max=9216,
            metavar="OCTETS",
            help="Frame size with the 4 octets of the checksum, 64 to 9216; may be given several"
            " times."
            " Default: 64, 512, 1518.",
        ),
    ] = None,
    addresses: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="HOSTS",
            help="How many addresses there are behind the far port, in the tests addresses and"
            " caching; may be given several times."
            " Default: 1, 1000, 10000.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="How many times each measurement is made. Default: 3."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="S", help="How long one trial takes. Default: 0.5."),
    ] = None,
    loss: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.5,
            metavar="SHARE",
            help="Share of frames that a load may lose and still count as carried.",
        ),
    ] = 0.001,
    side_by_side: Annotated[
        bool,
        typer.Option(
            "--side-by-side",
            help="Keep all devices up, each on its own cables, so that turns are short and --repeat"
            " can be of dozens: for differences of a few per cent.",
        ),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a short version of each test once.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Measure every test, with every size of the RFC and 9000."),
    ] = False,
    tx: Annotated[
        str, typer.Option(metavar="IF", help="Send by this interface instead of a veth pair.")
    ] = "",
    rx: Annotated[str, typer.Option(metavar="IF", help="Count at this interface.")] = "",
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IF",
            help="With --tx and --rx: an interface of the device; give the two that are cabled"
            " to those.",
        ),
    ] = None,
    ovs_rundir: OvsRunDir = _RUN_DIR,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The heading of the report.")] = "",
    tag: Tag = _TAG,
) -> None:
    """Measure devices in turns and write a report (as root).

    Each device is set up, measured and removed; nothing that exists is touched. Traffic goes
    between namespaces made for it, or between two interfaces that are given. The wire is measured
    to tell where the generator and not the device was the limit.

    Try `ofapp bench run --quick --out /tmp/bench` first.
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
    devices = dut or (presets.DUTS_BETWEEN if tx else presets.DUTS)
    asked = presets.Asked(
        *(devices, datapath or (), test or (), size or (), addresses or ()),
        *(repeat, seconds, loss, side_by_side),
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
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="The folder of a run; may be several.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to write the report. Default: the first DIR."
        ),
    ] = None,
) -> None:
    """Make the report of runs again: report.md, report.html and plots.

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
    say(f"removed: {', '.join(gone)}" if gone else "there was nothing to remove")


def _report(folders: list[Path], out: Path) -> None:
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
        say(write(folders, out))
    except BenchError as error:
        _fail(error)


def _fail(error: Exception) -> None:
    say(f"Error: {error}", err=True)
    raise typer.Exit(1) from error
