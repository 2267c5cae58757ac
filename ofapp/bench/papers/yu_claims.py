"""What Yu's paper claims, and how each claim is judged: by the knee of each device's curve."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from ofapp.bench.figures import Summary
from ofapp.bench.names import LABELS, Dut, Measurement
from ofapp.bench.papers.found import (
    BRIDGES,
    NO_HARDWARE,
    At,
    Check,
    Claims,
    Figure,
    Found,
    Judged,
    Spans,
    Verdict,
    exact,
    judge,
    listed,
    together,
    unseen,
)

CLAIMS = Claims()
LOAD, FLAT = Measurement.LATENCY, Measurement.OVERLOAD
GAP, PREAMBLE = 12, 8
"""Octets between two frames: table 1's inter-frame gap and preamble."""
_MARKS = ((0.56, "40,000"), (0.85, "62,500"))
"""Occupancies up to which the paper calls performance satisfactory and acceptable."""
_STEADY, _SOME = 1.5, 2.0
"""Latency beside that at 1,000 frames/s, up to which it is steady, and slightly degraded.

Less is no contradiction: at 1,000 frames/s the processor sleeps between frames.
"""
_LATE, _CARRIED = 10, 0.9
"""The knee: beyond it the median latency is so many times its least, or less is received."""
_WAN = 20_000
"""Frames a second of table 3 that are more than 10 Mbit/s."""


def line_rate(size: int, bits_per_second: float = 1e9) -> int:
    """Frames a second of a size that a link carries, with gap and preamble."""
    return int(bits_per_second / ((size + GAP + PREAMBLE) * 8))


class Load(NamedTuple):
    """What a device did with 64 octets at one load: frames a second, µs, and processors."""

    at: At
    sent: float
    received: float
    latency: float | None
    occupancy: float | None


def _curve(found: Found, label: str) -> list[Load]:
    """All loads of a device, ascending."""
    return [
        Load(
            at,
            found.value(LOAD, label, "offered", at) or 0,
            found.value(LOAD, label, "received", at) or 0,
            found.value(LOAD, label, "p50_us", at),
            found.net(LOAD, label, "cores", at),
        )
        for at in found.loads(LOAD, label, "rate", size=64)
    ]


def _up_to(found: Found, label: str, share: float) -> list[Load]:
    """The loads at which a device takes at most this share of a processor."""
    curve = _curve(found, label)
    return [one for one in curve if one.occupancy is not None and one.occupancy <= share]


def knee(found: Found, label: str) -> tuple[Load, bool] | None:
    """The highest load before latency or loss jumps, and whether it jumps; None without two loads.

    A load that fails alone, before one that passes, is a disturbance and no knee.
    """
    curve = _curve(found, label)
    most = _LATE * min((one.latency for one in curve if one.latency is not None), default=0)
    passed = [
        one
        for one in curve
        if one.latency is not None and one.latency <= most and one.received >= _CARRIED * one.sent
    ]
    if len(curve) < 2 or not passed:
        return None
    return max(passed, key=lambda one: one.sent), passed[-1] is not curve[-1]


def marks(found: Found) -> list[list[str]]:
    """The loads at 56 % and 85 % occupancy, and the knee, of each device."""
    labels = found.labels(*BRIDGES)
    rows = [["Marks", "Paper: FPS", *(f"{label}: FPS" for label in labels)]]
    for share, said in _MARKS:
        rows.append([f"{share:.0%} occupancy", said])
        rows[-1] += [_mark(found, label, share) for label in labels]
    knees = [knee(found, label) for label in labels]
    last = ["not measured" if one is None else _said(*one) for one in knees]
    return [*rows, ["Knee", "66,225 (87 µs; then 22,987 µs)", *last]]


def _mark(found: Found, label: str, share: float) -> str:
    """The highest load, as sent, at which a device takes at most this share of a processor."""
    known, below = (_up_to(found, label, most) for most in (inf, share))
    if not below:
        return "exceeded at all loads" if known else "not measured"
    most = f"{max(one.sent for one in below):,.0f}"
    return most if len(below) < len(known) else f"not reached up to {most}"


def _said(load: Load, seen: bool) -> str:
    cpu = "" if load.occupancy is None else f", {load.occupancy:.0%} occupancy"
    least = "" if seen else "none up to "
    return f"{least}{load.sent:,.0f} ({load.latency or 0:,.1f} µs{cpu})"


def _p50(size: int, rate: float) -> Figure:
    return Figure(LOAD, "p50_us", {"size": size, "rate": rate})


