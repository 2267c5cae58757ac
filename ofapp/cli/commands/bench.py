"""ofapp bench: how fast a bridge is, beside what it replaces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ofapp.bench import BenchError
from ofapp.bench.names import Datapath, Dut, Measurement
from ofapp.cli.output import say

if TYPE_CHECKING:
    from ofapp.bench.presets import Asked, Preset

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
_RUN_DIR = Path("/var/run/openvswitch")
_TAG = "ofbench"


class Links(NamedTuple):
    """Interfaces of the machine to measure between, if any."""

    tx: str
    rx: str
    ports: tuple[str, ...]


class Place(NamedTuple):
    """Directory and heading of the results, prefix of names, and the switch."""

    out: Path
    title: str
    tag: str
    ovs_rundir: Path


@app.command()
def run(
    out: Out,
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
    datapath: Datapaths = None,
    test: Annotated[
        list[Measurement] | None,
        typer.Option(
            metavar="TEST",
            help="What to measure; may be given several times: throughput, overload (what comes"
            " through of all that can be"
            " sent), latency, loss, back-to-back (RFC 2544);"
            " flooding, addresses, caching, learning (RFC 2889); tcp, udp, transactions;"
            " profile, occupancy (see `ofapp bench profile`)."
            " Default: without loss, back-to-back, addresses, caching, profile, occupancy.",
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
    repeat: Repeat = None,
    seconds: Seconds = None,
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
    tx: Tx = "",
    rx: Rx = "",
    port: Ports = None,
    ovs_rundir: OvsRunDir = _RUN_DIR,
    title: Title = "",
    tag: Tag = _TAG,
) -> None:
    """Measure devices in turns and write a report (as root).

    Each device is set up, measured and removed; nothing that exists is touched. Traffic goes
    between namespaces made for it, or between two interfaces that are given. The wire is measured
    to tell where the generator and not the device was the limit.

    Try `ofapp bench run --quick --out /tmp/bench` first.
    """
    from ofapp.bench import presets

    if quick and full:
        raise typer.BadParameter("--quick and --full: give one of them")
    preset = presets.QUICK if quick else presets.FULL if full else presets.USUAL
    devices = dut or (presets.DUTS_BETWEEN if tx else presets.DUTS)
    asked = presets.Asked(
        *(devices, datapath or (), test or (), size or (), addresses or ()),
        *(repeat, seconds, loss, side_by_side),
    )
    links = Links(tx, rx, tuple(port or ()))
    _measure(asked, preset, links, Place(out, title or "ofapp bench", tag, ovs_rundir))


@app.command()
def profile(
    out: Out,
    dut: Annotated[
        list[Dut] | None,
        typer.Option(
            metavar="DEVICE",
            help="The device under test; may be given several times: ofapp, normal, linux, router,"
            " wire (what the generator alone costs). Default: wire, linux, normal, ofapp.",
        ),
    ] = None,
    datapath: Datapaths = None,
    hosts: Annotated[
        list[int] | None,
        typer.Option(
            min=2,
            max=1_000_000,
            metavar="HOSTS",
            help="How many hosts there are, half of them behind each port; may be given several"
            " times. Default: 2, 2048.",
        ),
    ] = None,
    repeat: Repeat = None,
    seconds: Seconds = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure once, with trials of 0.2 s.")
    ] = False,
    tx: Tx = "",
    rx: Rx = "",
    port: Ports = None,
    ovs_rundir: OvsRunDir = _RUN_DIR,
    title: Title = "",
    tag: Tag = _TAG,
) -> None:
    """Show where the time of a frame goes, and what latency costs (as root).

    perf samples the processors while frames are forwarded between few hosts and between many. Its
    samples become the cost of a frame in driver, network stack, bridge, memory and locks: time, and
    cycles, cache references and misses where the processor counts them. Latency is then
    measured at rising loads, and set against the cores in use, with advice.
    """
    from ofapp.bench import presets

    preset = presets.PROFILE_QUICK if quick else presets.PROFILE
    asked = presets.Asked(
        duts=dut or [one for one in presets.DUTS_PROFILED if not (tx and one is Dut.WIRE)],
        datapaths=datapath or (),
        addresses=hosts or (),
        repetitions=repeat,
        seconds=seconds,
    )
    links = Links(tx, rx, tuple(port or ()))
    _measure(asked, preset, links, Place(out, title or "ofapp bench profile", tag, ovs_rundir))


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


def _measure(asked: Asked, preset: Preset, links: Links, place: Place) -> None:
    """Carry it out and write the report; exit status 1 when something was not measured."""
    from ofapp.bench import presets
    from ofapp.bench.bed import Given
    from ofapp.bench.choose import Where
    from ofapp.bench.run import carry_out

    if bool(links.tx) != bool(links.rx):
        raise typer.BadParameter("--tx and --rx: give both or none")
    given = Given(links.tx, links.rx, links.ports) if links.tx else None
    try:
        plan = presets.plan(asked, preset)
        where = Where(place.tag, given, place.ovs_rundir)
        results = carry_out(plan, where, place.title, place.out)
    except BenchError as error:
        _fail(error)
    _report([place.out], place.out)
    if results.problems:
        raise typer.Exit(1)


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
