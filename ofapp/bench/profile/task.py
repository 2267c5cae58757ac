"""The tests `profile` and `occupancy`: where the time of a frame goes, and what latency costs.

In `profile` half of the hosts are behind each port; each on one side sends to one on the other.
The load is a share of what comes through flat out, so that next to nothing is lost: what is dropped
costs, too, and would be counted as cost of what is not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.frames import MIN_SIZE, Flow, Side, mac
from ofapp.bench.listeners import Prober
from ofapp.bench.names import Duplex, Measurement
from ofapp.bench.profile.parts import DEVICE, Owners, Part, Sampled
from ofapp.bench.profile.perf import CLOCK, UNITS, counters, recording
from ofapp.bench.rfc2544 import LOWEST_RATE, Latency, probed
from ofapp.bench.rfc2889 import TEACHING_RATE, teach
from ofapp.bench.search import Bounds, highest
from ofapp.bench.sender import FASTEST
from ofapp.bench.station import Station, Trial
from ofapp.bench.task import At, Context, Outcome, Task

SHARE_OF_HIGHEST, RUNS = 0.8, 5
DETAILED, COARSE = 9_973, 1_723
"""Samples a second and processor: for parts, and beside latency, where they must not disturb.

Their periods walk through those of all loads: otherwise each sample would meet the same moment
between two frames.
"""
SUBSYSTEMS = {
    Part.DRIVER: "interface",
    Part.STACK: "interface",
    Part.BRIDGE: "bridge",
    Part.MEMORY: "memory",
    Part.LOCKS: "locks",
}
"""The four of Varis' table 1."""
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


def shares(samples: Sequence[Sampled], owners: Owners) -> dict[str, float]:
    """Varis' shares, by event: of the four subsystems, and of functions within the bridge.

    `<name>:<event>`; the event `time` is cycles, or the clock where
    cycles are not counted.  Netfilter's functions count as the bridge's, as they do in the paper.
    """
    made: dict[str, float] = {}
    events = {sample.event for sample in samples}
    for event in events:
        names = ["time"] * (event == ("cycles" if "cycles" in events else CLOCK))
        names += [UNITS[event]] * (event != CLOCK)
        subsystems: Counter[str] = Counter()
        functions: Counter[str] = Counter()
        for sample in samples:
            netfilter = sample.in_kernel and sample.name.startswith(("nf_", "br_nf_", "nft_"))
            part = owners.part(sample) if sample.event == event else None
            subsystem = "bridge" if part and netfilter else SUBSYSTEMS.get(part or Part.REST)
            if subsystem:
                subsystems[subsystem] += sample.period
            if subsystem == "bridge":
                function = sample.name if sample.in_kernel else Path(sample.binary).name
                functions[function] += sample.period
        for name in names:
            whole, bridge = subsystems.total() or 1, subsystems["bridge"] or 1
            made |= {f"{one}:{name}": subsystems[one] / whole for one in SUBSYSTEMS.values()}
            made |= {f"{one}:{name}": period / bridge for one, period in functions.items()}
    return made


class Profile(Task):
    """Cost of a frame by parts, for each number of hosts."""

    test = Measurement.PROFILE
    fills = True

    def hosts(self, context: Context) -> int:
        return max(context.plan.addresses)

    def points(self, context: Context) -> list[At]:
        return [{"addresses": count} for count in context.plan.addresses]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        """Sample one load; with `duplex`, as Varis did: at the rate found by a search, both ways
        unless the plan has half duplex.

        Five trials are then sampled; the figures include the shares of subsystems and functions.
        """
        pairs = range(max(1, int(at["addresses"]) // 2))
        unknown = _introduce(station, pairs) if station.device.learns else 0
        flows = [
            Flow(station.up.gateway or mac(Side.RX, pair), mac(Side.TX, pair)) for pair in pairs
        ]
        frames = station.frames(MIN_SIZE, flows)
        station.paced(frames, TEACHING_RATE, max(len(pairs) / TEACHING_RATE, 0.05))
        flat_out = station.flat_out(frames, min(context.plan.seconds, 0.3))
        before = station.device.cycles()
        rate, send, runs = SHARE_OF_HIGHEST * flat_out.delivered, partial(station.paced, frames), 1
        if full := "duplex" in at:
            back = [Flow(mac(Side.TX, pair), mac(Side.RX, pair), Side.RX) for pair in pairs]
            both = {Side.TX: frames, Side.RX: station.frames(MIN_SIZE, back)}
            if context.plan.duplex is Duplex.FULL:
                send = partial(station.duplex, both)
            rate, runs = _highest(context, send) or rate, RUNS
        with recording((CLOCK, *counters().events), DETAILED) as made:
            trials = [send(rate, context.plan.seconds, during=made.running()) for _ in range(runs)]
            samples = made.samples()
        trial = min(trials, key=lambda one: one.loss)
        owners = _owners(station)
        values = costs(samples, owners, sum(one.received for one in trials))
        if full:
            values |= shares(samples, owners)
        if before and (after := station.device.cycles()) and after.frames > before.frames:
            values["switch_cycles"] = (after.spent - before.spent) / (after.frames - before.frames)
        yield at, values | {"rate": trial.delivered, "loss": trial.loss, "unknown": float(unknown)}


class Occupancy(Latency):
    """Latency at rising loads beside the cores that the device's part of the way takes."""

    test = Measurement.OCCUPANCY

    def _load(
        self, context: Context, station: Station, prober: Prober, load: tuple[int, float]
    ) -> tuple[Trial, dict[str, float]]:
        with recording((CLOCK,), COARSE) as made:
            trial, values = probed(context, station, prober, load, made.running())
            samples = made.samples()
        owners = _owners(station)
        spent = sum(one.period for one in samples if owners.part(one) in DEVICE)
        return trial, values | {"cores": spent / 1e9 / trial.sent.seconds}


def _highest(context: Context, send: Callable[[float, float], Trial]) -> float:
    """RFC 2889 clause 5.1: the highest rate that is forwarded, to 1 %; 0: none is."""
    seconds, loss = context.plan.seconds, context.plan.loss
    first = send(FASTEST, seconds)

    def passes(rate: float) -> bool:
        return send(rate, seconds).loss <= loss or send(rate, seconds).loss <= loss

    ceiling = max(first.sent.rate, 2 * LOWEST_RATE)
    return highest(passes, first.delivered, Bounds(LOWEST_RATE, ceiling, 0.01)).value


def _owners(station: Station) -> Owners:
    return Owners(os.getpid(), station.up.programs)


def _introduce(station: Station, pairs: range) -> int:
    """Let the device learn the hosts of both sides; how many of the far side it does not know."""
    station.announce(pairs, TEACHING_RATE, Side.TX)
    return teach(station, pairs)
