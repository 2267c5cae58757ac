"""The tests `profile` and `occupancy`: where the time of a frame goes, and what latency costs.

In `profile` half of the hosts are behind each port; each on one side sends to one on the other.
The load is a share of what comes through flat out, so that next to nothing is lost: what is dropped
costs, too, and would be counted as cost of what is not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator

from ofapp.bench import BenchError
from ofapp.bench.frames import MIN_SIZE, Flow, Side, mac
from ofapp.bench.listeners import Prober
from ofapp.bench.names import Measurement
from ofapp.bench.profile.parts import DEVICE, Owners, Part, Sampled
from ofapp.bench.profile.perf import CLOCK, UNITS, counters, recording
from ofapp.bench.rfc2544 import Latency, probed
from ofapp.bench.rfc2889 import TEACHING_RATE, teach
from ofapp.bench.station import Station, Trial
from ofapp.bench.task import At, Context, Outcome, Task

SHARE_OF_HIGHEST = 0.8
DETAILED, COARSE = 9_973, 1_723
"""Samples a second and processor: for parts, and beside latency, where they must not disturb.

Their periods walk through those of all loads: otherwise each sample would meet the same moment
between two frames.
"""
ENOUGH = 100
"""Samples of the clock, below which shares of parts say nothing."""


def costs(samples: Iterable[Sampled], owners: Owners, frames: int) -> dict[str, float]:
    """Cost of a frame by part, `<part>_<unit>`, and how many samples of the clock it is made of.

    BenchError when there are too few.
    """
    totals: Counter[tuple[Part, str]] = Counter()
    units, taken = set(), 0
    for sample in samples:
        unit = UNITS[sample.event]
        units.add(unit)
        if (part := owners.part(sample)) is not None:
            totals[part, unit] += sample.period
            taken += unit == "ns"
    if taken < ENOUGH or not frames:
        raise BenchError(
            f"{taken} samples of {frames} frames: too few to tell parts by; give more --seconds"
        )
    return {"samples": float(taken)} | {
        f"{part}_{unit}": totals[part, unit] / frames for part in Part for unit in sorted(units)
    }


class Profile(Task):
    """Cost of a frame by parts, for each number of hosts."""

    test = Measurement.PROFILE
    fills = True

    def hosts(self, context: Context) -> int:
        return max(context.plan.addresses)

    def points(self, context: Context) -> list[At]:
        return [{"addresses": count} for count in context.plan.addresses]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        pairs = range(max(1, int(at["addresses"]) // 2))
        unknown = _introduce(station, pairs) if station.device.learns else 0
        flows = [
            Flow(station.up.gateway or mac(Side.RX, pair), mac(Side.TX, pair)) for pair in pairs
        ]
        frames = station.frames(MIN_SIZE, flows)
        station.paced(frames, TEACHING_RATE, max(len(pairs) / TEACHING_RATE, 0.05))
        highest = station.flat_out(frames, min(context.plan.seconds, 0.3))
        before = station.device.cycles()
        with recording((CLOCK, *counters().events), DETAILED) as made:
            rate = SHARE_OF_HIGHEST * highest.delivered
            trial = station.paced(frames, rate, context.plan.seconds, during=made.running())
            samples = made.samples()
        values = costs(samples, _owners(station), trial.received)
        if before and (after := station.device.cycles()) and after.frames > before.frames:
            values["switch_cycles"] = (after.spent - before.spent) / (after.frames - before.frames)
        yield at, values | {"rate": trial.delivered, "loss": trial.loss, "unknown": float(unknown)}


class Occupancy(Latency):
    """Latency at rising loads beside the cores that the device's part of the way takes."""

    test = Measurement.OCCUPANCY

    def _load(
        self, context: Context, station: Station, prober: Prober, load: tuple[int, int]
    ) -> tuple[Trial, dict[str, float]]:
        with recording((CLOCK,), COARSE) as made:
            trial, values = probed(context, station, prober, load, made.running())
            samples = made.samples()
        owners = _owners(station)
        spent = sum(one.period for one in samples if owners.part(one) in DEVICE)
        return trial, values | {"cores": spent / 1e9 / trial.sent.seconds}


def _owners(station: Station) -> Owners:
    return Owners(os.getpid(), station.up.programs)


def _introduce(station: Station, pairs: range) -> int:
    """Let the device learn the hosts of both sides; how many of the far side it does not know."""
    station.announce(pairs, TEACHING_RATE, Side.TX)
    return teach(station, pairs)
