"""How long after its flow was deleted a port still forwards, and what the switch says meanwhile.

    python -m tests.bench.revalidation [--flows 100 3000 10000] [--busy 0 3] [--turns 40]

A host sends frames of many source addresses, each of which Open vSwitch caches by itself.  Then the
flow that they all pass is deleted.  Printed are, in milliseconds since then (median, nine of ten,
longest): the barrier's reply, the report that the flow is removed, the last frame, and how long
ofapp would have waited.  The first turn has flows that are new in the cache.
"""

from __future__ import annotations

import argparse
import contextlib
import select
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from multiprocessing import Event, Process, Value
from typing import Any

from ofapp.openflow.model.flow import Flow, Match, Output, in_port
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.switch.queue.revalidation import MOST, Revalidation
from ofapp.openflow.wire.messages import codec
from tests.bench.stp_traffic import ETHERTYPE, stamped_socket
from tests.support.lab import Lab, Switch, _in_namespace

HELLO, ECHO_REQUEST, ECHO_REPLY, SET_CONFIG, FLOW_REMOVED, BARRIER, REPLY = 0, 2, 3, 9, 11, 20, 21
HEADER = struct.Struct("!BBHI")
PORTS = (1, 2)
AT_ONCE, PAUSE = 10, 0.002
"""Frames sent together, and seconds between them."""
SETTLE = 0.5


class Connection:
    """A controller's connection to a switch, by its local socket."""

    def __init__(self, switch: Switch) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(f"/var/run/openvswitch/{switch.name}.mgmt")
        self._rest = b""
        self.send(HELLO)
        self.send(SET_CONFIG, struct.pack("!HH", 0, 128))  # have it report

    def send(self, type_: int, body: bytes = b"", xid: int = 1) -> None:
        self._socket.sendall(HEADER.pack(4, type_, 8 + len(body), xid) + body)

    def put(self, message: bytes) -> None:
        self._socket.sendall(message)

    def arrivals(self, types: Sequence[int], seconds: float = 5) -> dict[int, float]:
        """When the first message of each of these types came."""
        found: dict[int, float] = {}
        end = time.time() + seconds
        while not set(types) <= set(found) and time.time() < end:
            if not select.select([self._socket], [], [], 0.1)[0]:
                continue
            self._rest += self._socket.recv(1 << 16)
            now = time.time()
            while len(self._rest) >= 8:
                _, type_, length, xid = HEADER.unpack_from(self._rest)
                if len(self._rest) < length:
                    break
                if type_ == ECHO_REQUEST:
                    self.send(ECHO_REPLY, self._rest[8:length], xid)
                self._rest = self._rest[length:]
                found.setdefault(type_, now)
        return found


def _send(out: socket.socket, count: int, stop: Any) -> None:
    number = 0
    while not stop.is_set():
        for _ in range(AT_ONCE):
            source = b"\x02\x00" + (number % count).to_bytes(4, "big")
            with contextlib.suppress(OSError):
                out.send(b"\xff" * 6 + source + ETHERTYPE.to_bytes(2, "big") + bytes(46))
            number += 1
        time.sleep(PAUSE)


def _receive(source: socket.socket, last: Any, stop: Any) -> None:
    source.settimeout(0.2)
    while not stop.is_set():
        with contextlib.suppress(OSError):
            _, (stamp, *_), _, _ = source.recvmsg(128, 128)
            seconds, nanoseconds = struct.unpack("qq", stamp[2][:16])
            last.value = seconds + nanoseconds / 1e9


def _spin() -> None:
    while True:
        pass


def _sender() -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.bind(("eth0", 0))
    return made


@contextmanager
def _running(processes: list[Process]) -> Iterator[None]:
    try:
        for process in processes:
            process.start()
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def measure(count: int, busy: int, turns: int) -> list[tuple[float, float, float, float]]:
    """Seconds from the deletion to the reply, the report, the last frame, and the end of the wait.

    count: flows in the cache; busy: processes that only compute.
    """
    found = []
    with closing(Lab()) as lab, ExitStack() as ends:
        switch = lab.switch()
        one, other = (lab.host(switch) for _ in PORTS)
        out = ends.enter_context(_in_namespace(one.namespace, _sender))
        listen = partial(stamped_socket, "eth0", ETHERTYPE)
        into = ends.enter_context(_in_namespace(other.namespace, listen))
        stop, last = Event(), Value("d")
        connection = Connection(switch)
        port = Flow(TableId.ADMISSION, 100, (in_port(PORTS[0]),), 1, (), TableId.SOURCE)
        by_source = Flow(TableId.SOURCE, 2, (Match("eth_src", 0x06 << 40),), 1, ())
        forward = Flow(TableId.SOURCE, 1, (), 1, (Output(PORTS[1]),))
        connection.put(codec.add_flow(by_source) + codec.add_flow(forward))
        traffic = [Process(target=_send, args=(out, count, stop))]
        traffic.append(Process(target=_receive, args=(into, last, stop)))
        ends.enter_context(_running(traffic + [Process(target=_spin) for _ in range(busy)]))
        for _ in range(turns):
            connection.put(codec.add_flow(port))
            time.sleep(max(SETTLE, 1.5 * count * PAUSE / AT_ONCE))
            sent = time.time()
            connection.put(codec.delete_flow(port))
            connection.send(BARRIER)
            came = connection.arrivals((REPLY, FLOW_REMOVED))
            reply, report = came[REPLY], came.get(FLOW_REMOVED, came[REPLY] + MOST)
            time.sleep(SETTLE)
            over = report + Revalidation(sent, reply).rest(report)
            found.append((reply - sent, report - sent, last.value - sent, over - sent))
    return found


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(1000 * value for value in seconds)
    chosen = (ordered[len(ordered) // 2], ordered[len(ordered) * 9 // 10], ordered[-1])
    return " / ".join(f"{value:.1f}" for value in chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, nargs="+", default=[100, 3000, 10000])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 3])
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args()
    print("| flows | busy | reply | report | last frame | waited | too early | reply alone |")
    print("|---|---|---|---|---|---|---|---|")
    for count in options.flows:
        for busy in options.busy:
            turns = measure(count, busy, options.turns)
            early = sum(last > over for *_, last, over in turns)
            alone = sum(last > reply for reply, _, last, _ in turns)
            columns = " | ".join(map(_spread, zip(*turns, strict=True)))
            print(f"| {count} | {busy} | {columns} | {early} of {len(turns)} | {alone} |")


if __name__ == "__main__":
    main()
