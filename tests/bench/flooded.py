"""Many bridges in one Open vSwitch, and a host that sends frames of ever new addresses.

    tests/bench/run flooded                             60 bridges, 870 new addresses a second
    tests/bench/run flooded --bridges 100 --links 140 --rate 2000 --seconds 20

ovs-vswitchd has one main thread for all of them.  Printed: roles that changed, how far hellos were
apart on the wire, when learning ended after the last frame, and what it cost.  See README.md.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.bench.bridges import PLAIN, own_switch
from tests.bench.measure import percentile
from tests.bench.stp_traffic import ETH_P_802_2, Receiver, end, is_hello, sender, stamped_socket
from tests.support.lab import _in_namespace
from tests.support.ownswitch import OwnSwitch
from tests.support.plant import Plant

CALM = 10.0
"""Seconds without a new role, after which the tree is at rest."""
PATIENCE = 120.0
"""Seconds in which learning must end."""
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Flooded:
    """What a flood did.

    roles: ports that changed their role; disconnected: connections that ended; gaps: seconds
    between hellos of one port, and quiet: the same before the flood; learned: addresses in all
    databases; finished: seconds after the last frame until no more were learned; controller,
    switch: seconds of processor time a second; events: warnings and errors, by kind.
    """

    roles: int
    disconnected: int
    gaps: list[float]
    quiet: list[float]
    learned: int
    finished: float | None
    controller: float
    switch: float
    events: Counter[str]

    def __str__(self) -> str:
        finished = "did not end" if self.finished is None else f"ended after {self.finished:.1f} s"
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(self.events.items()))
        return (
            f"{self.roles} roles changed, {self.disconnected} disconnected; hellos apart by"
            f" {percentile(self.gaps, 50):.2f} / {percentile(self.gaps, 99):.2f} /"
            f" {max(self.gaps):.2f} s (p50, p99, most; {max(self.quiet):.2f} before); learned"
            f" {self.learned:,}, {finished}; CPU {self.controller:.2f} and {self.switch:.2f};"
            f" events: {counts or 'none'}"
        )


class Patched(Plant):
    """Its cables are patch ports: a frame passes all bridges at once.  Each has a witness, too."""

    def _plug(self) -> list[list[str]]:
        for number in range(1, self.size + 1):
            self._wire(f"w{number}a", f"w{number}b")
        return [
            *(["add-port", f"s{number}", f"w{number}a"] for number in range(1, self.size + 1)),
            *(
                [
                    *("add-port", f"s{homes[end]}", f"c{number}{name}"),
                    *("--", "set", "Interface", f"c{number}{name}", "type=patch"),
                    f"options:peer=c{number}{peer}",
                ]
                for number, homes in enumerate(self.cables)
                for end, (name, peer) in enumerate(("ab", "ba"))
            ),
        ]

    @property
    def wires(self) -> list[str]:
        """Where hellos are looked for."""
        return [f"w{number}b" for number in range(1, self.size + 1)]


class Cabled(Plant):
    """Its cables are veth pairs: a frame enters the switch again at each bridge."""

    @property
    def wires(self) -> list[str]:
        """Where hellos are looked for."""
        return [f"c{number}{end}" for number in range(len(self.cables)) for end in "ab"]


class _Hellos:
    """When hellos came in, port by port."""

    def __init__(self, switch: OwnSwitch, interfaces: list[str]) -> None:
        def listen() -> list[Any]:
            return [stamped_socket(interface, ETH_P_802_2) for interface in interfaces]

        self._receiver = Receiver(*_in_namespace(switch.namespace, listen))

    def gaps(self, since: float, until: float) -> list[float]:
        """Seconds between one hello and the next of the ports that say any."""
        came: dict[int, list[float]] = defaultdict(list)
        for at, frame, socket in self._receiver.frames:
            if is_hello(frame) and since <= at < until:
                came[socket].append(at)
        ends = {number: [since, *times, until] for number, times in came.items()}
        return [b - a for times in ends.values() for a, b in pairwise(times)]

    def close(self) -> None:
        self._receiver.close()


def flood(plant: Patched | Cabled, switch: OwnSwitch, rate: int, seconds: float) -> Flooded:
    """Once, from rest to rest."""
    controller = plant.controller
    recorder = _Recorder(plant)
    recorder.wait_calm()
    recorder.events.clear()
    hellos = _Hellos(switch, plant.wires)
    try:
        began = time.time()
        time.sleep(2 * CALM)
        flooding = time.time()
        own, its = _cpu(controller._process.pid), _cpu(switch._switch.pid)  # type: ignore[union-attr]
        process = sender(plant.hosts[0].namespace, "new-macs", *([str(rate)] if rate else []))
        while time.time() < flooding + seconds:
            time.sleep(0.5)
            recorder.look()
        end(process)
        stopped = time.time()
        took = stopped - flooding
        own = (_cpu(controller._process.pid) - own) / took  # type: ignore[union-attr]
        its = (_cpu(switch._switch.pid) - its) / took  # type: ignore[union-attr]
        finished, learned = _finished(plant, stopped)
        recorder.look()
        gaps, quiet = hellos.gaps(flooding, time.time()), hellos.gaps(began, flooding)
    finally:
        hellos.close()
    kinds = Counter(event["kind"] for event in recorder.events)
    serious = Counter(e["kind"] for e in recorder.events if e["severity"] in ("warning", "error"))
    roles, gone = kinds["stp.role"], kinds["bridge.disconnected"]
    return Flooded(roles, gone, gaps, quiet, learned, finished, own, its, serious)


def _finished(plant: Plant, stopped: float) -> tuple[float | None, int]:
    """Seconds until nothing more was learned for a while, and what is learned then."""
    learned, since = _learned(plant), time.time()
    while time.time() < stopped + PATIENCE:
        time.sleep(0.2)
        if (now := _learned(plant)) != learned:
            learned, since = now, time.time()
        elif time.time() - since > CALM:
            return max(since - stopped, 0.0), learned
    return None, learned


def _learned(plant: Plant) -> int:
    bridges = plant.controller.get("/v1/bridges")["bridges"]
    return sum(bridge["fdb"]["learned"] for bridge in bridges)


class _Recorder:
    """What the controller has told since this was made or `events` cleared."""

    def __init__(self, plant: Plant) -> None:
        self.events: list[dict[str, Any]] = []
        self._controller = plant.controller
        self._last = 0
        self.look()

    def look(self) -> int:
        """For what is new; gives how many ports have another role.  It keeps the last thousand."""
        new = self._controller.get("/v1/events", since=str(self._last))["events"]
        self._last = max((event["number"] for event in new), default=self._last)
        self.events += new
        return sum(event["kind"] == "stp.role" for event in new)

    def wait_calm(self) -> None:
        """Until the tree is at rest."""
        since = time.monotonic()
        while time.monotonic() - since < CALM:
            time.sleep(0.5)
            if self.look():
                since = time.monotonic()


def _cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICK


def main() -> None:
    """Print a line for each turn."""
    parser = argparse.ArgumentParser(prog="tests/bench/run flooded", description=__doc__)
    parser.add_argument("--bridges", type=int, default=60)
    parser.add_argument("--links", type=int, help="a third more than bridges")
    parser.add_argument("--patch", action="store_true", help="patch ports instead of cables")
    parser.add_argument(
        "--rate", type=int, default=870, help="new addresses a second; 0: as many as go"
    )
    parser.add_argument("--seconds", type=float, default=23.0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", help="a file for what the controller said")
    options = parser.parse_args()
    links = options.links or options.bridges * 4 // 3
    with own_switch(PLAIN) as switch:
        make = Patched if options.patch else Cabled
        plant = make(switch, options.bridges, links, random.Random(options.seed))
        try:
            plant.build()
            for _ in range(options.repeat):
                print(f"load {os.getloadavg()[0]:.1f}:", end=" ", flush=True)
                print(flood(plant, switch, options.rate, options.seconds), flush=True)
        finally:
            if options.log:
                with open(options.log, "w") as file:
                    file.write(plant.controller.log())
            plant.close()


if __name__ == "__main__":
    sys.exit(main())
