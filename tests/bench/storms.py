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
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.bench import openflow as of
from tests.bench.controllers import HERE, Peer, Running, emulator_core, peers, running
from tests.bench.fleet import Fleet, Member
from tests.bench.measure import percentile
from tests.bench.rest import Api

CONFIG = HERE / "storms.yaml"
GOOD = 20
"""Good switches beside a hostile one."""
_LEARNED_XID = 0x0FA90000


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
def _served(count: int, ports: int = 8) -> Iterator[tuple[Running, Fleet]]:
    """A fresh controller and so many switches that are in line with it."""
    with running(_controller()) as controller, emulator_core():
        fleet = Fleet()
        try:
            for number in range(1, count + 1):
                fleet.add(Member(controller.port, number, ports))
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


def _told(api: Api) -> str:
    """The events of note, by kind."""
    _, reply, _ = api.get("/v1/events")
    counts = Counter(
        event["kind"] for event in reply["events"] if event["kind"].startswith("openflow.")
    )
    return ", ".join(f"{kind} {count}" for kind, count in counts.items())


def rest(switches: int, seconds: float) -> Row:
    """Nothing happens: what there is to compare with."""
    with _served(switches) as (controller, fleet):
        _watch(fleet, 3)
        watch = Watch(fleet, controller)
        fleet.run(seconds)
        return watch.row(f"{switches} switches at rest")


def ageing(switches: int, hosts: int) -> Row:
    """All hosts of all switches age out at once."""
    with _served(switches) as (controller, fleet):
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


# Hostile switches


class Hostile(Member):
    """A switch that shakes hands like any other, and then never stops."""

    endless = b""
    """The body of a part of an answer that it repeats for ever, once asked for `endless_kind`."""
    endless_kind = -1

    def answer(self, raw: bytes) -> bytes:
        """As any switch; but where an answer without end begins it does not end."""
        kind = int.from_bytes(raw[8:10], "big")
        if raw[1] == of.MULTIPART_REQUEST and kind == self.endless_kind:
            head = struct.pack("!HH4x", kind, 1)
            xid = int.from_bytes(raw[4:8], "big")
            part = of.message(of.MULTIPART_REPLY, xid, head + self.endless)
            self.spam = lambda: part * 4
            return b""
        return super().answer(raw)


def _port_status(reason: int, number: int, down: bool = False) -> bytes:
    desc = bytearray(of.port_desc(number))
    if down:
        desc[39] = 1  # state: OFPPS_LINK_DOWN
    return of.message(of.PORT_STATUS, 0, struct.pack("!B7x", reason) + bytes(desc))


def _ports(_switch: Hostile) -> Callable[[], bytes]:
    numbers = iter(range(100, 1 << 31))
    return lambda: b"".join(_port_status(0, next(numbers)) for _ in range(500))


def _flaps(_switch: Hostile) -> Callable[[], bytes]:
    both = [_port_status(2, 1 + i % 8, down) for i in range(8) for down in (True, False)]
    return lambda: b"".join(both) * 40


def _errors(_switch: Hostile) -> Callable[[], bytes]:
    body = struct.pack("!HH", 5, 1) + bytes(64)
    mixed = of.message(of.ERROR, _LEARNED_XID, body) + of.message(of.ERROR, 0x12345, body)
    return lambda: mixed * 300


def _removed(_switch: Hostile) -> Callable[[], bytes]:
    fields = of.match(of.oxm(0, bytes(4)), of.oxm(4, bytes(6)))
    head = struct.pack("!QHBBIIHHQQ", 0x0FA9800100000001, 200, 0, 40, 1, 0, 300, 0, 1, 1)
    return lambda: of.message(of.FLOW_REMOVED, 0, head + fields) * 500


def _sightings(switch: Hostile) -> Callable[[], bytes]:
    numbers = iter(range(0, 1 << 31, 500))
    return lambda: switch.sightings(next(numbers), 500)


