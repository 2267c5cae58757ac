"""A soak: all storms at once, over and over, beside 20 good switches whose hosts come and go.

    tests/bench/run soak --minutes 30

Prints, minute by minute, how late the good switches' hellos and echoes are, how long it takes to
learn a host and to ask the API, and what the controller holds.  The exit status is 1 when a hello
was later than half a second, memory grew, or a good switch was let go.  See README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ofapp.bench.figures import percentile
from tests.bench import openflow as of
from tests.bench.controllers import Running
from tests.bench.crowd import rage
from tests.bench.fleet import HELLO_TIME, Fleet, Member
from tests.bench.rest import Api
from tests.bench.storms import GOOD, served

STORM, CALM = 50.0, 10.0
"""Seconds of storms, and of quiet, in turn."""
HOSTS, LIFE = 25, 30.0
"""Hosts of a good switch that are new each second, and seconds after which they age out."""
STOP_EVERY, STOPS = 170.0, (3.0, 5.0, 8.0)
"""Seconds between stops of the controller, and how long they last, in turn."""
LATEST = 0.5
"""Seconds that a hello may be late."""
GROWTH = 0.05
"""How much more memory the end may take than what follows the warm-up, for it to be flat."""
SAMPLE, ROW = 5.0, 60.0
"""Seconds between looks at memory, and of one row."""

_ETH_SRC = b"\x80\0\x08\6"


class Good(Member):
    """A switch with hosts, which keeps the flows that learn them and tells when they age out.

    delays: seconds from a host's first frame to the flow that learns it.
    """

    def __init__(self, port: int, dpid: int) -> None:
        super().__init__(port, dpid)
        self.delays: list[float] = []
        self.shown = 0
        self._waiting: dict[bytes, float] = {}
        self._born: deque[tuple[float, of.FlowMod]] = deque()
        self._speak_at = time.monotonic() + dpid / GOOD  # not all at once

    def live(self, now: float) -> None:
        """Hosts come and go."""
        if self.in_line is None or now < self._speak_at:
            return
        self._speak_at += 1.0
        for host in range(self.shown, self.shown + HOSTS):
            self._waiting[host.to_bytes(4, "big")] = now
        self.send(self.sightings(self.shown, HOSTS))
        self.shown += HOSTS
        old = 0
        while self._born and now - self._born[0][0] > LIFE:
            self.flow_mod(self._born.popleft()[1]._replace(command=of.DELETE_STRICT, cookie_mask=0))
            old += 1
        self.send(self.removals(old))

    def _heard(self, data: bytes, at: int, length: int, now: float) -> None:
        before = len(self.learned)
        super()._heard(data, at, length, now)
        if data[at + 1] != of.FLOW_MOD or data[at + 8 : at + 11] != b"\x0f\xa9\x80":
            return
        mod = of.parse_flow_mod(data[at : at + length])
        self.flow_mod(mod)
        if len(self.learned) > before:
            self._born.append((now, mod))
            mac = next(field[4:] for field in mod.oxms if field[:4] == _ETH_SRC)
            shown = self._waiting.pop(mac[2:], None)
            if shown is not None:
                self.delays.append(now - shown)

    def late(self, now: float, stops: Sequence[tuple[float, float]]) -> Iterator[float]:
        """How late each hello came, or is; the controller's stops do not count."""
        for times in self.hellos.values():
            for before, after in pairwise([*times, now]):
                stopped = sum(max(0.0, min(after, e) - max(before, b)) for b, e in stops)
                yield max(0.0, after - before - HELLO_TIME - stopped)

    def waits(self, now: float) -> list[float]:
        """How long hosts waited, or wait, to be learned."""
        return [*self.delays, *(now - shown for shown in self._waiting.values())]

    def hush(self) -> None:
        """Nothing is asked that would wait for a controller that is stopped."""
        self.echoing = False
        self._asked.clear()
        self._waiting.clear()

    def forget(self) -> None:
        """A row begins."""
        super().forget()
        self.delays.clear()


