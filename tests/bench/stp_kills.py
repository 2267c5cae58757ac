"""A controller that is killed in a change, over and over: does any frame go round meanwhile?

Links of a mesh go down, or come up again, the controller is killed a moment later and comes back.
Four hosts say numbered broadcast frames all the while; one that arrives twice has gone round.  The
bridges stay up from one kill to the next, on an Open vSwitch and in a network namespace of their
own, so a kill costs little more than it takes to heal.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bridges import PLAIN, own_switch
from tests.support.census import Census
from tests.support.lab import Host
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import wait_for
from tests.unit.stp.meshes import mesh

HOSTS = 4
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
_CONFIG = "defaults: {stp: {enabled: true}}"


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


class Plant:
    """The bridges, numbered from 1, their cables and the hosts."""

    def __init__(self, switch: OwnSwitch, size: int, links: int, rng: random.Random) -> None:
        self._switch = switch
        self._rng = rng
        self.size = size
        self.cables = mesh(size, links, rng.randrange(1 << 30))
        self.down: list[int] = []
        self.hosts = [switch.host(number) for number in range(1, HOSTS + 1)]
        self.controller = ControllerInside(switch.namespace)
        self.controller.configure(_CONFIG)

    def build(self) -> None:
        """Everything at once: ovs-vswitchd looks at all its ports whenever one is added."""
        for number in range(len(self.cables)):
            ends = f"c{number}a", f"c{number}b"
            self._ip(
                f"link add {ends[0]} type veth peer name {ends[1]}",
                *(f"link set {end} up" for end in ends),
            )
        homes = self._rng.sample(range(1, self.size + 1), HOSTS)
        plugs = [
            *((host.plug, home) for host, home in zip(self.hosts, homes, strict=True)),
            *((f"c{n}a", one) for n, (one, _) in enumerate(self.cables)),
            *((f"c{n}b", other) for n, (_, other) in enumerate(self.cables)),
        ]
        self.controller.start()
        self._vsctl(*map(self._bridge, range(1, self.size + 1)))
        self._vsctl(*(["add-port", f"s{home}", plug] for plug, home in plugs))
        wait_for(self._in_line, "all bridges to be set up", seconds=120)

    def _bridge(self, number: int) -> list[str]:
        name = f"s{number}"
        return [
            *("add-br", name, "--", "set", "Bridge", name, "datapath_type=netdev"),
            *("fail_mode=secure", "protocols=OpenFlow13", "other_config:disable-in-band=true"),
            f"other_config:datapath-id={0x0A00_0000_0000 + number:016x}",
            *("--", "set-controller", name, self.controller.target),
            *("--", "set", "Controller", name, "max_backoff=1000", "connection_mode=out-of-band"),
        ]

    def _vsctl(self, *commands: list[str]) -> None:
        words = [word for command in commands for word in ("--", *command)]
        self._switch.vsctl("--timeout=60", *words)

    def _in_line(self) -> bool:
        bridges = self.controller.get("/v1/bridges")["bridges"]
        return len(bridges) == self.size and all(bridge["in_line"] for bridge in bridges)

    def _ip(self, *commands: str) -> None:
        batch = self._switch.dir / "batch"
        batch.write_text("\n".join(commands) + "\n")
        self._switch.inside("ip", "-batch", batch)

    def change(self) -> str:
        """Links go down, such that the others still join all; or those that are down come up."""
        up, links = bool(self.down), self.down or self._spare()
        self._ip(*(f"link set c{number}a {'up' if up else 'down'}" for number in links))
        self.down = [] if up else links
        return f"{len(links)} links {'up' if up else 'down'}"

    def _spare(self) -> list[int]:
        chosen: list[int] = []
        for number in self._rng.sample(range(len(self.cables)), len(self.cables)):
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
            time.sleep(self._rng.uniform(SOONEST, LATEST))
            self.controller.kill9()
            killed = time.monotonic()
            time.sleep(self._rng.uniform(0, DEAD))
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

    def close(self) -> None:
        self.controller.close()


@contextlib.contextmanager
def _built(size: int, links: int, rng: random.Random) -> Iterator[Plant]:
    with own_switch(PLAIN) as switch:
        plant = Plant(switch, size, links, rng)
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
    median = f"{statistics.median(healed):.1f} s ({max(healed):.1f})" if healed else "-"
    return [
        "| kills | with copies | copies | longest | whole after, median (longest) | never whole |",
        "| --- |" + " --- |" * 5,
        f"| {len(done)} | {len(looped)} | {sum(kill.copies for kill in done)} | {longest:.2f} s "
        f"| {median} | {len(done) - len(healed)} |",
    ]
