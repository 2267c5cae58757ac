"""The page beside a hundred switches with a thousand hosts each, and what twenty of them cost.

In a headless Chromium: how long until the map can be used, how much memory it takes, and how long
frames take while the list of all hosts is scrolled.  Then the controller alone, by turns without
pages, with twenty, and with one who reads all databases as well: the rate at which a switch's hosts
are learned, the controller's processor time for each, which other work on the machine does not
change much, its time in a second in which nothing is learned, and how late hellos are.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import http.client
import multiprocessing
import os
import random
import select
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

from ofapp.bench.figures import percentile
from tests.bench import openflow as of
from tests.bench.controllers import Running, peers, running
from tests.bench.fleet import HELLO_TIME, Fleet, Member
from tests.bench.meanwhile import meanwhile
from tests.bench.rest import Api
from tests.bench.table import head, row, spread
from tests.support.waiting import wait_for

HOST_PORTS = 3
UPLINK, FIRST_DOWN, ACROSS = 8, 5, 4
BPDU_COOKIE = 0x0600
SETTLE = 8.0
LEARNER = 0xABC000
GROUP = 10
"""Switches that are taught at the same time."""
PAGES = 20
NICE = 15
"""How far the pages' clients stand back behind the emulated switches, whose core they share."""

_OUT = struct.Struct("!8xIIH6x")


class Cabled(Member):
    """A switch whose cables lead to others: it forwards the BPDUs of its packet-outs."""

    def __init__(self, port: int, dpid: int) -> None:
        super().__init__(port, dpid)
        self.cables: dict[int, tuple[Cabled, int]] = {}

    def sightings(self, first: int, count: int) -> bytes:
        """Of hosts, which are on the first ports."""
        every, self.ports = self.ports, self.ports[:HOST_PORTS]
        try:
            return super().sightings(first, count)
        finally:
            self.ports = every

    def _parts(self, kind: int, request: bytes) -> list[bytes]:
        """Its ports have unique addresses and names, which distinguish bridges."""
        if kind != of.MP_PORT_DESC:
            return super()._parts(kind, request)
        descriptions = []
        for number in [*self.ports, of.LOCAL]:
            description = bytearray(of.port_desc(number))
            name = f"sw{self.dpid}" + ("" if number == of.LOCAL else f"-p{number}")
            description[9:12] = self.dpid.to_bytes(3, "big")
            description[16:32] = name.encode().ljust(16, b"\0")
            descriptions.append(bytes(description))
        return [b"".join(descriptions)]

    def hear(self, port: int, frame: bytes) -> None:
        """A BPDU comes in."""
        for flow in self.flows():
            if flow.cookie >> 32 & 0xFF00 == BPDU_COOKIE:
                fields = of.match(of.oxm(0, struct.pack("!I", port)))
                self.send(of.packet_in(flow.cookie, 0, of.ACTION, fields, frame))
                return

    def _heard(self, data: bytes, at: int, length: int, now: float) -> None:
        if data[at + 1] == of.PACKET_OUT:
            _buffer, _in_port, actions = _OUT.unpack_from(data, at)
            port = int.from_bytes(data[at + 28 : at + 32], "big")
            frame = data[at + 24 + actions : at + length]
            if port in self.cables and frame.startswith(b"\x01\x80\xc2\0\0\0"):
                other, there = self.cables[port]
                other.hear(there, frame)
        super()._heard(data, at, length, now)


def cable(members: list[Cabled]) -> None:
    """A tree of threes, and a cable between every two switches beside each other: loops."""

    def join(a: int, port: int, b: int, there: int) -> None:
        members[a].cables[port] = members[b], there
        members[b].cables[there] = members[a], port

    for number in range(1, len(members)):
        above = (number - 1) // 3
        join(above, FIRST_DOWN + (number - 1) % 3, number, UPLINK)
    for number in range(1, len(members) - 1, 2):
        join(number, ACROSS, number + 1, ACROSS)


def served(fleet: Fleet) -> AbstractContextManager[None]:
    """The switches go on in a thread."""
    return meanwhile(lambda over: fleet.run(1e9, over))


def grow(fleet: Fleet, controller: Running, hosts: int) -> int:
    """Until the tree has settled and each switch knows so many hosts; how many all know.

    A topology change flushes what was learned before it.  So few switches are taught at a time, as
    BPDUs wait behind their frames, and on a busy machine some hosts may be missing.
    """
    api, before = Api(controller.rest_port), None
    for _ in range(12):
        fleet.run(5)
        with served(fleet):
            links = api.get("/v1/topology")[1]["links"]
        if links and links == before:
            break
        before = links
    for member in fleet.members:
        member.learned.clear()
    for at in range(0, len(fleet.members), GROUP):
        with contextlib.suppress(RuntimeError):
            fleet.teach(hosts, 20, fleet.members[at : at + GROUP])
    with served(fleet):
        api = Api(controller.rest_port)  # the other connection was idle, and is closed
        return sum(own["fdb"]["learned"] for own in api.get("/v1/bridges")[1]["bridges"])


