"""The chapter on latency against CPU occupancy, and advice that follows from it by stated rules.

A device's occupancy is the cores in use at a load, less those in use over a wire at the same load,
where that was measured: those are the generator's and the counters'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ofapp.bench.figures import summary
from ofapp.bench.model import Results
from ofapp.bench.names import Measurement
from ofapp.bench.report.metrics import Chapter, Metric
from ofapp.bench.report.tables import Filled, Table, by_point, devices, number

WORSE = 2.0
"""Advice names the load from which the 99th percentile is so many times its least."""
POLLS = 0.5
"""A device that uses as many cores or more at the lowest load polls: a part of a core is what a
busy machine leaves it."""
WIRE = "wire"
CORES = Metric(Measurement.OCCUPANCY, "cores", "CPU occupancy", "cores", "rate", less=True)
P50 = Metric(Measurement.OCCUPANCY, "p50_us", "Latency, median", "µs", "rate", less=True)
P99 = Metric(Measurement.OCCUPANCY, "p99_us", "Latency, 99th percentile", "µs", "rate", less=True)
_CHAPTER = Chapter(
    "Latency against CPU occupancy",
    (),
    "Median and 99th percentile beside the cores that the device used for it, by samples as in the"
    " profile, those of a wire at the same load subtracted. The advice follows from two rules. A"
    f" device that keeps {POLLS:g} cores or more at the lowest load polls. The limit is the highest"
    f" load at which the 99th percentile is at most {WORSE:g} times its least: past it queues"
    " build up.",
    ("occupancy",),
)


@dataclass(frozen=True, slots=True)
class Load:
    """What a device did at one load: frames a second; microseconds; cores."""

    rate: float
    cores: float
    p50: float
    p99: float


def loads(results: Results) -> dict[str, list[Load]]:
    """All loads of each device at which latency was measured, ascending; medians."""
    wire = _medians(results, CORES, WIRE)
    made = {}
    for device in devices(results):
        cores, p50, p99 = (_medians(results, metric, device) for metric in (CORES, P50, P99))
        made[device] = [
            Load(rate, max(0.0, cores[rate] - wire.get(rate, 0.0)), p50[rate], p99[rate])
            for rate in sorted(cores.keys() & p50.keys() & p99.keys())
        ]
    return {device: found for device, found in made.items() if found and device != WIRE}


def _medians(results: Results, metric: Metric, device: str) -> dict[float, float]:
    """Return medians by load; of several sizes the first."""
    values: dict[float, float] = {}
    for at, runs in sorted(by_point(results, metric, device).items()):
        values.setdefault(dict(at)["rate"], summary(list(runs.values())).middle)
    return values


def polls(found: Sequence[Load]) -> bool:
    """Whether it keeps a core busy that has next to nothing to do."""
    return found[0].cores >= POLLS


def limit(found: Sequence[Load]) -> tuple[Load, Load | None]:
    """The highest load at which the 99th percentile is within its bound, and the next if any."""
    bound = WORSE * min(one.p99 for one in found)
    last = max(number for number, one in enumerate(found) if one.p99 <= bound)
    return found[last], found[last + 1] if last + 1 < len(found) else None


def advice(measured: dict[str, list[Load]]) -> list[str]:
    """One sentence or two for each device, and what it takes for polling to pay."""
    said = [_of_one(device, found) for device, found in measured.items() if len(found) > 1]
    polling = {device: found for device, found in measured.items() if polls(found)}
    others = {device: found for device, found in measured.items() if not polls(found)}
    for device, found in polling.items():
        said += [_beside(device, found, other, others[other]) for other in others]
    return [sentence for sentence in said if sentence]


def _of_one(device: str, found: Sequence[Load]) -> str:
    last, past = limit(found)
    if past is None:
        said = (
            f"the 99th percentile is at most {WORSE:g} times its least at {_rate(last)}, the"
            f" highest load that was measured ({last.cores:.2f} cores)."
        )
    else:
        best = min(one.p99 for one in found)
        said = (
            f"plan for at most {_rate(last)} ({last.cores:.2f} cores): at {_rate(past)}"
            f" ({past.cores:.2f} cores) the 99th percentile is {number(past.p99)} µs, at best"
            f" {number(best)} µs."
        )
    if polls(found):
        polling = f"polls: {found[0].cores:.1f} cores at {_rate(found[0])} already. "
        said = polling + said[0].upper() + said[1:]
    return f"{device}: {said}"


def _beside(device: str, mine: Sequence[Load], other: str, theirs: Sequence[Load]) -> str:
    """From which load on polling is the cheaper one, if any; empty without a common load."""
    by_rate = {one.rate: one for one in theirs}
    shared = [(one, by_rate[one.rate]) for one in mine if one.rate in by_rate]
    if not shared:
        return ""
    cheaper = [one for one, peer in shared if one.cores <= peer.cores]
    quicker = [one for one, peer in shared if one.p99 < peer.p99]
    if cheaper:
        cost = f"takes no more cores than {other} from {_rate(cheaper[0])}"
    else:
        cost = f"takes more cores than {other} at every load that both carried"
    if quicker:
        gain = f"its 99th percentile is lower at {len(quicker)} of {len(shared)} loads"
    else:
        gain = "its 99th percentile is lower at none of them"
    return f"{device} {cost}; {gain}."


def _rate(one: Load) -> str:
    return f"{one.rate:,.0f} frames/s"


def chapter(results: Results) -> list[Filled]:
    """The chapter, if latency was measured."""
    measured = loads(results)
    rows = [
        [
            device if number_ == 0 else "",
            f"{one.rate:,.0f}",
            f"{one.cores:.2f}",
            number(one.p50),
            number(one.p99),
        ]
        for device, found in measured.items()
        for number_, one in enumerate(found)
    ]
    if not rows:
        return []
    header = ["", "Frames a second", "Cores", "Median, µs", "99th percentile, µs"]
    return [
        Filled(_CHAPTER, [Table("Latency against CPU occupancy", header, rows)], advice(measured))
    ]
