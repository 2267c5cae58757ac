"""What Yu's paper claims, and how each claim is judged: by the knee of each device's curve."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from ofapp.bench.figures import Summary
from ofapp.bench.names import Dut, Measurement
from ofapp.bench.papers.found import (
    BRIDGES,
    NO_HARDWARE,
    At,
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
)

CLAIMS = Claims()
LOAD, FLAT = Measurement.LATENCY, Measurement.OVERLOAD
GAP, PREAMBLE = 12, 8
"""Octets between two frames: table 1's inter-frame gap and preamble."""
_MARKS = ((0.56, "40,000"), (0.85, "62,500"))
"""Occupancies up to which the paper calls performance satisfactory and acceptable."""
_STEADY = 1.5
"""Latency does not depend on the rate if it is at most so many times that at 1,000 frames/s.

Less is no contradiction: at 1,000 frames/s the processor sleeps between frames.
"""
_LATE, _CARRIED = 10, 0.9
"""The knee: beyond it the median latency is so many times its least, or less is received."""


def line_rate(size: int, bits_per_second: float = 1e9) -> int:
    """Frames a second of a size that a link carries, with gap and preamble."""
    return int(bits_per_second / ((size + GAP + PREAMBLE) * 8))


@dataclass(frozen=True, slots=True)
class Knee:
    """The highest load before latency or loss jumps; `seen`: whether it jumps at all."""

    rate: float
    latency: float
    occupancy: float | None
    seen: bool


def knee(found: Found, label: str) -> Knee | None:
    """The knee of a device for frames of 64 octets; None without two loads.

    A load that fails alone, before one that passes, is a disturbance and no knee.
    """
    passed: list[tuple[float, float, At]] = []
    seen = False
    loads = found.loads(LOAD, label, "rate", size=64)
    least = min((found.value(LOAD, label, "p50_us", at) or 1e9 for at in loads), default=0)
    for at in loads:
        latency = found.value(LOAD, label, "p50_us", at)
        offered, received = (
            found.value(LOAD, label, key, at) or 0 for key in ("offered", "received")
        )
        if latency is None or latency > _LATE * least or received < _CARRIED * offered:
            seen = True
            continue
        seen = False
        passed.append((offered, latency, at))
    if len(loads) < 2 or not passed:
        return None
    rate, latency, at = max(passed, key=lambda one: one[0])
    return Knee(rate, latency, found.net(LOAD, label, "cores", at), seen)


def marks(found: Found) -> list[list[str]]:
    """The loads at 56 % and 85 % occupancy, and the knee, of each device."""
    labels = found.labels(*BRIDGES)
    rows = [["Marks", "Paper: FPS", *(f"{label}: FPS" for label in labels)]]
    for share, said in _MARKS:
        rows.append([f"{share:.0%} occupancy", said])
        rows[-1] += [_up_to(found, label, share) for label in labels]
    knees = [knee(found, label) for label in labels]
    rows.append(["Knee", "66,225 (87 µs; then 22,987 µs)", *(_said(one) for one in knees)])
    return rows


def _up_to(found: Found, label: str, share: float) -> str:
    """The highest load, as sent, at which a device takes at most this share of a processor."""
    loads = found.loads(LOAD, label, "rate", size=64)
    sent = {
        found.value(LOAD, label, "offered", at) or 0: found.net(LOAD, label, "cores", at)
        for at in loads
    }
    known = {rate: cores for rate, cores in sent.items() if cores is not None}
    if not known:
        return "not measured"
    below = [rate for rate, cores in known.items() if cores <= share]
    if len(below) == len(known):
        return f"not reached up to {max(known):,.0f}"
    return f"{max(below):,.0f}" if below else "exceeded at all loads"


def _said(one: Knee | None) -> str:
    if one is None:
        return "not measured"
    cpu = "" if one.occupancy is None else f", {one.occupancy:.0%} occupancy"
    least = "" if one.seen else "none up to "
    return f"{least}{one.rate:,.0f} ({one.latency:,.1f} µs{cpu})"


def _p50(size: int, rate: float) -> Figure:
    return Figure(LOAD, "p50_us", {"size": size, "rate": rate})


