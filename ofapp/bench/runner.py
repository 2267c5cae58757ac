"""The order of things: in every repetition every test visits every device, in an order that turns.

So what the machine does otherwise hits all devices alike, and a ratio is between two devices that
were measured within seconds of each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean

from ofapp.bench import BenchError, machine, rfc2544, rfc2889, streams
from ofapp.bench.bed import Bed
from ofapp.bench.devices import Device
from ofapp.bench.frames import ETHERNET, FCS
from ofapp.bench.model import Plan, Results, Sample
from ofapp.bench.names import Measurement
from ofapp.bench.station import Station
from ofapp.bench.task import At, Context, Task

TASKS: dict[Measurement, Task] = {
    task.test: task
    for task in (
        rfc2544.Throughput(),
        rfc2544.Latency(),
        rfc2544.Loss(),
        rfc2544.BackToBack(),
        rfc2889.Flooding(),
        rfc2889.Addresses(),
        rfc2889.Caching(),
        rfc2889.Learning(),
        streams.Tcp(),
        streams.Udp(),
        streams.Transactions(),
    )
}

CPU_FIGURES = ("cpu_us", "cores", "programs_us")


@dataclass(frozen=True, slots=True)
class Turn:
    """One device and one test in one repetition."""

    repetition: int
    task: Task
    device: Device


@dataclass
class Runner:
    """Carries a plan out on a bed; `samples` and `problems` grow meanwhile."""

    plan: Plan
    devices: Sequence[Device]
    bed: Bed
    samples: list[Sample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    processor_time: bool = True
    """Whether figures of processor time mean anything here."""

    def turns(self) -> list[Turn]:
        """All there is to do, in order."""
        return [
            Turn(repetition, TASKS[test], device)
            for repetition in range(self.plan.repetitions)
            for test in self.plan.tests
            for device in rotated(self.devices, repetition)
            if TASKS[test].applies(device, self.bed.monitored)
        ]

    def run(self, announce: Callable[[Turn], None]) -> Iterator[Turn]:
        """Do it, telling each turn before it begins and yielding it when it is done."""
        for turn in self.turns():
            announce(turn)
            try:
                self._turn(turn)
            except BenchError as error:
                self.problems.append(
                    f"{turn.device.label}, {turn.task.test}, repetition {turn.repetition}: {error}"
                )
            yield turn

    def results(self, title: str, begun: float) -> Results:
        """What there is so far; `begun` by time.time()."""
        return Results(
            title=title,
            begun=datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds"),
            seconds=round(time.time() - begun, 1),
            plan=self.plan,
            machine=machine.describe(),
            samples=tuple(self.samples),
            problems=tuple(self.problems),
        )

    def _turn(self, turn: Turn) -> None:
        context = Context(self.plan, turn.repetition)
        points = [at for at in turn.task.points(context) if _fits(turn.device, at)]
        for mtu in sorted({_mtu(at) for at in points}):
            self.bed.mtu = mtu
            with (
                turn.device.up(self.bed, turn.task.hosts(context)) as up,
                Station(self.bed, turn.device, up) as station,
            ):
                station.wait_ready()
                for at in points:
                    if _mtu(at) == mtu:
                        self._point(turn, station, at)

    def _point(self, turn: Turn, station: Station, at: At) -> None:
        context = Context(self.plan, turn.repetition)
        station.others.clear()
        for found, told in turn.task.measure(context, station, at):
            values = told
            if not self.processor_time:
                values = {key: value for key, value in told.items() if key not in CPU_FIGURES}
            self.samples.append(
                Sample(
                    test=turn.task.test,
                    device=turn.device.label,
                    repetition=turn.repetition,
                    at=found,
                    values=values,
                    disturbed=round(fmean(station.others), 3) if station.others else 0.0,
                )
            )


def rotated(devices: Sequence[Device], turn: int) -> list[Device]:
    """The same devices, another one first each time."""
    first = turn % len(devices)
    return [*devices[first:], *devices[:first]]


def _mtu(at: At) -> int:
    """What interfaces are set to: some devices are slower when they allow for large frames."""
    return max(1500, int(at.get("size", 0)) - FCS - ETHERNET)


def _fits(device: Device, at: At) -> bool:
    return at.get("size", 0) - FCS <= device.largest