class Asker(threading.Thread):
    """Asks the API once a second, on a connection each; (when, seconds, None for no answer)."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.answers: list[tuple[float, float, Any]] = []
        self.over = threading.Event()
        self.events = 0
        self._port = port

    def run(self) -> None:
        """Until it is over."""
        while not self.over.wait(1.0):
            began, reply = time.monotonic(), None
            api = Api(self._port)
            with contextlib.suppress(RuntimeError, OSError, http.client.HTTPException):
                _, reply, _ = api.get("/v1/bridges/0000000000000001")
                _, answer, _ = api.get(f"/v1/events?since={self.events}")
                self.events = answer["last"]
            api.close()
            self.answers.append((began, time.monotonic() - began, reply))


@dataclass
class Row:
    """A minute; seconds, bytes."""

    minute: float
    hellos: list[float]
    echoes: list[float]
    delays: list[float]
    answers: list[float]
    unanswered: int
    memory: list[int]
    cpu: float
    files: int
    events: int
    log: int


class Soak:
    """One run."""

    def __init__(self, fleet: Fleet, controller: Running) -> None:
        self._fleet, self._controller = fleet, controller
        self._good = [member for member in fleet.members if isinstance(member, Good)]
        self._stops: list[tuple[float, float]] = []
        self._asker = Asker(controller.rest_port)
        self._storm: Any = None
        self._turn = 0
        self._memory: list[tuple[float, int]] = []
        self.rows: list[Row] = []
        self.gone = 0

    def run(self, seconds: float, stop_every: float) -> Iterator[Row]:
        """Gives rows."""
        began = time.monotonic()
        storm_at, stop_at, sample_at, row_at = began, began + stop_every, began, began + ROW
        for good in self._good:
            good.echoing = True
        self._asker.start()
        self._row_began, self._cpu = began, self._controller.cpu_seconds()
        try:
            while (now := time.monotonic()) < began + seconds:
                if now >= storm_at:
                    storm_at = now + STORM + CALM
                    self._begin_storm()
                if now >= stop_at:
                    self._stop(STOPS[len(self._stops) % len(STOPS)])
                    stop_at = now + stop_every
                if now >= sample_at:
                    sample_at = now + SAMPLE
                    self._memory.append((now - began, self._controller.resident()))
                if now >= row_at:
                    row_at += ROW
                    yield self._row(began)
                for good in self._good:
                    good.live(now)
                self._fleet.run(0.05)
            yield self._row(began)
        finally:
            self._asker.over.set()
            if self._storm is not None:
                self._storm.terminate()
                self._storm.join()
            self._asker.join(30)

    def _begin_storm(self) -> None:
        if self._storm is not None:
            self._storm.join(0)
            self._storm.kill()
        self._turn += 1
        arguments = self._controller.port, self._controller.rest_port, STORM, self._turn
        self._storm = multiprocessing.get_context("spawn").Process(target=rage, args=arguments)
        self._storm.start()

    def _stop(self, seconds: float) -> None:
        for good in self._good:
            good.hush()
        began = time.monotonic()
        os.kill(self._controller.process.pid, signal.SIGSTOP)
        try:
            self._fleet.run(seconds)
        finally:
            os.kill(self._controller.process.pid, signal.SIGCONT)
            self._stops.append((began, time.monotonic()))
        for good in self._good:
            good.echoing = True

    def _row(self, began: float) -> Row:
        now = time.monotonic()
        self.gone = sum(good.closed for good in self._good)
        asked = [a for a in self._asker.answers if not self._stopped(a[0], a[0] + a[1])]
        self._asker.answers.clear()
        cpu, process = self._controller.cpu_seconds(), self._controller.process.pid
        row = Row(
            minute=(now - began) / 60,
            hellos=[late for good in self._good for late in good.late(now, self._stops)],
            echoes=[trip for good in self._good for trip in good.echoes()],
            delays=[delay for good in self._good for delay in good.waits(now)],
            answers=[seconds for _, seconds, _ in asked],
            unanswered=sum(reply is None for _, _, reply in asked),
            memory=[size for at, size in self._memory if at > self._row_began - began],
            cpu=(cpu - self._cpu) / (now - self._row_began),
            files=len(list(Path(f"/proc/{process}/fd").iterdir())),
            events=self._asker.events,
            log=self._controller.log.stat().st_size,
        )
        self._row_began, self._cpu = now, cpu
        for good in self._good:
            good.forget()
        self.rows.append(row)
        return row

    def _stopped(self, begin: float, end: float) -> bool:
        return any(begin < e and end > b for b, e in self._stops)

    def growth(self) -> tuple[float, float]:
        """Median memory in the first fifth after a fifth to warm up, and in the last fifth."""
        sizes = [size for _, size in self._memory]
        fifth = max(len(sizes) // 5, 1)
        return median(sizes[fifth : 2 * fifth]), median(sizes[-fifth:])


HEAD = (
    "| minute | hello late p50 / p99 / max ms | echo p50 / p99 / max ms | learned in p50 / p99 "
    "/ max ms | API p50 / max ms (none) | MiB (most) | CPU | files | events | log KiB |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def _three(seconds: Sequence[float]) -> str:
    return " / ".join(f"{percentile(seconds, at) * 1e3:,.0f}" for at in (0.5, 0.99, 1))


def line(row: Row) -> str:
    """Of a Markdown table."""
    api = " / ".join(f"{percentile(row.answers, at) * 1e3:,.0f}" for at in (0.5, 1))
    cells = [
        *(f"{row.minute:.1f}", _three(row.hellos), _three(row.echoes), _three(row.delays)),
        f"{api} ({row.unanswered})",
        f"{median(row.memory) / 2**20:.0f} ({max(row.memory) / 2**20:.0f})",
        *(f"{row.cpu:.0%}", str(row.files), str(row.events), f"{row.log / 1024:.0f}"),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--stop-every", type=float, default=STOP_EVERY, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every row")
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep the controller's log")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} at the start\n\n{HEAD}", flush=True)
    with served(GOOD, Good) as (controller, fleet):
        soak = Soak(fleet, controller)
        for row in soak.run(options.minutes * 60, options.stop_every):
            print(line(row), flush=True)
        if options.log:
            options.log.write_bytes(controller.log.read_bytes())
    late = [late for row in soak.rows for late in row.hellos]
    before, after = soak.growth()
    good = [member for member in fleet.members if isinstance(member, Good)]
    shown, waiting = sum(g.shown for g in good), sum(len(row.delays) for row in soak.rows)
    print(f"\nHellos: {len(late):,}, late by {_three(late)} ms (p50 / p99 / max).")
    print(f"Hosts: {shown:,} shown, {waiting:,} learned or waited for.")
    print(f"Memory: {before / 2**20:.0f} MiB after the warm-up, {after / 2**20:.0f} at the end.")
    print(f"Good switches let go: {soak.gone}.")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in soak.rows]) + "\n")
    return int(max(late) > LATEST or after > before * (1 + GROWTH) or soak.gone > 0)


if __name__ == "__main__":
    sys.exit(main())