# In a browser


def in_browser(controller: Running, switches: int) -> dict[str, Any]:
    """Milliseconds, and mebibytes."""
    from tests.page.browser import browser

    with browser(f"http://127.0.0.1:{controller.rest_port}/") as window:
        driver = window.driver
        found: dict[str, Any] = {}
        for view, ready in (
            ("problems", f"document.body.innerText.includes('{switches} switches')"),
            ("map", f"document.querySelectorAll('.panel .row').length >= {switches}"),
        ):
            for turn in ("cold", "warm"):
                driver.get("about:blank")
                before = _metrics(driver)["TaskDuration"]
                window.open(f"#/{view}")
                wait_for(partial(window.js, f"return {ready}"), view, seconds=60)
                now = window.js("return Math.round(performance.now())")
                cpu = 1000 * (_metrics(driver)["TaskDuration"] - before)
                found[f"{view} usable, {turn} (ms; busy of it)"] = f"{now}; {cpu:.0f}"
            found[f"{view} memory (MiB)"] = _heap(driver)
        window.open("#/hosts")
        window.reads("and more shown")
        frames = driver.execute_async_script(_SCROLL, 6000)
        times = frames["times"]
        found["rows scrolled"] = frames["rows"]
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("longest", 1)):
            found[f"frame {name} (ms)"] = round(percentile(times, share), 1)
        found["elements in the page"] = window.js("return document.querySelectorAll('*').length")
        found["list memory (MiB)"] = _heap(driver)
        return found


_SCROLL = """
const [milliseconds, done] = arguments;
const box = document.querySelector('.rows .scroll');
const times = [], begun = performance.now();
let last = begun;
function frame(now) {
  times.push(now - last);
  last = now;
  box.scrollTop += 260;
  if (now - begun < milliseconds) requestAnimationFrame(frame);
  else done({times: times.slice(1), rows: Math.round(box.scrollTop / 26)});
}
requestAnimationFrame(frame);
"""


def _metrics(driver: Any) -> dict[str, float]:
    """Chromium's figures of the page: octets, and seconds of its main thread."""
    driver.execute_cdp_cmd("Performance.enable", {})
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return {own["name"]: own["value"] for own in metrics}


def _heap(driver: Any) -> float:
    driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    return round(_metrics(driver)["JSHeapUsedSize"] / 2**20, 1)


# The controller

ONE = f"/v1/bridges/{1:016x}"
FIRST_VIEW = ("/v1/bridges", "/v1/topology", "/v1/events?since=1h&severity=info", "/v1/load")
Plan = tuple[tuple[float, tuple[str, ...]], ...]
HEADER = (10.0, ("/v1/problems",))
VIEWS: tuple[Plan, ...] = (
    (HEADER, (15.0, FIRST_VIEW)),
    (HEADER, (5.0, (ONE,)), (2.0, (f"{ONE}/ports?counters=true",))),
)
"""What a page asks for again and again: (seconds, paths), of its first view and of a switch's."""
ALIGNED = 10.0
"""Seconds, from which on all pages ask at the same time."""


class Tab:
    """A browser's connection: it has the last answer to each path, and takes a compressed one.

    Each browser has its own address, as one address may have few streams of events.
    """

    def __init__(self, port: int, browser: int) -> None:
        self._connection = _connected(port, browser)
        self._tags: dict[str, str] = {}

    def get(self, path: str) -> None:
        """Raises RuntimeError unless the status is 200 or 304."""
        headers = {"Accept-Encoding": "gzip", "Cache-Control": "max-age=1"}
        if path in self._tags:
            headers["If-None-Match"] = self._tags[path]
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status not in (200, 304):
            raise RuntimeError(f"GET {path}: {answer.status}")
        self._tags[path] = answer.getheader("ETag", "")


