"""RFC 2544: throughput, latency, frame loss rate, back-to-back frames.

What is not as in the RFC, and why: up to 0.1 % of the frames may be lost (a plan's `loss`), as on a
machine with other things to do no software forwards for long without losing a single one; a load
that fails is tried a second time for the same reason; trials are of seconds and not of a minute;
latency is given at several loads and not at the highest only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from ofapp.bench.figures import percentile
from ofapp.bench.frames import PROBE_PORT, frame
from ofapp.bench.listeners import Prober, probe
from ofapp.bench.names import Measurement
from ofapp.bench.search import Bounds, highest
from ofapp.bench.sender import FASTEST, Among
from ofapp.bench.station import Station, Trial
from ofapp.bench.task import At, Context, Outcome, Task

RATES = (5_000, 10_000, 25_000, 50_000, 100_000, 200_000, 400_000)
"""Loads of the latency test, frames a second: up to the first that the generator does not
reach, or that the device does not carry.  The first is reported in any case."""
PROBE_EVERY = 0.002
"""Seconds."""
SPARSE = 2_000
LOWEST_RATE = 500


def find_rate(context: Context, station: Station, frames: Sequence[bytes], first: Trial) -> At:
    """The highest rate at which enough of the frames arrive; `first` was a trial flat out.

    limited: 1 when all that the generator could send arrived, so that the device may do more.
    """
    plan = context.plan
    ceiling = max(first.sent.rate, LOWEST_RATE * 2)
    best: dict[float, Trial] = {}

    def passes(rate: float) -> bool:
        trial = first
        if rate < ceiling:
            trial = station.paced(frames, rate, plan.seconds)
            if trial.loss > plan.loss:
                again = station.paced(frames, rate, plan.seconds)
                trial = min(trial, again, key=lambda one: one.loss)
        if trial.loss <= plan.loss:
            best[rate] = trial
        return trial.loss <= plan.loss

    guess = ceiling if first.loss <= plan.loss else first.delivered
    result = highest(passes, guess, Bounds(LOWEST_RATE, ceiling, plan.resolution))
    values = {"limited": float(result.capped), "trials": result.trials}
    if not result.value:
        return {"rate": 0.0, **values}
    trial = best[result.value]
    return {"rate": trial.delivered, "loss": trial.loss, "cpu_us": trial.cpu_us, **values}


class _BySize(Task):
    def points(self, context: Context) -> list[At]:
        return [{"size": size} for size in context.plan.sizes]


class Throughput(_BySize):
    """Clause 26.1: the highest rate at which (nearly) every frame arrives."""

    test = Measurement.THROUGHPUT

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        size = int(at["size"])
        frames = station.frames(size)
        values = find_rate(context, station, frames, station.flat_out(frames, context.plan.seconds))
        bits = size * 8 / 1e6
        yield at, values | {"mbps": values["rate"] * bits}


class Overload(_BySize):
    """What comes through when frames are sent flat out: RFC 2285, 3.6.2, the forwarding rate at
    maximum offered load.  One trial, so that it can be repeated often: the surest comparison.
    """

    test = Measurement.OVERLOAD

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        trial = station.flat_out(station.frames(int(at["size"])), context.plan.seconds)
        values = {"rate": trial.delivered, "offered": trial.sent.rate, "cpu_us": trial.cpu_us}
        values["mbps"] = trial.delivered * at["size"] * 8 / 1e6
        if station.up.programs:
            values["programs_us"] = trial.programs_us
        yield at, values


class Latency(Task):
    """Clause 26.2, at a row of loads: the delay of probes among frames at an even pace."""

    test = Measurement.LATENCY

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        size = int(at["size"])
        ends = station.bed.ends
        with contextlib.closing(Prober(ends["tx"].place, ends["rx"].place)) as prober:
            if "rate" in at:
                yield at, self._load(context, station, prober, (size, at["rate"]))[1]
                return
            for rate in RATES:
                trial, values = self._load(context, station, prober, (size, rate))
                if trial.sent.rate < 0.97 * rate and rate > RATES[0]:
                    return
                yield at | {"rate": rate}, values
                if trial.loss > 10 * context.plan.loss:
                    return

    def _load(
        self, context: Context, station: Station, prober: Prober, load: tuple[int, float]
    ) -> tuple[Trial, dict[str, float]]:
        trial, delays = probed(context, station, prober, load)
        values = {"offered": trial.sent.rate, "cores": trial.usage.device, "cpu_us": trial.cpu_us}
        received = {"received": trial.delivered, "mbps": trial.delivered * load[0] * 8 / 1e6}
        return trial, values | received | delays


def probed(
    context: Context,
    station: Station,
    prober: Prober,
    load: tuple[int, float],
    during: AbstractContextManager[object] | None = None,
) -> tuple[Trial, dict[str, float]]:
    """A trial with probes among frames of this size at this rate; loss, and the probes' delays.

    Up to SPARSE frames a second each frame is a probe, and there are two at least.
    """
    size, rate = load
    seconds = context.plan.seconds * min(1.0, FASTEST / rate)
    count = max(1, int(seconds / PROBE_EVERY))
    if rate <= SPARSE:
        count = max(2, int(seconds * rate))
    probes = [frame(station.forth, size, PROBE_PORT, probe(n)) for n in range(count)]
    among = Among(prober.send, probes)
    if rate <= SPARSE:
        trial = station.probes(among, rate, during)
    else:
        others = rate - count / seconds
        trial = station.paced(station.frames(size), others, seconds, among, during)
    delays = prober.delays()
    microseconds = delays.microseconds
    values = {
        "loss": trial.loss,
        "probes": float(delays.sent),
        "probes_lost": float(delays.sent - len(microseconds)),
    }
    if microseconds:
        values |= {
            f"{name}_us": percentile(microseconds, share)
            for name, share in (("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0))
        }
    return trial, values


class Loss(Task):
    """Clause 26.3: what is lost from the highest rate downwards, in steps of a tenth of it, until
    two trials in a row lose nothing that counts.
    """

    test = Measurement.LOSS

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        frames = station.frames(int(at["size"]))
        trial = station.flat_out(frames, context.plan.seconds)
        highest_rate, clean = trial.sent.rate, 0
        for tenth in range(10, 0, -1):
            if tenth < 10:
                trial = station.paced(frames, highest_rate * tenth / 10, context.plan.seconds)
            values = {"offered": trial.sent.rate, "rate": trial.delivered, "loss": trial.loss}
            yield at | {"share": tenth / 10}, values
            clean = clean + 1 if trial.loss <= context.plan.loss else 0
            if clean == 2:
                return


class BackToBack(Task):
    """Clause 26.4: the longest burst flat out of which (nearly) every frame arrives.

    The RFC's longest trial is of two seconds; a device that carries that has no longest burst.
    """

    test = Measurement.BACK_TO_BACK
    seconds = 2.0

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        frames = station.frames(int(at["size"]))
        rate = station.burst(frames, 20_000).sent.rate

        def passes(count: float) -> bool:
            trials = (station.burst(frames, int(count)) for _ in range(2))
            return any(trial.loss <= context.plan.loss for trial in trials)

        bounds = Bounds(16, max(32.0, rate * self.seconds), max(0.05, context.plan.resolution))
        result = highest(passes, 1000, bounds)
        yield at, {"frames": float(int(result.value)), "offered": rate, "limited": result.capped}
