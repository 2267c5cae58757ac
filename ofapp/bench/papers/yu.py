"""J. T. Yu, Performance Evaluation of Linux Bridge (DePaul University, 2004).

RFC 2544 at a sequence of frame rates with a hardware generator (IXIA, 1 Gbit/s), a Catalyst 2950
at 100 Mbit/s, and a Linux bridge and router on one 1.3 GHz processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ofapp.bench.names import Dut
from ofapp.bench.papers import DRAWN, Column, Exhibit, Head, Lack, Length, Paper, Row
from ofapp.bench.papers.found import BRIDGES, At
from ofapp.bench.papers.yu_claims import CLAIMS, FLAT, GAP, LOAD, PREAMBLE, line_rate, marks

_SIZES = (64, 128, 256, 512, 1024, 1280, 1500)


def _limit(at: At) -> str:
    return f"{min(at['rate'], line_rate(int(at['size']))) * at['size'] * 8:,.0f}"


_FPS = Head("FPS", lambda at: f"{at['rate']:,.0f}")
_INPUT = Head("Input rate, bit/s", lambda at: f"{at['rate'] * at['size'] * 8:,.0f}")
_SIZE = Head("Frame size", lambda at: f"{at['size']:,.0f}")
_TRAFFIC = Head(
    "Traffic generation", lambda at: "1G bit/s" if at["rate"] > 1 else "1 frame per second"
)
_LATENCY = Column("Latency, µs", "p50_us", lost="all probes lost")
_RECEIVED = Column("Throughput, bit/s", "mbps", 1e6)
_MBIT = Column("Throughput, Mbit/s", "mbps")
_CPU = Column("CPU occupancy, %", "cores", 100, net=True)
_SWITCH = Lack(
    "Catalyst 2950, 100BaseTX",
    "No hardware switch here: its column has the paper's figures, beside software under the same"
    " load.",
)
_LINKS = Lack(
    "Links of 100 Mbit/s and 1 Gbit/s",
    "Cables are veth pairs: without gap, preamble or line rate. The generator's processor is the"
    " limit. `--tx`, `--rx` and `--port` measure between real NICs.",
)
_IXIA = Lack(
    "IXIA 1000BaseT generator",
    "A spinning processor sends, and frames are stamped by the kernel: the highest rate is the"
    " processor's.",
)
_ONE_CPU = Lack(
    "A router with a separate processor",
    "Generator, device and receiver share this machine. Occupancy is the time of the kernel and the"
    " switch's programs beyond that of a wire at the same load: 100 % is one processor.",
)
_TABLE_2 = (
    (10, 13.5, 5_089),
    (10_000, 13.5, 5_100_000),
    (100_000, 13.5, 48_000_000),
    (160_000, 13.5, 75_000_000),
    (161_290, 13.5, 75_600_000),
    (162_602, 100.0, 76_000_000),
    (163_934, 8_300.0, 76_000_000),
    (1_000_000, 8_100.0, 76_000_000),
)
_BLOCKED = "N/A (sar blocked)"
_TABLE_3: tuple[tuple[float | str, ...], ...] = (
    (100, 25, 52_000, 0),
    (1_000, 25, 511_000, 2),
    (10_000, 25, 5_000_000, 21),
    (20_000, 25, 10_000_000, 42),
    (40_000, 25, 20_000_000, 56),
    (50_000, 29, 24_000_000, 70),
    (55_556, 29, 28_000_000, 77),
    (58_824, 29, 29_000_000, 82),
    (62_500, 32, 30_000_000, 85),
    (64_516, 36, 32_000_000, 85),
    (65_574, 37, 32_300_000, 86),
    (66_225, 87, 32_700_000, _BLOCKED),
    (66_667, 22_987, 25_000_000, _BLOCKED),
    (100_000, 44_987, 18_000_000, _BLOCKED),
)
_FURTHER = (150_000, 200_000, 300_000, 400_000, 600_000, 800_000)


def _overload(name: str, title: str, text: str, rows: Sequence[tuple[float | str, ...]]) -> Exhibit:
    """A table of rates; the bridge's has the processor's share, and loads up to the knee here."""
    cpu = len(rows[0]) > 3
    return Exhibit(
        name,
        title,
        f"{text} Latency is the median of probes among the frames. Rates beyond the generator's are"
        " sent as fast as it can.",
        LOAD,
        BRIDGES,
        (_FPS, _INPUT),
        (_LATENCY, _RECEIVED, *((_CPU,) if cpu else ())),
        tuple(Row({"size": 64, "rate": float(rate)}, tuple(said)) for rate, *said in rows),
        beyond=tuple({"size": 64, "rate": rate} for rate in _FURTHER) if cpu else (),
        lacks=(_ONE_CPU,) if cpu else (_SWITCH,),
        marks=marks if cpu else None,
    )


def _sizes(
    number: int, title: str, column: Column, said: Mapping[int, float | str], *more: Dut
) -> Exhibit:
    """A figure over frame sizes: latency at 1,000 frames/s, or what comes through flat out."""
    load = {"rate": 1_000} if column is _LATENCY else {}
    serial = Head("Limit of 100 Mbit/s, µs", lambda at: f"{at['size'] * 8 / 100:,.1f}")
    limit = Head(
        "Limit of 100 Mbit/s, Mbit/s",
        lambda at: f"{line_rate(int(at['size']), 1e8) * at['size'] * 8 / 1e6:,.1f}",
    )
    return Exhibit(
        f"figure {number}",
        title,
        "At 1,000 frames a second; a store-and-forward switch takes a frame's whole time on the"
        " link at least. The paper gives numbers in the text only; other points are drawn."
        if load
        else "Sent as fast as the generator can. The paper's input rate was above the link's.",
        LOAD if load else FLAT,
        (*BRIDGES, *more),
        (_SIZE, serial if load else limit),
        (column,),
        tuple(Row({"size": size} | load, (said.get(size, DRAWN),)) for size in _SIZES),
        axis="size",
        lacks=(_LINKS,) if more else (_SWITCH, _LINKS),
    )


_ROUTER_MOST: Mapping[int, float | str] = {64: 0.6, 512: "as the bridge", 1500: 96.0}
_CATALYST = {64: 13.5, 1500: 126.0}
_FIGURE_10 = Exhibit(
    "figure 10",
    "Linux bridge, latency against frame size at nominal rates",
    "At 1,000 frames a second and at 1, with the Catalyst 2950 for comparison.",
    LOAD,
    BRIDGES,
    (_FPS, _SIZE),
    (_LATENCY, Column("Latency of the Catalyst 2950, µs")),
    tuple(
        Row({"size": size, "rate": rate}, (said.get(size, other), _CATALYST.get(size, DRAWN)))
        for rate, said, other in ((1_000, {64: 25.0}, DRAWN), (1, {}, "drawn; up to 50 µs more"))
        for size in _SIZES
    ),
    axis="size",
    split="rate",
    lacks=(_SWITCH,),
)
_TABLE_1 = Exhibit(
    "table 1",
    "The generator alone",
    "A cable between the generator's two ports: IXIA at 1000BaseT there, a veth pair here. The"
    f" limit follows from the inter-frame gap ({GAP} octets), the preamble ({PREAMBLE}) and the"
    " slot time (64 octets) of 1 Gbit/s.",
    LOAD,
    (Dut.WIRE,),
    (_TRAFFIC, _SIZE, Head("Theoretical limit, bit/s", _limit)),
    (_RECEIVED, _LATENCY),
    (
        Row({"size": 64, "rate": 1}, (512, 1.8)),
        Row({"size": 64, "rate": line_rate(64)}, (760e6, 1.8)),
        Row({"size": 1500, "rate": 1}, (12_000, 1.8)),
        Row({"size": 1500, "rate": line_rate(1500)}, (1e9, 1.8)),
    ),
    lacks=(_IXIA,),
)
_LATE, _MOST = "latency against frame size", "throughput against frame size"


PAPER = Paper(
    "J. T. Yu, Performance Evaluation of Linux Bridge (2004)",
    (
        _TABLE_1,
        _sizes(7, f"Catalyst 2950, {_LATE}", _LATENCY, _CATALYST),
        _sizes(8, f"Catalyst 2950, {_MOST}", _MBIT, {64: 76.0, 1500: 99.0}),
        _overload(
            "table 2",
            "Catalyst 2950, overload",
            "A hardware switch past the limit of its link of 100 Mbit/s, frames of 64 octets.",
            _TABLE_2,
        ),
        _FIGURE_10,
        _overload(
            "table 3",
            "Linux bridge, overload",
            "Frames of 64 octets up to the collapse and past it. Rows that the paper has not lead"
            " to this machine's own knee.",
            _TABLE_3,
        ),
        _sizes(11, f"Linux bridge, {_MOST}", _MBIT, {64: 3.0, 1500: 96.0}, Dut.ROUTER),
        _sizes(13, f"Linux router, {_LATE}", _LATENCY, {64: 30.0}, Dut.ROUTER),
        _sizes(14, f"Linux router, {_MOST}", _MBIT, _ROUTER_MOST, Dut.ROUTER),
    ),
    CLAIMS,
    quick=Length(0.2, 1),
    usual=Length(0.5, 3),
)