def be_pages(port: int, stop: Any, asked: Any) -> None:
    """A separate process: so many pages.  asked: number of their requests."""
    os.nice(NICE)
    plans = [VIEWS[number % len(VIEWS)] for number in range(PAGES)]
    threads = [
        threading.Thread(target=work, args=(port, browser, *rest))
        for browser, plan in enumerate(plans)
        for work, rest in ((_ask, (plan, stop, asked)), (_follow, (stop,)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def be_reader(port: int, stop: Any, asked: Any) -> None:
    """A separate process that reads all databases without a pause."""
    os.nice(NICE)
    api = Api(port)
    while not stop.is_set():
        for _ in api.pages("/v1/fdb", 1000):
            asked.value += 1
            if stop.is_set():
                return


def _connected(port: int, browser: int) -> http.client.HTTPConnection:
    here = (f"127.0.1.{browser + 1}", 0)
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=here)


def _ask(port: int, browser: int, plan: Plan, stop: Any, asked: Any) -> None:
    """As poll.js does: what is asked less often is asked by all pages at the same time."""
    tab, now = Tab(port, browser), time.time()
    due = [(now + random.random(), seconds, paths) for seconds, paths in plan]
    heapq.heapify(due)
    while not stop.wait(max(0.0, due[0][0] - time.time())):
        _, seconds, paths = due[0]
        for path in paths:
            tab.get(path)
            with asked.get_lock():
                asked.value += 1
        now = time.time()
        wait = seconds - now % seconds if seconds >= ALIGNED else seconds
        heapq.heapreplace(due, (now + wait, seconds, paths))


def _follow(port: int, browser: int, stop: Any) -> None:
    connection = _connected(port, browser)
    connection.request("GET", "/v1/events/stream?severity=info")
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"the stream of events was refused: {answer.read()!r}")
    while not stop.is_set():
        if select.select([connection.sock], [], [], 1)[0] and not answer.read1(65536):
            raise RuntimeError("the stream of events has ended")


@contextlib.contextmanager
def beside(controller: Running, works: Sequence[Callable[[int, Any, Any], None]]) -> Iterator[Any]:
    """Have each work go on in a process; yields the number of requests so far."""
    context = multiprocessing.get_context("fork")
    stop, asked = context.Event(), context.Value("L", 0)
    started = [
        context.Process(target=work, args=(controller.rest_port, stop, asked)) for work in works
    ]
    for process in started:
        process.start()
    try:
        yield asked
    finally:
        stop.set()
        for process in started:
            process.join(20)
            process.kill()


ROWS: dict[str, Sequence[Callable[[int, Any, Any], None]]] = {
    "without pages": (),
    f"with {PAGES} pages": (be_pages,),
    "and one who reads all databases": (be_pages, be_reader),
}


def latest_hello(fleet: Fleet) -> float:
    """Seconds, of ports that send any: a root port, and one that blocks, does not."""
    until = time.monotonic()
    return max(
        after - before - HELLO_TIME
        for member in fleet.members
        for times in member.hellos.values()
        if len(times) > 1
        for before, after in zip(times, [*times[1:], until], strict=True)
    )


@dataclass(frozen=True, slots=True)
class Turn:
    """rate: hosts learned a second; cpu: microseconds of the controller for a host.

    late: milliseconds of the latest hello; quiet: milliseconds of the controller in a second while
    nothing is learned, which `cpu` is without; asked: requests of the others in such a second.
    """

    rate: float
    cpu: float
    late: float
    quiet: float
    asked: float


def turn(fleet: Fleet, controller: Running, number: int, hosts: int, seconds: float) -> Turn:
    """Listen to the hellos for so long; then learn, age out and learn again for as long."""
    learner = fleet.add(Cabled(controller.port, LEARNER + number))
    fleet.run(60, lambda: learner.in_line is not None)
    fleet.run(SETTLE)
    with beside(controller, list(ROWS.values())[number % len(ROWS)]) as asked:
        fleet.run(2)
        for member in fleet.members:
            member.forget()
        before, begun, quiet = asked.value, time.monotonic(), controller.cpu_seconds()
        fleet.run(seconds)
        late, requests = latest_hello(fleet), asked.value - before
        quiet = (controller.cpu_seconds() - quiet) / (time.monotonic() - begun)
        learned, begun, cpu = 0, time.monotonic(), controller.cpu_seconds()
        while (taken := time.monotonic() - begun) < seconds:
            fleet.teach(hosts, 60, [learner])
            learned += hosts
            learner.send(learner.removals())
            fleet.run(60, lambda: not learner.unsent)
        cpu = controller.cpu_seconds() - cpu - quiet * taken
    fleet.dismiss(learner)
    return Turn(learned / taken, cpu / learned * 1e6, 1000 * late, 1000 * quiet, requests / seconds)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run page", description=__doc__)
    parser.add_argument("--switches", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=1000, help="of each switch")
    parser.add_argument("--learned", type=int, default=20_000, help="before they age out")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each part of a turn")
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    with running(peers()["ofapp"]) as controller, contextlib.closing(Fleet()) as fleet:
        members = [Cabled(controller.port, dpid + 1) for dpid in range(options.switches)]
        cable(members)
        for member in members:
            fleet.add(member)
        fleet.run(60, lambda: all(member.in_line is not None for member in members))
        known = grow(fleet, controller, options.hosts)
        print(f"{options.switches} switches, which know {known} hosts", flush=True)
        if not options.no_browser:
            with served(fleet):
                for name, value in in_browser(controller, options.switches).items():
                    print(f"- {name}: {value}", flush=True)
        turns = [
            turn(fleet, controller, number, options.learned, options.seconds)
            for number in range(len(ROWS) * options.turns)
        ]
        print("\n" + head("", "hosts/s", "µs a host", "hello late ms", "quiet ms/s", "requests/s"))
        for at, name in enumerate(ROWS):
            measured = map(astuple, turns[at :: len(ROWS)])
            print(row(name, *(spread(each, ".1f") for each in zip(*measured, strict=True))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