def _bpdus(switch: Hostile) -> Callable[[], bytes]:
    flow = next(flow for flow in switch.flows() if flow.cookie >> 32 & 0xFF00 == 0x0600)
    head = b"\x01\x80\xc2\0\0\0\x0e\x66\0\0\0\1\0\x27\x42\x42\x03\0\0\x02\x02"

    def part() -> bytes:
        made = []
        for i in range(300):
            root = struct.pack("!H6s", 0x1000 + (i & 15) * 0x1000 & 0xF000, b"\x0e\x66\0\0\0\1")
            rest = struct.pack("!I8sHHHHHB", 0, root, 0x8001, 0, 20 << 8, 2 << 8, 15 << 8, 0)
            frame = head + bytes([0x3C | i & 1]) + root + rest
            fields = of.match(of.oxm(0, struct.pack("!I", 1 + i % 8)))
            made.append(of.packet_in(flow.cookie, 0, of.ACTION, fields, frame.ljust(60, b"\0")))
        return b"".join(made)

    return part


def _echo_requests(_switch: Hostile) -> Callable[[], bytes]:
    return lambda: of.message(of.ECHO_REQUEST, 7, bytes(56)) * 500


def _unasked(_switch: Hostile) -> Callable[[], bytes]:
    part = of.message(of.MULTIPART_REPLY, 99, struct.pack("!HH4x", of.MP_FLOW, 1) + _flow_stats())
    return lambda: part * 4


def _flow_stats() -> bytes:
    entry = struct.pack("!HBxIIHHHH4xQQQ", 56, 40, 1, 0, 200, 0, 0, 0, 0x0FA9800100000001, 1, 1)
    return (entry + of.match()) * 1000


KINDS: dict[str, Callable[[Hostile], Callable[[], bytes]]] = {
    "ports": _ports,
    "flaps": _flaps,
    "errors": _errors,
    "removed": _removed,
    "sightings": _sightings,
    "bpdus": _bpdus,
    "echoes": _echo_requests,
    "unasked": _unasked,
}
ENDLESS = {
    "flow-replies": (of.MP_FLOW, _flow_stats()),
    "port-replies": (of.MP_PORT_DESC, b"".join(of.port_desc(n) for n in range(200, 1200))),
}


def _be_hostile(port: int, kind: str, start: float, seconds: float) -> None:
    """A process of its own."""
    gc.disable()
    if kind in ENDLESS:
        time.sleep(max(0.0, start - time.monotonic()))
        while time.monotonic() < start + seconds:
            _answer_without_end(port, kind, start + seconds - time.monotonic())
        return
    fleet = Fleet()
    switch = Hostile(port, 0xBAD)
    fleet.add(switch)
    fleet.run(max(0.0, start - time.monotonic()))
    switch.spam = KINDS[kind](switch)
    fleet.run(seconds)
    fleet.close()


def _answer_without_end(port: int, kind: str, seconds: float) -> None:
    """Until it is hung up on."""
    fleet = Fleet()
    switch = Hostile(port, 0xBAD)
    switch.endless_kind, switch.endless = ENDLESS[kind]
    fleet.add(switch)
    fleet.run(seconds, lambda: switch.closed)
    fleet.close()


def hostile(kind: str, seconds: float) -> Row:
    """One switch that never stops beside good ones."""
    with _served(GOOD) as (controller, fleet):
        start = time.monotonic() + 4
        process = multiprocessing.get_context("fork").Process(
            target=_be_hostile, args=(controller.port, kind, start, seconds)
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
        told = _asked(fleet, controller, _told)
        lost = sum(member.closed for member in fleet.members)
        gone = f"{lost} of the good ones disconnected; " if lost else ""
        return replace(row, note=gone + ("the API does not answer" if told is None else told))


# The table


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f}"


def table(rows: list[Row]) -> Iterator[str]:
    """Markdown."""
    yield "| storm | s | CPU s | echo p50 / p99 / max ms | hello late p99 / max ms | MiB | |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        echo = "-"
        if row.echoes:
            echo = " / ".join(_ms(percentile(row.echoes, at)) for at in (50, 99, 100))
        hello = " / ".join(_ms(percentile(row.hellos, at)) for at in (99, 100))
        spent, memory = f"{row.seconds:.1f} | {row.cpu:.1f}", row.memory / 2**20
        yield f"| {row.name} | {spent} | {echo} | {hello} | {memory:.0f} | {row.note} |"


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
        for line in list(table(rows[-1:]))[0 if not number else 2 :]:
            print(line, flush=True)


if __name__ == "__main__":
    main()