@CLAIMS.add("The generator's latency is constant, at any frame size and rate.", "3", "table 1")
def _generator(found: Found) -> Judged:
    small, large, loaded = _p50(64, 1), _p50(1500, 1), _p50(1500, line_rate(1500))
    said = [listed(found.spans(one, Dut.WIRE), ".1f") for one in (large, loaded, small)]
    over = [found.spans(one, Dut.WIRE, over=large) for one in (loaded, small)]
    text = f"{said[0]} µs at 1 frame/s, and {said[1]} µs at the highest rate; with 64 octets"
    text += f" {said[2]} µs. The line rate itself cannot be seen: a veth pair has none."
    return judge(together(*over), text, high=2)


@CLAIMS.add("Latency does not depend on the input rate below congestion.", "3, 4", "table 3")
def _steady(found: Found) -> Judged:
    """Latency does not depend on the rate up to 20,000 frames/s, as in table 3."""
    rates = (10_000, 20_000)
    over = [found.spans(_p50(64, rate), *BRIDGES, over=_p50(64, 1_000)) for rate in rates]
    text = "Beside the latency at 1,000 frames/s, at 10,000 and 20,000: "
    text += " and ".join(listed(one, ".2f") for one in over)
    return judge(together(*over), f"{text}.", high=_STEADY)


def _knees(found: Found) -> dict[str, Knee]:
    each = {label: knee(found, label) for label in found.labels(*BRIDGES)}
    return {label: one for label, one in each.items() if one is not None}


def _of_knees(found: Found, figures: Spans, text: str, **bounds: float) -> Judged:
    """The verdict on figures of those devices that have a knee."""
    knees = _knees(found)
    if figures or not knees:
        return judge(figures, text, one=True, **bounds)
    most = max(one.rate for one in knees.values())
    return Verdict.UNSEEN, (
        f"No device was congested up to {most:,.0f} frames/s, the highest load of this run. Over"
        " veth a bridge of the kernel slows the sender down, and there is no queue."
    )


@CLAIMS.add(
    "A congested link adds two to three orders of magnitude of latency.", "3", "table 2, table 3"
)
def _orders(found: Found) -> Judged:
    said, orders = [], {}
    for label, one in _knees(found).items():
        loads = found.loads(LOAD, label, "rate", size=64)
        most = max((found.value(LOAD, label, "p50_us", at) or 0 for at in loads), default=0.0)
        if one.seen:
            orders[label] = exact(most / one.latency)
            said.append(f"{label} {one.latency:,.1f} to {most:,.0f} µs")
    return _of_knees(found, orders, f"From the knee to the worst load: {'; '.join(said)}.", low=100)


CLAIMS.add(
    "Software is comparable to a hardware switch at nominal rates.",
    *("4", "figure 7, figure 8, figure 10"),
)(NO_HARDWARE)


@CLAIMS.add("At 1 frame/s latency is longer than at 1,000.", "4", "figure 10")
def _rare(found: Found) -> Judged:
    rare, usual = (listed(found.spans(_p50(64, rate), *BRIDGES), ".1f") for rate in (1, 1_000))
    text = f"64 octets, at 1 frame/s: {rare} µs; at 1,000: {usual} µs."
    return judge(found.spans(_p50(64, 1), *BRIDGES, over=_p50(64, 1_000)), text, low=1)


@CLAIMS.add("Up to an occupancy of 56 % latency is satisfactory.", "4, 6", "table 3")
def _satisfactory(found: Found) -> Judged:
    """Latency at the highest load of at most 56 % occupancy is that of low loads."""
    said: list[str] = []
    over: dict[str, Summary] = {}
    for label in found.labels(*BRIDGES):
        loads = found.loads(LOAD, label, "rate", size=64)
        each = {at["rate"]: found.net(LOAD, label, "cores", at) for at in loads}
        known = [(rate, cores) for rate, cores in each.items() if cores is not None]
        calm = [*takewhile(lambda one: one[1] <= _MARKS[0][0], known)]
        for rate in [rate for rate, _ in calm[-1:] if rate > 1_000]:
            most, least = (_p50(64, one)._replace(label=label) for one in (rate, 1_000))
            over |= found.spans(most, over=least)
            sent = found.value(LOAD, label, "offered", most.at) or 0
            said.append(f"{label} {sent:,.0f}")
    text = f"Up to 56 % there are {'; '.join(said)} frames/s. Latency at them beside that at"
    return judge(over, f"{text} 1,000: {listed(over, '.2f')}.", high=_STEADY)