def _ratios(
    text: str,
    where: tuple[str, str],
    pairs: Mapping[str, tuple[Figure, Figure]],
    *duts: Dut,
    low: float = 0,
    high: float = inf,
) -> None:
    """Add a claim about figures beside others, of these devices; where: section and exhibits."""

    def check(found: Found) -> Judged:
        spans = {name: found.spans(one, *duts, over=two) for name, (one, two) in pairs.items()}
        said = "; ".join(f"{name}: {listed(one, '.2f')}" for name, one in spans.items() if one)
        return judge(together(*spans.values()), f"{said}.", low=low, high=high)

    CLAIMS.add(text, *where)(check)


@CLAIMS.add("The generator sends and receives at wire speed.", "section 3", "table 1")
def _wire(found: Found) -> Judged:
    rates = {size: line_rate(size) for size in (64, 1500)}
    each = {
        size: found.value(LOAD, "wire", "received", {"size": size, "rate": rate})
        for size, rate in rates.items()
    }
    arrived = {f"{size:,} octets": exact(one / rates[size]) for size, one in each.items() if one}
    text = f"Received of the theoretical limit of 1 Gbit/s: {listed(arrived, '.0%')}. A veth pair"
    return judge(arrived, f"{text} has no line rate: its limit is the processor.", low=0.85)


_ratios(
    "The generator's latency is constant, at any frame size and rate.",
    ("section 3", "table 1"),
    {
        "64 octets beside 1,500": (_p50(64, 1), _p50(1500, 1)),
        "the highest rate beside 1 frame/s": (_p50(1500, line_rate(1500)), _p50(1500, 1)),
    },
    Dut.WIRE,
    high=2,
)
_ratios(
    "Latency does not depend on the input rate below congestion.",
    ("sections 3, 4", "table 2, table 3"),
    {
        f"{rate:,} frames/s beside {least:,}": (_p50(64, rate), _p50(64, least))
        for least, rate in ((10, 10_000), (1_000, 10_000), (1_000, _WAN))
    },
    *BRIDGES,
    high=_STEADY,
)


def _knees(found: Found) -> dict[str, tuple[Load, bool]]:
    each = {label: knee(found, label) for label in found.labels(*BRIDGES)}
    return {label: one for label, one in each.items() if one is not None}


def _congested(found: Found) -> dict[str, tuple[Load, list[Load]]]:
    """The knee and all loads of each device that has a knee."""
    return {
        label: (one, _curve(found, label)) for label, (one, seen) in _knees(found).items() if seen
    }


def _of_congested(found: Found, figures: Spans, text: str, **bounds: float) -> Judged:
    """The verdict on figures of those devices that have a knee."""
    knees = _knees(found)
    if figures or not knees:
        return judge(figures, text, one=True, **bounds)
    most = max(load.sent for load, _ in knees.values())
    return Verdict.UNSEEN, (
        f"No device was congested up to {most:,.0f} frames/s, the highest load of this run. Over"
        " veth a bridge of the kernel slows the sender down, and there is no queue."
    )


@CLAIMS.add(
    "A congested link adds two to three orders of magnitude of latency.",
    *("sections 3, 6", "table 2, table 3"),
)
def _orders(found: Found) -> Judged:
    said, orders = [], {}
    for label, (load, curve) in _congested(found).items():
        least, most = load.latency or 1, max(one.latency or 0 for one in curve)
        orders[label] = exact(most / least)
        said.append(f"{label} {least:,.1f} to {most:,.0f} µs")
    text = f"From the knee to the worst load: {'; '.join(said)}."
    return _of_congested(found, orders, text, low=100)


CLAIMS.add(
    "A switch's latency is close to the theoretical limit of store and forward.",
    *("section 3", "figure 7"),
)(unseen("A veth pair has no line rate, so a frame takes no time on it."))
CLAIMS.add(
    "Software is comparable to a hardware switch at nominal rates.",
    *("section 4", "figure 7, figure 8, figure 10"),
)(NO_HARDWARE)


_ratios(
    "At 1 frame/s latency is longer than at 1,000.",
    ("section 4", "figure 10"),
    {"64 octets, 1 frame/s beside 1,000": (_p50(64, 1), _p50(64, 1_000))},
    *BRIDGES,
    low=1,
)


