"""A controller that is killed in a change, over and over: does any frame go round meanwhile?

Links of a mesh go down, or come up again, the controller is killed a moment later and comes back.
Four hosts say numbered broadcast frames all the while; one that arrives twice has gone round.  The
bridges stay up from one kill to the next, on a separate Open vSwitch in a network
namespace, so a kill costs little more than it takes to heal.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bridges import PLAIN, own_switch
from tests.bench.table import head, row, spread
from tests.support.census import Census
from tests.support.lab import Host
from tests.support.ownswitch import OwnSwitch
from tests.support.plant import Plant

INTERVAL = 0.02
CHANGED = 10
"""Links that change before a kill."""
SOONEST, LATEST = 0.002, 0.08
"""Seconds from the change to the kill."""
DEAD = 1.0
"""Seconds for which there is no controller, at most, besides its start."""
WATCH = 12.0
"""Seconds for which copies are looked for after a kill: traps end, and caution."""
LONG = 10.0
"""Seconds after which a mesh should be whole again."""
PATIENCE = 60.0
AROUND = 5
"""Rounds before and after one with copies."""


@dataclass(frozen=True)
class Kill:
    """What one did.

    whole: seconds from the kill until every host hears every other one again, None if they never
    do; copies: frames that came too often, the first and the last so many seconds after the kill;
    age: since the oldest of them was sent, in seconds; flight: the longest that any frame was under
    way, to where it came for the first time, of those sent within `AROUND` of one that came too
    often.
    """

    what: str
    whole: float | None
    copies: int
    first: float = 0.0
    last: float = 0.0
    age: float = 0.0
    flight: float = 0.0

    def __str__(self) -> str:
        healed = "not whole again" if self.whole is None else f"whole after {self.whole:.1f} s"
        copied = (
            f", {self.copies} copies from {self.first:.2f} to {self.last:.2f} s, sent"
            f" {self.age:.3f} s before at most; others were under way for up to {self.flight:.3f} s"
        )
        return f"{self.what}: {healed}{copied if self.copies else ''}"


class _Watch(Census):
    """Copies are what is counted here, and no reason to stop."""

    def __init__(self, hosts: list[Host]) -> None:
        super().__init__(hosts, INTERVAL)
        self.at: list[float] = []
        self.ages: list[float] = []

    def check(self) -> None:
        return

    def too_often(self, sender: int, receiver: int, number: int) -> None:
        super().too_often(sender, receiver, number)
        self.at.append(time.monotonic())
        self.ages.append(self.at[-1] - self.sent[min(number, len(self.sent) - 1)])

    def flight(self, since: int) -> float:
        """The longest of a frame that was sent when a copy was, of those since the `since`th."""
        rounds = {number for *_, number in self.surplus[since:]}
        around = (range(max(n - AROUND, 0), n + AROUND + 1) for n in rounds)
        return max(max(self.flights(some), default=0.0) for some in around)


class Killed(Plant):
    """One whose links change and whose controller is killed."""

    def __init__(self, switch: OwnSwitch, size: int, links: int, rng: random.Random) -> None:
        super().__init__(switch, size, links, rng)
        self.down: list[int] = []

    def change(self) -> str:
        """Links go down, such that the others still join all; or those that are down come up."""
        up, links = bool(self.down), self.down or self._spare()
        self.ip(*(f"link set c{number}a {'up' if up else 'down'}" for number in links))
        self.down = [] if up else links
        return f"{len(links)} links {'up' if up else 'down'}"

    def _spare(self) -> list[int]:
        chosen: list[int] = []
        for number in self.rng.sample(range(len(self.cables)), len(self.cables)):
            if len(chosen) < CHANGED and self._joined({*chosen, number}):
                chosen.append(number)
        return chosen

    def _joined(self, without: set[int]) -> bool:
        groups = {number: {number} for number in range(1, self.size + 1)}
        for number, (one, other) in enumerate(self.cables):
            if number not in without and groups[one] is not groups[other]:
                groups[one] |= groups[other]
                groups.update(dict.fromkeys(groups[other], groups[one]))
        return len(groups[1]) == self.size

    def kill(self) -> Kill:
        """Once, from rest to rest."""
        with _Watch(self.hosts) as watch:
            watch.wait_whole("before the kill", PATIENCE, rounds=50)
            before = len(watch.at)
            what = self.change()
            time.sleep(self.rng.uniform(SOONEST, LATEST))
            self.controller.kill9()
            killed = time.monotonic()
            time.sleep(self.rng.uniform(0, DEAD))
            self.controller.start()
            whole: float | None = time.monotonic() - killed
            try:
                whole += watch.wait_whole("after the kill", PATIENCE, rounds=50)
            except AssertionError:
                whole = None
            time.sleep(max(killed + WATCH - time.monotonic(), 0))
            copies = watch.at[before:]
        if not copies:
            return Kill(what, whole, 0)
        ends = copies[0] - killed, copies[-1] - killed
        age, flight = max(watch.ages[before:]), watch.flight(before)
        return Kill(what, whole, len(copies), *ends, age, flight)


@contextlib.contextmanager
def _built(size: int, links: int, rng: random.Random) -> Iterator[Killed]:
    with own_switch(PLAIN) as switch:
        plant = Killed(switch, size, links, rng)
        try:
            plant.build()
            yield plant
        finally:
            plant.close()


def kills(size: int, links: int, times: int, seed: int, logs: Path | None = None) -> list[Kill]:
    """`logs`: a folder for what the controller said in turns with copies, or that took long."""
    done = []
    with _built(size, links, random.Random(seed)) as plant:
        for number in range(1, times + 1):
            done.append(plant.kill())
            print(f"    {number}: {done[-1]}", file=sys.stderr, flush=True)
            if logs is not None and (done[-1].copies or (done[-1].whole or LONG) >= LONG):
                shutil.copy(plant.controller.log_path, logs / f"kill-{seed}-{number}.log")
    return done


def kills_table(results: dict[str, list[list[Kill]]]) -> list[str]:
    """One row of all."""
    done = [kill for runs in results.values() for run in runs for kill in run]
    looped = [kill for kill in done if kill.copies]
    healed = [kill.whole for kill in done if kill.whole is not None]
    longest = max((kill.last - kill.first for kill in looped), default=0.0)
    return [
        head("kills", "with copies", "copies", "longest, s", "whole after, s", "never whole"),
        row(
            *(len(done), len(looped), sum(kill.copies for kill in done), f"{longest:.2f}"),
            *(spread(healed, ".1f"), len(done) - len(healed)),
        ),
    ]
