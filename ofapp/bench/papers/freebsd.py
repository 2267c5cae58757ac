"""R. Bejtlich, Throughput Testing Through a Bridge (TaoSecurity, 2006).

iperf over TCP and UDP, from one host through a FreeBSD bridge on a 600 MHz processor to another
host, and straight through without the bridge, over fibre and over copper.
"""

from __future__ import annotations

from ofapp.bench.names import Dut, Measurement
from ofapp.bench.papers import Column, Exhibit, Head, Lack, Length, Paper, Row
from ofapp.bench.papers.found import (
    BRIDGES,
    At,
    Claims,
    Figure,
    Found,
    Judged,
    Spans,
    exact,
    judge,
    listed,
    unseen,
)

_CLAIMS = Claims()
_DUTS = (Dut.WIRE, *BRIDGES)
_PARTS = 12
_TCP = {"parts": _PARTS}
_UDP = {"parts": _PARTS, "mbit": 500, "payload": 1470}
_WATCHED = {"parts": 4, "monitor": 1}
_WHOLE = {"part": 0}
Said = tuple[float | str, ...]
_TCP_FIBRE = (93.9, 86.6, 121, 91.6, 103, 127, 101, 80.2, 125, 99.0, 90.6, 129)
_TCP_COPPER = (128, 128, 129, 129, 129, 127, 128, 128, 128, 126, 129, 128)
_NO = "not printed"
_UDP_FIBRE = (284, 284, 287, 287, 287, 287, 287, 288, 288, 288, 288, _NO)
_UDP_COPPER = (217, 217, 217, 217, 217, 216, 216, 216, 216, 216, 216, _NO)
_NIC = Lack(
    "Gigabit NICs, fibre and copper",
    "Neither here: a veth pair stands for both, measured once. `--tx`, `--rx` and `--port` measure"
    " between real NICs.",
)
_HOSTS = Lack(
    "Three machines",
    "Client, bridge and server share the processors of this machine: what one takes, the others"
    " lack. All offloads of the ends are off.",
)
_SENSOR = Lack(
    "FreeBSD's `monitor` flag",
    "It keeps the bridge's host from handling frames, and leaves them to bpf. No bridge here hands"
    " frames to its host. In the row `monitor`, tcpdump reads all frames of a port meanwhile.",
)


def _intervals(
    name: str, test: Measurement, load: At, whole: Said, fibre: Said, copper: Said
) -> Exhibit:
    """Tables 1 and 2: each interval of 5 s, and the whole."""
    said = (whole, *zip(fibre, copper, strict=True))
    return Exhibit(
        name,
        f"{test.upper()}, the client's view by interval",
        "iperf for 60 s with a row each 5 s, over fibre and over copper; here by iperf3, and with"
        " `--quick` each interval is half a second. The wire is the straight-through test.",
        test,
        _DUTS,
        (
            Head(
                "Interval of the paper, s",
                lambda at: f"{at['part'] * 5 - 5:g}-{at['part'] * 5:g}" if at["part"] else "0-60",
            ),
        ),
        (
            Column("Fibre, Mbit/s"),
            Column("Copper, Mbit/s", "sent_mbps", lost="no such interval in what iperf3 says"),
        ),
        tuple(Row({**load, "part": part}, said[part]) for part in (*range(1, _PARTS + 1), 0)),
        part="part",
        lacks=(_NIC,),
    )


def _straight(at: At, *said: float | str) -> Row:
    return Row(at, said, (Dut.WIRE,), "see wire", "straight")


def _bridged(at: At, *said: float | str) -> Row:
    return Row(at, said, BRIDGES, "no bridge", "bridged")


def _monitor(at: At, columns: int) -> Row:
    said = ("the flag was set in all runs",) * columns
    return Row({**at, **_WATCHED, **_WHOLE}, said, BRIDGES, "no bridge", "monitor")


_MODE = Head("Mode")
_INTERRUPTS = (Column("Interrupts fibre, %"), Column("Interrupts copper, %", "interrupts", 100))
_NO_BRIDGE = ("no bridge",) * 2
_TABLE_3 = Exhibit(
    "table 3",
    "TCP, straight through against bridged",
    "The whole stream. Interrupts are those of the machine that is the bridge: FreeBSD's interrupt"
    " time there, and time in interrupts and softirqs of all processors here, where 100 % is one.",
    Measurement.TCP,
    _DUTS,
    (_MODE,),
    (Column("Fibre, Mbit/s"), Column("Copper, Mbit/s", "mbps"), *_INTERRUPTS),
    (
        _straight({**_TCP, **_WHOLE}, 170.0, 166.0, *_NO_BRIDGE),
        _bridged({**_TCP, **_WHOLE}, 104.0, 128.0, 17.1, 16.7),
        _monitor({}, 4),
    ),
    part="part",
    lacks=(_NIC, _HOSTS, _SENSOR),
)
_TABLE_4 = Exhibit(
    "table 4",
    "UDP, straight through against bridged",
    "500 Mbit/s asked for in datagrams of 1,470 octets, the server's view. Interrupts as in"
    " table 3.",
    Measurement.UDP,
    _DUTS,
    (_MODE,),
    (
        Column("Fibre, Mbit/s"),
        Column("Copper, Mbit/s", "mbps"),
        Column("Lost fibre, %"),
        Column("Lost copper, %", "loss", 100),
        Column("Jitter fibre, ms"),
        Column("Jitter copper, ms", "jitter_ms"),
        Column("Out of order fibre"),
        Column("Out of order copper", "out_of_order"),
        *_INTERRUPTS,
    ),
    (
        _straight(
            {**_UDP, **_WHOLE},
            *(277.0, 267.0, 4.2, 2.9, 0.056, 0.024, "not said", "not said", *_NO_BRIDGE),
        ),
        _bridged({**_UDP, **_WHOLE}, 276.0, 209.0, 3.6, 3.2, 0.014, 0.047, 1, 1, 19.8, 17.1),
        _monitor(_UDP, 10),
    ),
    part="part",
    lacks=(_NIC, _HOSTS, _SENSOR),
)
_ANNOUNCED = ("announced for a later post",) * 3
_TABLE_5 = Exhibit(
    "table 5",
    "Ping in three modes",
    "The post announces latency by ping straight through, bridged, and switched around the box by a"
    " bypass switch. Here ofapp's fail mode takes the place of the bypass: the switch forwards by"
    " its flows while the controller is away.",
    Measurement.PING,
    _DUTS,
    (_MODE,),
    (
        Column("Round trip, mean, ms", "mean_ms"),
        Column("Round trip, longest, ms", "max_ms"),
        Column("Lost, %", "loss", 100),
    ),
    (
        _straight({}, *_ANNOUNCED),
        _bridged({}, *_ANNOUNCED),
        Row({"away": 1}, _ANNOUNCED, (Dut.OFAPP,), "has no controller", "controller away"),
    ),
    lacks=(
        Lack(
            "A bypass switch",
            "No such hardware here: it connects both sides when the box has no power. That the"
            " bridge's host itself fails cannot be shown on one machine.",
        ),
    ),
)