def _calm(share: float, most: float) -> Check:
    """A check that latency at the highest load of at most this occupancy is that of low loads."""

    def check(found: Found) -> Judged:
        over: dict[str, Summary] = {}
        said = []
        for label in found.labels(*BRIDGES):
            for load in _up_to(found, label, share)[-1:]:
                high, low = (
                    _p50(64, one)._replace(label=label) for one in (load.at["rate"], 1_000)
                )
                over |= found.spans(high, over=low) if load.at["rate"] > 1_000 else {}
                said.append(f"{label} {load.sent:,.0f}")
        text = f"Up to {share * 100:.0f} % there are {'; '.join(said)} frames/s. Latency at them"
        return judge(over, f"{text} beside that at 1,000: {listed(over, '.2f')}.", high=most)

    return check


CLAIMS.add("Up to an occupancy of 56 % latency is satisfactory.", "sections 4, 6", "table 3")(
    _calm(_MARKS[0][0], _STEADY)
)
CLAIMS.add("Up to an occupancy of 85 % latency is acceptable.", "sections 4, 6", "table 3")(
    _calm(_MARKS[1][0], _SOME)
)


@CLAIMS.add(
    "The processor is the limit: performance collapses at an occupancy of 85 % and more.",
    *("sections 4, 6", "table 3"),
)
def _occupied(found: Found) -> Judged:
    known = {label: one for label, one in _knees(found).items() if one[0].occupancy is not None}
    said = "; ".join(f"{label}: {_said(*one)}" for label, one in known.items())
    seen = {label: exact(load.occupancy or 0) for label, (load, jumps) in known.items() if jumps}
    if known and not seen:
        return Verdict.UNSEEN, f"No knee up to the highest load: {said}."
    return judge(seen, f"The knees are at: {said}.", low=_MARKS[1][0])


@CLAIMS.add("Past the collapse throughput falls as the input rate rises.", "section 4", "table 3")
def _collapse(found: Found) -> Judged:
    said, falls = [], {}
    for label, (_, curve) in _congested(found).items():
        most, last = max(one.received for one in curve), curve[-1].received
        falls[label] = exact(last / (most or 1))
        said.append(f"{label} from {most:,.0f} to {last:,.0f} frames/s")
    text = f"From the most received to the highest load: {'; '.join(said)}."
    return _of_congested(found, falls, text, high=0.9)


@CLAIMS.add(
    "A firewall at a WAN link of 10 Mbit/s has no performance issue.", "section 6", "table 3"
)
def _firewall(found: Found) -> Judged:
    each = {
        label: exact(one.occupancy)
        for label in found.labels(*BRIDGES)
        for one in _up_to(found, label, inf)
        if one.at["rate"] == _WAN and one.occupancy is not None
    }
    text = f"Occupancy by {_WAN:,} frames/s of 64 octets, 10.2 Mbit/s: {listed(each, '.0%')}."
    return judge(each, text, high=_MARKS[0][0])


@CLAIMS.add(
    "Frames of 1,500 octets come close to the link's limit.",
    *("sections 3 to 5", "figure 8, figure 11, figure 14"),
)
def _wire_speed(found: Found) -> Judged:
    each = found.spans(Figure(FLAT, "mbps", {"size": 1500}), *BRIDGES, Dut.ROUTER)
    said = f"A veth pair has no line rate. Flat out, in Mbit/s: {listed(each, ',.0f')}."
    return (Verdict.UNSEEN, said) if each else judge(each, "")


def _router(name: str, figure: Figure) -> dict[str, tuple[Figure, Figure]]:
    """The router's figure beside the bridge's."""
    return {f"{name}, router beside bridge": (figure, figure._replace(label=LABELS[Dut.LINUX]))}


_ratios(
    "The router's latency is longer, at any frame size.",
    ("section 5", "figure 13"),
    _router("64 octets", _p50(64, 1_000)) | _router("1,500 octets", _p50(1500, 1_000)),
    Dut.ROUTER,
    low=1,
)
_ratios(
    "With small frames the bridge forwards more than the router.",
    ("section 5", "figure 14"),
    _router("64 octets flat out", Figure(FLAT, "rate", {"size": 64})),
    Dut.ROUTER,
    high=1,
)
_ratios(
    "At 1,000 frames/s router and bridge carry the same.",
    ("section 5", "figure 13"),
    _router("64 octets", _p50(64, 1_000)._replace(key="mbps"))
    | _router("1,500 octets", _p50(1500, 1_000)._replace(key="mbps")),
    Dut.ROUTER,
    low=0.9,
    high=1.1,
)
_ratios(
    "Router and bridge are nearly the same in latency and throughput.",
    ("sections 5, 6", "figure 13, figure 14"),
    _router("latency with 512 octets", _p50(512, 1_000))
    | _router("512 octets flat out", Figure(FLAT, "rate", {"size": 512})),
    Dut.ROUTER,
    low=0.7,
    high=1.4,
)
