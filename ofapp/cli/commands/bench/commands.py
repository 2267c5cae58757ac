"""ofapp bench: how fast a bridge is, beside what it replaces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ofapp.bench import BenchError
from ofapp.bench.names import Datapath, Duplex, Dut, Measurement, Paper
from ofapp.cli.commands.bench.options import (
    RUN_DIR,
    TAG,
    Datapaths,
    Links,
    Out,
    Output,
    OvsRunDir,
    Ports,
    Repeat,
    Rx,
    Seconds,
    Tag,
    Title,
    Tx,
    fail,
    measure,
    message_sizes,
    write_report,
)
from ofapp.cli.output import say

app = typer.Typer(
    no_args_is_help=True,
)


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
            " flooding, addresses, caching, learning (RFC 2889); tcp, udp, transactions,"
            " pairs, ping;"
            " profile, occupancy (see `ofapp bench profile`)."
            " Default: without loss, back-to-back, addresses, caching, pairs, ping, profile,"
            " occupancy.",
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
    ovs_rundir: OvsRunDir = RUN_DIR,
    title: Title = "",
    tag: Tag = TAG,
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
    plan = presets.plan(
        presets.between(preset) if tx else preset,
        **{"duts": dut, "datapaths": datapath, "tests": test, "sizes": size},
        **{"addresses": addresses, "repetitions": repeat, "seconds": seconds},
        **{"loss": loss, "side_by_side": side_by_side},
    )
    links = Links(tx, rx, tuple(port or ()))
    measure(plan, links, Output(out, title or "ofapp bench", tag, ovs_rundir))


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
    ovs_rundir: OvsRunDir = RUN_DIR,
    title: Title = "",
    tag: Tag = TAG,
) -> None:
    """Show where the time of a frame goes, and what latency costs (as root).

    perf samples the processors while frames are forwarded between few hosts and between many. Its
    samples become the cost of a frame in driver, network stack, bridge, memory and locks: time, and
    cycles, cache references and misses where the processor counts them. Latency is then
    measured at rising loads, and set against the cores in use, with advice.
    """
    from ofapp.bench import presets

    preset = presets.PROFILE_QUICK if quick else presets.PROFILE
    plan = presets.plan(
        presets.between(preset) if tx else preset,
        **{"duts": dut, "datapaths": datapath, "addresses": hosts},
        **{"repetitions": repeat, "seconds": seconds},
    )
    links = Links(tx, rx, tuple(port or ()))
    measure(plan, links, Output(out, title or "ofapp bench profile", tag, ovs_rundir))


@app.command()
def paper(
    name: Annotated[
        Paper, typer.Argument(metavar="PAPER", help="The paper: yu, varis, ibm or freebsd.")
    ],
    table: Annotated[
        list[int] | None,
        typer.Option(
            min=1, metavar="N", help="Measure this table only; may be given several times."
        ),
    ] = None,
    figure: Annotated[
        list[int] | None,
        typer.Option(
            min=1, metavar="N", help="Measure this figure only; may be given several times."
        ),
    ] = None,
    rate: Annotated[
        list[float] | None,
        typer.Option(
            min=1,
            max=10_000_000,
            metavar="FRAMES",
            help="Measure at this many frames a second in place of the paper's rates, from 1 on;"
            " may be given several times.",
        ),
    ] = None,
    payload: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=65_000,
            metavar="OCTETS",
            callback=message_sizes,
            help="ibm: octets of a request and of its answer, from 14 on, or 0 for a stream, in"
            " place of all; may be given several times.",
        ),
    ] = None,
    mtu: Annotated[
        list[int] | None,
        typer.Option(
            min=1_280,
            max=9_216,
            metavar="OCTETS",
            help="ibm: MTU, in place of 1500 and 9000; may be given several times.",
        ),
    ] = None,
    pairs: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=100,
            metavar="N",
            help="ibm: so many pairs of client and server, in place of 1, 10 and 50; may be given"
            " several times.",
        ),
    ] = None,
    guests: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="ibm: put clients and servers into two virtual machines by QEMU, with the kernel"
            " below this directory (boot/vmlinuz-*, lib/modules). Default: / where KVM works,"
            " namespaces elsewhere.",
        ),
    ] = None,
    remote: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help="ibm, figure 3: the far bridge and the servers are on this machine, which ssh"
            " reaches as root and which has ofapp; give --link, too.",
        ),
    ] = "",
    link: Annotated[
        str, typer.Option(metavar="IF", help="With --remote: the interface here of the cable.")
    ] = "",
    far_link: Annotated[
        str, typer.Option(metavar="IF", help="With --remote: the one there. Default: as --link.")
    ] = "",
    duplex: Annotated[
        Duplex,
        typer.Option(
            help="varis: full, both ends send at once, as in the paper; half, one end sends."
        ),
    ] = Duplex.FULL,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure once, with short trials: under 3 minutes.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where the results and the report go. Default: paper-PAPER in this directory.",
        ),
    ] = None,
    datapath: Datapaths = None,
    repeat: Repeat = None,
    seconds: Seconds = None,
    tx: Tx = "",
    rx: Rx = "",
    port: Ports = None,
    ovs_rundir: OvsRunDir = RUN_DIR,
    tag: Tag = TAG,
) -> None:
    """Measure the tables and figures of a paper again (as root).

    The report has the paper's rows in its own order, its figure beside those of ofapp, Open vSwitch
    alone, the Linux bridge and, where the paper has one, the router. For each claim of the paper it
    says whether it holds here.

    yu: J. T. Yu, Performance Evaluation of Linux Bridge (2004). varis: N. Varis, Anatomy of a Linux
    bridge (2012; needs perf). ibm: KVM, Linux bridge compared to Open vSwitch (needs sockperf).
    freebsd: R. Bejtlich, Throughput Testing Through a Bridge (2006).
    """
    from ofapp.bench import presets
    from ofapp.bench.guests import in_guests
    from ofapp.bench.model import Remote
    from ofapp.bench.papers import across, plan

    numbers = {"table": table or [], "figure": figure or []}
    names = [f"{kind} {number}" for kind, asked in numbers.items() for number in asked]
    try:
        axes = {"rate": rate, "payload": payload, "pairs": pairs, "mtu": mtu}
        given = {one: values or [] for one, values in axes.items()}
        made = plan(name, names, given, quick=quick, duplex=duplex)
        if remote and (guests or tx):
            raise BenchError("--remote: leave out --guests, --tx and --rx")
        if link and not remote:
            raise BenchError("--link: give --remote, the machine at its other end")
        if remote:
            made = across(made, Remote(host=remote, link=link, far_link=far_link or link))
        else:
            made = in_guests(made, guests)
    except BenchError as error:
        fail(error)
    made = presets.plan(made, datapaths=datapath, repetitions=repeat, seconds=seconds)
    measure(
        presets.between(made) if tx else made,
        Links(tx, rx, tuple(port or ())),
        Output(out or Path(f"paper-{name}"), f"ofapp bench paper {name}", tag, ovs_rundir),
    )


@app.command(hidden=True)
def far(
    dut: Annotated[Dut, typer.Option(help="The bridge to set up.")],
    link: Annotated[str, typer.Option(metavar="IF", help="The interface to the other machine.")],
    datapath: Annotated[Datapath, typer.Option(help="Its datapath.")] = Datapath.NETDEV,
    mtu: Annotated[int, typer.Option(min=1_280, max=9_216, help="MTU of all interfaces.")] = 1_500,
    ovs_rundir: OvsRunDir = RUN_DIR,
    tag: Tag = "offar",
) -> None:
    """Be the far half of a test bed until the input ends: `ofapp bench paper ibm --remote`."""
    from ofapp.bench.far import Far, serve

    try:
        serve(Far(dut, datapath, link, mtu), tag, ovs_rundir)
    except BenchError as error:
        fail(error)


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
    write_report(folders, out or folders[0])


@app.command()
def clean(tag: Tag = TAG, ovs_rundir: OvsRunDir = RUN_DIR) -> None:
    """Remove what a killed run has left behind: namespaces, interfaces and a bridge."""
    from ofapp.bench.run import remove_rests

    try:
        gone = remove_rests(tag, ovs_rundir)
    except BenchError as error:
        fail(error)
    say(f"removed: {', '.join(gone)}" if gone else "there was nothing to remove")