@CLAIMS.add("Performance collapses only at an occupancy of 85 % and more.", "4, 6", "table 3")
def _occupied(found: Found) -> Judged:
    known = {label: one for label, one in _knees(found).items() if one.occupancy is not None}
    said = "; ".join(f"{label}: {_said(one)}" for label, one in known.items())
    seen = {label: exact(one.occupancy or 0) for label, one in known.items() if one.seen}
    if known and not seen:
        return Verdict.UNSEEN, f"No knee up to the highest load: {said}."
    return judge(seen, f"The knees are at: {said}.", low=_MARKS[1][0])


@CLAIMS.add("Past the collapse throughput falls as the input rate rises.", "4", "table 2, table 3")
def _collapse(found: Found) -> Judged:
    said, falls = [], {}
    for label, one in _knees(found).items():
        loads = found.loads(LOAD, label, "rate", size=64)
        rates = [found.value(LOAD, label, "received", at) or 0 for at in loads]
        if one.seen and max(rates):
            falls[label] = exact(rates[-1] / max(rates))
            said.append(f"{label} from {max(rates):,.0f} to {rates[-1]:,.0f} frames/s")
    text = f"From the most received to the highest load: {'; '.join(said)}."
    return _of_knees(found, falls, text, high=0.9)


@CLAIMS.add("Frames of 1,500 octets come close to the link's limit.", "4", "figure 8, figure 11")
def _wire_speed(found: Found) -> Judged:
    each = found.spans(Figure(FLAT, "mbps", {"size": 1500}), *BRIDGES)
    if not each:
        return judge(each, "")
    said = listed(each, ",.0f")
    return Verdict.UNSEEN, f"A veth pair has no line rate. Flat out, in Mbit/s: {said}."


def _of_bridge(found: Found, *figures: Figure) -> list[Spans]:
    """The router's figures, each beside the bridge's."""
    bridge = "Linux bridge"
    return [found.spans(one, Dut.ROUTER, over=one._replace(label=bridge)) for one in figures]


@CLAIMS.add(
    "Router and bridge are nearly the same in latency and throughput.",
    "5, 6",
    "figure 13, figure 14",
)
def _router(found: Found) -> Judged:
    late, most = _of_bridge(found, _p50(512, 1_000), Figure(FLAT, "rate", {"size": 512}))
    said = [f"latency of the {listed(late, '.2f')}"] * bool(late)
    said += [f"frames flat out, {listed(most, '.2f')}"] * bool(most)
    text = f"Beside the bridge's, with 512 octets: {'; '.join(said)}."
    return judge(together(late, most), text, low=0.7, high=1.4)


@CLAIMS.add("The router's latency is longer, at any frame size.", "5", "figure 13")
def _later(found: Found) -> Judged:
    small, large = _of_bridge(found, _p50(64, 1_000), _p50(1500, 1_000))
    text = f"Beside the bridge's, with 64 octets: {listed(small, '.2f')}; with 1,500:"
    return judge(together(small, large), f"{text} {listed(large, '.2f')}.", low=1)


@CLAIMS.add("At 1,000 frames/s router and bridge carry the same.", "5", "figure 13")
def _same(found: Found) -> Judged:
    loads = ({"size": size, "rate": 1_000} for size in (64, 1500))
    small, large = _of_bridge(found, *(Figure(LOAD, "mbps", at) for at in loads))
    text = f"Beside the bridge's Mbit/s, with 64 octets: {listed(small, '.2f')}; with 1,500:"
    return judge(together(small, large), f"{text} {listed(large, '.2f')}.", low=0.9, high=1.1)


@CLAIMS.add("With small frames the bridge forwards more than the router.", "5", "figure 14")
def _small(found: Found) -> Judged:
    rate = Figure(FLAT, "rate", {"size": 64})
    over = found.spans(rate, Dut.LINUX, over=rate._replace(label="Linux router"))
    said = listed(found.spans(rate, Dut.LINUX, Dut.ROUTER), ",.0f")
    return judge(over, f"Flat out with 64 octets, frames/s: {said}.", low=1)
