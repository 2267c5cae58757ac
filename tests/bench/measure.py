"""What is measured.  Each function starts a fresh controller and returns plain numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from ofapp.bench.figures import percentile
from ofapp.bench.processes import wait_until
from tests.bench.controllers import Peer, Running, emulator_core, running
from tests.bench.meanwhile import meanwhile
from tests.bench.rest import Api, sampling
from tests.bench.switch import Switch
from tests.bench.traffic import Traffic, mac

WINDOW = 4_000
SATURATED = 0.9


@contextmanager
def _connected(controller: Running) -> Iterator[Traffic]:
    with emulator_core():
        switch = Switch(controller.port)
        try:
            yield Traffic(switch)
        finally:
            switch.close()


def channel(peer: Peer, hosts: int, probes: int, seconds: float) -> dict[str, Any]:
    """Throughput and latency of one fresh controller.

    First `probes` hosts one at a time, then `hosts` with WINDOW unanswered, for at most `seconds`.
    Rates are per second of wall time; `cpu_us` is the controller's CPU time for one host, which
    other work on the machine disturbs less.
    """
    with running(peer) as controller, _connected(controller) as traffic:
        flows = traffic.introduce()
        latency = traffic.teach(probes, window=1, seconds=seconds, spin=True)
        cpu, wall = controller.cpu_seconds(), time.monotonic()
        taught = traffic.teach(hosts, window=WINDOW, seconds=seconds)
        cpu, wall = controller.cpu_seconds() - cpu, time.monotonic() - wall
        held = traffic.switch.hosts_held()  # read from the flow-mods again, not by the hot loop
        missing = sum(host not in held for host in traffic.recent(taught.sent))
    return {
        "flows_a_host": flows,
        "hosts": taught.learned,
        "unanswered": taught.sent - taught.learned,
        "missing": missing,
        "incomplete": taught.sent - taught.complete,
        "rate": taught.learned / taught.seconds,
        "rate_complete": taught.complete / taught.seconds_complete if taught.complete else 0.0,
        "cpu_us": cpu / max(1, taught.learned) * 1e6,
        "controller_busy": cpu / wall,
        "generator_busy": taught.generator_busy,
        "generator_limited": taught.generator_busy > SATURATED and cpu / wall < SATURATED,
        "p50_us": percentile(latency.delays, 0.5) * 1e6,
        "p99_us": percentile(latency.delays, 0.99) * 1e6,
        "complete_p50_us": percentile(latency.delays_complete, 0.5) * 1e6,
        "complete_p99_us": percentile(latency.delays_complete, 0.99) * 1e6,
    }


@contextmanager
def _attended(switch: Switch) -> Iterator[None]:
    """Answer the controller in a thread (echo requests, statistics) while the body does others."""

    def attend(over: Callable[[], bool]) -> None:
        while not over():
            switch.run(time.monotonic() + 0.1)

    switch.idle()
    with meanwhile(attend):
        yield


def _settled_memory(controller: Running) -> int:
    """Resident bytes once they have stopped changing."""
    seen = [controller.resident()]

    def still() -> bool:
        time.sleep(0.2)
        seen.append(controller.resident())
        return len(seen) > 4 and max(seen[-4:]) - min(seen[-4:]) < 256 * 1024

    wait_until(still, 5)
    return seen[-1]


def table(peer: Peer, hosts: int, queries: int, sweep: bool, page: int = 1000) -> dict[str, Any]:
    """Memory a learned host and the REST API's answer times with `hosts` of them, ports 1 to 8.

    Memory is the growth of the resident set from a controller that has shaken hands and learned
    some thousand hosts (code and buffers are in use by then) to one that has learned them all;
    with `sweep`, once more after the controller has read every flow's statistics, with
    counters that have moved, because times and counters take memory too.
    """
    with running(peer) as controller, _connected(controller) as traffic:
        traffic.introduce()
        traffic.teach(2_000, window=WINDOW, seconds=60)
        with _attended(traffic.switch):
            before = _settled_memory(controller)
        taught = traffic.teach(hosts - traffic.hosts_sent, window=WINDOW, seconds=120)
        with _attended(traffic.switch):
            after = _settled_memory(controller)
            result = {
                "hosts": traffic.hosts_sent - taught.sent + taught.learned,
                "before_mib": before / 2**20,
                "after_mib": after / 2**20,
                "bytes_a_host": (after - before) / max(1, taught.learned),
                **_queries(controller, queries, page, mac(hosts // 2)),
            }
            result["after_queries_mib"] = controller.resident() / 2**20
            if sweep:
                result["swept_bytes_a_host"] = None
                begun = traffic.switch.sweeps
                # A sweep may ask table by table: five requests hold at least one whole sweep.
                if wait_until(lambda: traffic.switch.sweeps >= begun + 5, 150):
                    swept = _settled_memory(controller)
                    result["swept_bytes_a_host"] = (swept - before) / max(1, taught.learned)
    return result


def _queries(controller: Running, repeats: int, page: int, address: str) -> dict[str, Any]:
    api = Api(controller.rest_port)
    path = "/v1/bridges/0000000000000001/fdb"
    shapes = {
        "mac": f"{path}?mac={address}",
        "port": f"{path}?port=3&limit=100",
        "vlan": f"{path}?vlan=0&limit=100",
        "absent_mac": f"{path}?mac=0e:ee:ee:ee:ee:ee",
        "page": f"{path}?limit={page}",
        "all_bridges_mac": f"/v1/fdb?mac={address}",
        "bridge": "/v1/bridges/0000000000000001",
    }
    result: dict[str, Any] = {"ms": {}, "ms_p99": {}, "failed": {}}
    for name, url in shapes.items():
        try:
            times = [api.get(url)[0] * 1e3 for _ in range(repeats)]
        except (RuntimeError, OSError) as error:
            result["failed"][name] = str(error)
            continue
        result["ms"][name] = median(times)
        result["ms_p99"][name] = percentile(times, 0.99)
    try:
        pages = list(api.pages(path, page))
        result["walk"] = {
            "seconds": sum(seconds for seconds, _, _ in pages),
            "pages": len(pages),
            "entries": sum(len(found) for _, found, _ in pages),
            "slowest_ms": max(seconds for seconds, _, _ in pages) * 1e3,
            "bytes": sum(size for _, _, size in pages),
        }
    except (RuntimeError, OSError) as error:
        result["failed"]["walk"] = str(error)
    api.close()
    return result


def flood(peer: Peer, cap: int, seconds: float) -> dict[str, Any]:
    """The REST API and the control channel while one port's host floods new MACs above the cap.

    Three times: no flood; at the rate that the controller's own meter lets through (what a switch
    with meters sends); and flat out, as fast as TCP takes it, which is what a switch without
    meters could do at worst.  Echo requests share the connection with the packet-ins, so flat out
    they also wait in the socket buffers.
    """
    path = "/v1/bridges/0000000000000001"
    result: dict[str, Any] = {}
    with running(peer) as controller, _connected(controller) as traffic:
        traffic.introduce()
        filled = traffic.teach(cap - traffic.hosts_sent, window=WINDOW, seconds=10)
        traffic.switch.flows()  # so that statistics are answered promptly meanwhile
        result["filled"] = traffic.hosts_sent - filled.sent + filled.learned
        rate = traffic.switch.meter_rate(1)
        result["meter_rate"] = rate
        for name, pace in (("quiet", 1.0), ("metered", rate), ("flat_out", 0.0)):
            if pace is None:
                continue
            cpu, wall = controller.cpu_seconds(), time.monotonic()
            with sampling(controller.rest_port, path) as sampler:
                sent, trips = traffic.flood(seconds, pace)
            cpu, wall = controller.cpu_seconds() - cpu, time.monotonic() - wall
            result[name] = {
                "packet_ins_a_second": sent / seconds,
                "cpu_us": cpu / max(1, sent) * 1e6,
                "rest_answers": len(sampler.seconds),
                "rest_failures": sampler.failures,
                "rest_p50_ms": percentile(sampler.seconds, 0.5) * 1e3,
                "rest_p99_ms": percentile(sampler.seconds, 0.99) * 1e3,
                "rest_max_ms": max(sampler.seconds, default=float("nan")) * 1e3,
                "echo_p50_ms": percentile(trips, 0.5) * 1e3,
                "echo_p99_ms": percentile(trips, 0.99) * 1e3,
            }
    return result
