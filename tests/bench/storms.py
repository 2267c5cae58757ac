"""Storms: how late hellos and echoes get while switches say more than can be heard at once.

    tests/bench/run storms                    all of it, some minutes; as Markdown
    tests/bench/run storms --only hostile --kinds ports,flaps --seconds 20
    tests/bench/run storms --only ageing --switches 10 --hosts 100000
    tests/bench/run storms --only together --switches 1000

See README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import multiprocessing
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ofapp.bench.figures import percentile
from tests.bench.controllers import HERE, Peer, Running, emulator_core, peers, running
from tests.bench.fleet import Fleet, Member
from tests.bench.hostile import ENDLESS, KINDS, be_hostile
from tests.bench.rest import Api
from tests.bench.table import head, row

CONFIG = HERE / "storms.yaml"
GOOD = 20
"""Good switches beside a hostile one."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one storm did to others; times in seconds, memory in bytes."""

    name: str
    seconds: float
    echoes: list[float]
    hellos: list[float]
    memory: int
    cpu: float
    note: str = ""


def _controller() -> Peer:
    peer = peers()["ofapp"]

    def command(port: int, rest_port: int) -> list[str]:
        return [*peer.command(port, rest_port)[:-1], str(CONFIG)]

    return replace(peer, command=command)


@contextlib.contextmanager
def served(
    count: int, make: Callable[[int, int], Member] = Member
) -> Iterator[tuple[Running, Fleet]]:
    """A fresh controller and so many switches that are in line with it."""
    with running(_controller()) as controller, emulator_core():
        fleet = Fleet()
        try:
            for number in range(1, count + 1):
                fleet.add(make(controller.port, number))
            if not fleet.run(60, lambda: all(m.in_line for m in fleet.members)):
                raise RuntimeError("the switches were not brought in line")
            yield controller, fleet
        finally:
            fleet.close()


def _progress(what: str) -> None:
    print(f"  {what} ...", file=sys.stderr, flush=True)


class Watch:
    """A measurement from now on."""

    def __init__(self, fleet: Fleet, controller: Running) -> None:
        self._fleet, self._controller = fleet, controller
        self._began, self._cpu = time.monotonic(), controller.cpu_seconds()

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self._began

    def row(self, name: str, note: str = "") -> Row:
        """What it found."""
        now, members = time.monotonic(), self._fleet.members
        return Row(
            name,
            self.seconds,
            [trip for member in members for trip in member.echoes()],
            [delay for member in members for delay in member.hello_delays(now)],
            self._controller.resident(),
            self._controller.cpu_seconds() - self._cpu,
            note,
        )


def _watch(fleet: Fleet, seconds: float) -> None:
    """Let things calm down, then measure from now on."""
    for member in fleet.members:
        member.echoing = True
    fleet.run(seconds)
    for member in fleet.members:
        member.forget()


def _asked(fleet: Fleet, controller: Running, question: Callable[[Api], Any]) -> Any:
    """What the API answers, while the fleet is served; None when it does not."""
    answers: list[Any] = []

    def ask() -> None:
        api = Api(controller.rest_port)
        with contextlib.suppress(RuntimeError, OSError):
            answers.append(question(api))
        api.close()

    asking = threading.Thread(target=ask)
    asking.start()
    fleet.run(30, lambda: not asking.is_alive())
    return answers[0] if answers else None


def _learned(api: Api) -> int:
    _, reply, _ = api.get("/v1/bridges")
    return sum(bridge["fdb"]["learned"] for bridge in reply["bridges"])


def _event_counts(api: Api) -> str:
    """The events of note, by kind."""
    _, reply, _ = api.get("/v1/events")
    counts = Counter(
        event["kind"] for event in reply["events"] if event["kind"].startswith("openflow.")
    )
    return ", ".join(f"{kind} {count}" for kind, count in counts.items())


def rest(switches: int, seconds: float) -> Row:
    """Nothing happens: the base for comparison."""
    with served(switches) as (controller, fleet):
        _watch(fleet, 3)
        watch = Watch(fleet, controller)
        fleet.run(seconds)
        return watch.row(f"{switches} switches at rest")


