"""The page beside a hundred switches with a thousand hosts each, and what twenty of them cost.

In a headless Chromium: how long until the map can be used, how much memory it takes, and how long
frames take while the list of all hosts is scrolled.  Then the controller alone: the rate at which a
switch is learned, and how late hellos are, by turns without pages and with twenty (each follows the
stream of events and asks again and again, as the page does) while a client reads all databases.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import statistics
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.bench import openflow as of
from tests.bench.controllers import Running, peers, running
from tests.bench.fleet import HELLO_TIME, Fleet, Member
from tests.bench.meanwhile import meanwhile
from tests.bench.rest import Api

HOST_PORTS = 3
UPLINK, FIRST_DOWN, ACROSS = 8, 5, 4
BPDU_COOKIE = 0x0600
SETTLE = 8.0
LEARNER = 0xABC000
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

    A topology change flushes what was learned before it.
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
    fleet.teach(hosts, 120)
    with served(fleet):
        return sum(own["fdb"]["learned"] for own in api.get("/v1/bridges")[1]["bridges"])


# In a browser


def in_browser(controller: Running, switches: int) -> dict[str, Any]:
    """Milliseconds, and mebibytes."""
    from tests.page.browser import browser

    with browser(f"http://127.0.0.1:{controller.rest_port}/") as window:
        driver = window.driver
        found: dict[str, Any] = {}
        for turn in ("cold", "warm"):
            driver.get("about:blank")
            window.open("#/map")
            ready = f"return document.querySelectorAll('.panel .row').length >= {switches}"
            deadline = time.monotonic() + 60
            while not window.js(ready) and time.monotonic() < deadline:
                time.sleep(0.02)
            found[f"map usable, {turn} (ms)"] = window.js("return Math.round(performance.now())")
        found["map memory (MiB)"] = _heap(driver)
        window.open("#/hosts")
        window.reads("and more shown")
        frames = driver.execute_async_script(_SCROLL, 6000)
        times = sorted(frames["times"])
        found["rows scrolled"] = frames["rows"]
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            found[f"frame {name} (ms)"] = round(times[int(share * (len(times) - 1))], 1)
        found["frame longest (ms)"] = round(times[-1], 1)
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


def _heap(driver: Any) -> float:
    driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    driver.execute_cdp_cmd("Performance.enable", {})
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    used = next(own["value"] for own in metrics if own["name"] == "JSHeapUsedSize")
    return round(used / 2**20, 1)


# The controller


def be_pages(port: int, stop: Any) -> None:
    """A separate process: so many pages, and one who reads all databases."""
    os.nice(NICE)
    asks = [(15.0, ("/v1/bridges", "/v1/topology"))] * (PAGES // 2)
    dpid = f"{1:016x}"
    ports = (2.0, (f"/v1/bridges/{dpid}/ports?counters=true",))
    asks += [ports] * (PAGES - len(asks))
    threads = [threading.Thread(target=_ask, args=(port, *ask, stop)) for ask in asks]
    threads += [threading.Thread(target=_follow, args=(port, stop)) for _ in asks]
    threads.append(threading.Thread(target=_read_all, args=(port, stop)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _ask(port: int, seconds: float, paths: tuple[str, ...], stop: Any) -> None:
    api = Api(port)
    while not stop.is_set():
        for path in paths:
            api.get(path)
        stop.wait(seconds)


def _follow(port: int, stop: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    connection.request("GET", "/v1/events/stream?severity=info")
    answer = connection.getresponse()
    while not stop.is_set():
        with contextlib.suppress(TimeoutError, OSError):
            answer.read1(65536)


def _read_all(port: int, stop: Any) -> None:
    api = Api(port)
    while not stop.is_set():
        for _ in api.pages("/v1/fdb", 1000):
            if stop.is_set():
                return


@contextlib.contextmanager
def pages(controller: Running) -> Iterator[None]:
    """Twenty of them."""
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    process = context.Process(target=be_pages, args=(controller.rest_port, stop))
    process.start()
    try:
        yield
    finally:
        stop.set()
        process.join(20)
        process.kill()


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


def turn(fleet: Fleet, controller: Running, number: int, hosts: int, seconds: float) -> list[float]:
    """[hosts learned a second, the latest hello in milliseconds, CPU in microseconds a host]."""
    learner = fleet.add(Cabled(controller.port, LEARNER + number))
    fleet.run(20, lambda: learner.in_line is not None)
    fleet.run(SETTLE)
    for member in fleet.members:
        member.forget()
    begun = time.monotonic()
    cpu = controller.cpu_seconds()
    fleet.teach(hosts, 60, [learner])
    rate = hosts / (time.monotonic() - begun)
    cpu = (controller.cpu_seconds() - cpu) / hosts * 1e6
    fleet.run(seconds)
    late = latest_hello(fleet)
    fleet.dismiss(learner)
    return [rate, 1000 * late, cpu]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run page", description=__doc__)
    parser.add_argument("--switches", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=1000, help="of each switch")
    parser.add_argument("--learned", type=int, default=20_000, help="in a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="that hellos are watched")
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
        rows: dict[str, list[list[float]]] = {"without pages": [], f"with {PAGES} pages": []}
        for number in range(2 * options.turns):
            name = [*rows][number % 2]
            with pages(controller) if number % 2 else contextlib.nullcontext():
                found = turn(fleet, controller, number, options.learned, options.seconds)
            rows[name].append(found)
        print("\n| | hosts/s | latest hello (ms) | CPU of a host (µs) |\n|---|---|---|---|")
        for name, turns in rows.items():
            cells = [
                f"{statistics.median(values):.0f} ({min(values):.0f}-{max(values):.0f})"
                for values in zip(*turns, strict=True)
            ]
            print(f"| {name} | {' | '.join(cells)} |")
        print(json.dumps(rows), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