_TCP_RATE = Figure(Measurement.TCP, "mbps", {**_TCP, **_WHOLE})
_UDP_RATE = Figure(Measurement.UDP, "mbps", {**_UDP, **_WHOLE})


def _of_wire(found: Found, figure: Figure) -> Spans:
    """A figure of each bridge beside the wire's."""
    return found.spans(figure, *BRIDGES, over=figure._replace(label="wire"))


@_CLAIMS.add("A bridge in the path lowers the throughput of TCP.", "TCP", "table 3")
def _tcp(found: Found) -> Judged:
    shares = _of_wire(found, _TCP_RATE)
    text = f"Of the straight-through rate: {listed(shares, '.0%')}; in the paper 61 % and 77 %."
    return judge(shares, text, high=0.95)


@_CLAIMS.add("UDP passes a bridge at almost the straight-through rate.", "UDP", "table 4")
def _udp(found: Found) -> Judged:
    shares = _of_wire(found, _UDP_RATE)
    text = f"Of the straight-through rate: {listed(shares, '.0%')}; in the paper 100 % over fibre,"
    return judge(shares, f"{text} 78 % over copper.", low=0.85)


@_CLAIMS.add("The bridge adds no loss of datagrams.", "UDP", "table 4")
def _losses(found: Found) -> Judged:
    losses = found.spans(_UDP_RATE._replace(key="loss"), Dut.WIRE, *BRIDGES)
    wire = losses.get("wire")
    others = {label: span for label, span in losses.items() if label != "wire"}
    high = 0.0 if wire is None else wire.high + 0.01
    return judge(others if wire else {}, f"Lost: {listed(losses, '.1%')}.", high=high)


@_CLAIMS.add("At most one datagram in a run comes out of order.", "UDP", "table 4")
def _order(found: Found) -> Judged:
    counts = found.spans(_UDP_RATE._replace(key="out_of_order"), *BRIDGES)
    return judge(counts, f"Datagrams out of order: {listed(counts, '.0f')}.", high=1.5)


@_CLAIMS.add("Interrupts take less than a fifth of the bridge's processor.", "top", "table 3")
def _interrupts(found: Found) -> Judged:
    shares = found.spans(_TCP_RATE._replace(key="interrupts"), *BRIDGES)
    text = f"In interrupts and softirqs, of one processor: {listed(shares, '.0%')}. The ends share"
    return judge(shares, f"{text} the processors, so this is an upper bound.", high=0.2)


_CLAIMS.add("Copper carries more TCP than fibre, and less UDP.", "TCP, UDP", "table 3, table 4")(
    unseen("A veth pair is neither copper nor fibre.")
)


@_CLAIMS.add("Results vary, so that tests have to be repeated.", "end", "table 1")
def _spread(found: Found) -> Judged:
    values = {}
    for label in found.labels(*BRIDGES):
        loads = [{**_TCP, "part": part} for part in range(1, _PARTS + 1)]
        rates = [found.value(Measurement.TCP, label, "sent_mbps", at) for at in loads]
        if known := [rate for rate in rates if rate]:
            values[label] = exact(max(known) / min(known))
    text = f"The fastest interval beside the slowest: {listed(values, '.2f')}; in the paper 1.61"
    return judge(values, f"{text} over fibre, 1.02 over copper.", low=1.02, one=True)


@_CLAIMS.add("Traffic can go on while the box is out of order.", "end", "table 5")
def _bypass(found: Found) -> Judged:
    lost = found.spans(Figure(Measurement.PING, "loss", {"away": 1}), Dut.OFAPP)
    text = f"Echo requests lost while ofapp's controller is disconnected: {listed(lost, '.0%')}."
    return judge(lost, text, high=0)


PAPER = Paper(
    "R. Bejtlich, Throughput Testing Through a Bridge (2006)",
    (
        _intervals("table 1", Measurement.TCP, _TCP, (104.0, 128.0), _TCP_FIBRE, _TCP_COPPER),
        _intervals("table 2", Measurement.UDP, _UDP, (287.0, 216.0), _UDP_FIBRE, _UDP_COPPER),
        _TABLE_3,
        _TABLE_4,
        _TABLE_5,
    ),
    _CLAIMS,
    quick=Length(0.5, 1),
    usual=Length(5.0, 1),
)