def ageing(switches: int, hosts: int) -> Row:
    """All hosts of all switches age out at once."""
    with served(switches) as (controller, fleet):
        _progress(f"teaching {switches} x {hosts:,} hosts")
        fleet.teach(hosts, 120)
        storm = [member.removals() for member in fleet.members]
        _watch(fleet, 3)
        _progress("they age out")
        for member, notices in zip(fleet.members, storm, strict=True):
            member.send(notices)
        watch = Watch(fleet, controller)
        fleet.run(60, lambda: not any(member.unsent for member in fleet.members))
        sent = watch.seconds
        while _asked(fleet, controller, _learned) and watch.seconds < 60:
            fleet.run(0.3)
        done = watch.seconds
        fleet.run(2.5)
        note = f"sent in {sent:.1f} s, forgotten in {done:.1f} s"
        return watch.row(f"{switches} x {hosts:,} hosts age out", note)


def together(switches: int) -> Row:
    """All switches connect at once."""
    with running(_controller()) as controller, emulator_core():
        fleet = Fleet()
        try:
            _progress(f"{switches} connect")
            watch = Watch(fleet, controller)
            for number in range(1, switches + 1):
                fleet.add(Member(controller.port, number))
            connected = watch.seconds
            reached = fleet.run(120, lambda: all(m.in_line for m in fleet.members))
            in_line = watch.seconds
            note = f"connected in {connected:.1f} s, in line in {in_line:.1f} s"
            if not reached:
                count = sum(m.in_line is not None for m in fleet.members)
                note = f"only {count} were in line after {in_line:.0f} s"
            for member in fleet.members:
                member.echoing = False
            fleet.run(2.5)
            return watch.row(f"{switches} switches connect at once", note)
        finally:
            fleet.close()


def hostile(kind: str, seconds: float) -> Row:
    """One switch that never stops beside good ones."""
    with served(GOOD) as (controller, fleet):
        start = time.monotonic() + 4
        process = multiprocessing.get_context("fork").Process(
            target=be_hostile, args=(controller.port, kind, start, seconds)
        )
        process.start()
        try:
            _watch(fleet, 4)
            _progress(f"hostile: {kind}")
            watch = Watch(fleet, controller)
            fleet.run(seconds)
            row = watch.row(f"hostile: {kind}")
        finally:
            process.terminate()
            process.join()
        fleet.run(1)
        answer = _asked(fleet, controller, _event_counts)
        lost = sum(member.closed for member in fleet.members)
        gone = f"{lost} of the good ones disconnected; " if lost else ""
        return replace(row, note=gone + ("the API does not answer" if answer is None else answer))


# The table


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f}"


def table(rows: list[Row]) -> Iterator[str]:
    """Markdown."""
    yield head("storm", "s", "CPU s", "echo p50, p99, max ms", "hello late p99, max ms", "MiB", "")
    for each in rows:
        echo = " / ".join(_ms(percentile(each.echoes, at)) for at in (0.5, 0.99, 1))
        hello = " / ".join(_ms(percentile(each.hellos, at)) for at in (0.99, 1))
        spent = (f"{each.seconds:.1f}", f"{each.cpu:.1f}")
        yield row(each.name, *spent, echo, hello, f"{each.memory / 2**20:.0f}", each.note)


def main() -> None:
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(prog="tests/bench/run storms", description=__doc__)
    parser.add_argument("--only", default="rest,ageing,together,hostile", metavar="PARTS")
    parser.add_argument("--kinds", default=",".join([*KINDS, *ENDLESS]), metavar="KINDS")
    parser.add_argument("--switches", type=int, help="10 that age, 1000 that connect together")
    parser.add_argument("--hosts", type=int, default=100_000, help="of each switch that ages")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a storm without end")
    options = parser.parse_args()
    parts = options.only.split(",")
    gc.disable()
    rows: list[Row] = []
    measurements: list[Callable[[], Row]] = []
    if "rest" in parts:
        measurements.append(lambda: rest(GOOD, options.seconds))
    if "ageing" in parts:
        measurements.append(lambda: ageing(options.switches or 10, options.hosts))
    if "together" in parts:
        measurements.append(lambda: together(options.switches or 1000))
    if "hostile" in parts:
        for kind in options.kinds.split(","):
            measurements.append(lambda kind=kind: hostile(kind, options.seconds))
    print(f"load {os.getloadavg()[0]:.1f} at the start\n")
    for number, measure in enumerate(measurements):
        rows.append(measure())
        for line in list(table(rows[-1:]))[int(number > 0) :]:
            print(line, flush=True)


if __name__ == "__main__":
    main()
