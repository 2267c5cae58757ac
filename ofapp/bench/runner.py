"""The order of things: in every repetition every test visits every device, in changing order.

So what the machine does otherwise hits all devices alike, and a ratio is between two devices that
were measured within seconds of each other.  By default each is set up for its turn and alone then.
Side by side all are up for the whole run, each on its own bed: turns follow each other within
half a second, so there may be dozens of them, and only so many tell a difference of two per cent on
a machine whose speed changes by more from second to second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import fmean

from ofapp.bench import BenchError, machine, rfc2544, rfc2889, streams
from ofapp.bench.bed import Bed
from ofapp.bench.devices import Device
from ofapp.bench.frames import ETHERNET, FCS
from ofapp.bench.model import Plan, Results, Sample, described
from ofapp.bench.names import Measurement, device_of
from ofapp.bench.profile.task import Occupancy, Profile
from ofapp.bench.remote import RemoteStation
from ofapp.bench.station import Station
from ofapp.bench.task import At, Context, Task

TASKS: dict[Measurement, Task] = {
    task.test: task
    for task in (
        rfc2544.Throughput(),
        rfc2544.Overload(),
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
        streams.Pairs(),
        streams.Ping(),
        Profile(),
        Occupancy(),
    )
}

REMADE_AFTER = 10
"""Repetitions side by side, after which all devices are replaced, in another order: which of two
equal bridges was made first makes up to 5 % of difference (where in memory things come to lie)."""
CPU_FIGURES = ("cpu_us", "cores", "programs_us")


@dataclass(frozen=True, slots=True)
class Turn:
    """One device and one test in one repetition."""

    repetition: int
    task: Task
    device: Device


@dataclass
class Runner:
    """Carries a plan out; `samples` and `problems` grow meanwhile.

    beds: each device's; the same for all unless they are up side by side.
    """

    plan: Plan
    devices: Sequence[Device]
    beds: Sequence[Bed]
    samples: list[Sample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()
    """What a reader of the results must know of the machine."""
    processor_time: bool = True
    """Whether figures of processor time mean anything here."""

    def turns(self) -> list[Turn]:
        """All there is to do, in order."""
        return [
            Turn(repetition, TASKS[test], device)
            for repetition in range(self.plan.repetitions)
            for test in self.plan.tests
            for device in in_turn(self.devices, repetition)
            if TASKS[test].applies(device, self._bed(device).monitored)
            and self._points(TASKS[test], device, repetition)
        ]

    def run(self, announce: Callable[[Turn], None]) -> Iterator[Turn]:
        """Do it, telling each turn before it begins and yielding it when it is done."""
        for number, turns in groupby(self.turns(), lambda turn: turn.repetition // REMADE_AFTER):
            with ExitStack() as stack:
                standing = self._all_up(stack, number) if self.plan.side_by_side else {}
                for turn in turns:
                    announce(turn)
                    try:
                        self._turn(turn, standing)
                    except BenchError as error:
                        said = f"{turn.task.test}, repetition {turn.repetition}"
                        self.problems.append(f"{turn.device.label}, {said}: {error}")
                    yield turn

    def results(self, title: str, begun: float) -> Results:
        """Return the results so far; `begun` by time.time()."""
        return Results(
            title=title,
            begun=datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds"),
            seconds=round(time.time() - begun, 1),
            plan=self.plan,
            machine=machine.describe(),
            samples=tuple(self.samples),
            problems=tuple(self.problems),
            notes=tuple(self.notes),
        )

    def _points(self, task: Task, device: Device, repetition: int) -> list[At]:
        """The loads of a test for a device: the paper's, or else all of the plan."""
        points: list[At] = [
            dict(point.at)
            for point in self.plan.points
            if point.test is task.test and device_of(device.label) in point.duts
        ]
        if not self.plan.points:
            points = task.points(Context(self.plan, repetition))
        return [at for at in points if _fits(device, at)]

    def _bed(self, device: Device) -> Bed:
        return self.beds[self.devices.index(device)]

    def _all_up(self, stack: ExitStack, number: int) -> dict[str, Station]:
        """Every device, by its label; BenchError when one does not come up."""
        mtu = max(_wiring({"size": size})[0] for size in self.plan.sizes)
        return {
            device.label: stack.enter_context(self._station(device, (mtu, 1), 0))
            for device in in_turn(self.devices, number)
        }

    @contextmanager
    def _station(self, device: Device, wiring: tuple[int, int], hosts: int) -> Iterator[Station]:
        bed = self._bed(device)
        bed.mtu, bed.machines = wiring
        kernel = Path(self.plan.guests) if self.plan.guests else None
        with ExitStack() as stack:
            up, remote = stack.enter_context(device.up(bed, hosts)), self.plan.remote
            made = (
                RemoteStation(bed, device, up, remote)
                if remote
                else Station(bed, device, up, kernel)
            )
            station = stack.enter_context(made)
            station.wait_ready()
            yield station

    def _turn(self, turn: Turn, standing: Mapping[str, Station]) -> None:
        context = Context(self.plan, turn.repetition)
        points = self._points(turn.task, turn.device, turn.repetition)
        if standing:
            for at in points:
                self._point(turn, standing[turn.device.label], at)
            return
        for wiring in sorted({_wiring(at) for at in points}):
            with self._station(turn.device, wiring, turn.task.hosts(context)) as station:
                for at in points:
                    if _wiring(at) == wiring:
                        self._point(turn, station, at)

    def _point(self, turn: Turn, station: Station, at: At) -> None:
        """Measure at one load; with a paper's plan a failure does not end the others."""
        try:
            self._measure(turn, station, at)
        except BenchError as error:
            if not self.plan.paper:
                raise
            said = f"{turn.task.test}, repetition {turn.repetition}, {described(at)}"
            self.problems.append(f"{turn.device.label}, {said}: {error}")

    def _measure(self, turn: Turn, station: Station, at: At) -> None:
        context = Context(self.plan, turn.repetition)
        station.others.clear()
        for point, figures in turn.task.measure(context, station, at):
            values = figures
            if not self.processor_time:
                values = {key: value for key, value in figures.items() if key not in CPU_FIGURES}
            self.samples.append(
                Sample(
                    test=turn.task.test,
                    device=turn.device.label,
                    repetition=turn.repetition,
                    at=point,
                    values=values,
                    disturbed=round(fmean(station.others), 3) if station.others else 0.0,
                )
            )


def in_turn(devices: Sequence[Device], turn: int) -> list[Device]:
    """The same devices, another one first every second time, there and back: what comes after an
    idle device finds a rested machine, so each must come after each.
    """
    first = turn // 2 % len(devices)
    order = [*devices[first:], *devices[:first]]
    return order[::-1] if turn % 2 else order


def _wiring(at: At) -> tuple[int, int]:
    """Return the MTU, as some devices are slower with a large one, and the number of machines."""
    mtu = at.get("mtu", max(1500, int(at.get("size", 0)) - FCS - ETHERNET))
    return int(mtu), int(at.get("machines", 1))


def _fits(device: Device, at: At) -> bool:
    return at.get("size", 0) - FCS <= device.largest
