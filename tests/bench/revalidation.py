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
import itertools
import select
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing

from ofapp.bench.figures import percentile
from ofapp.openflow.model.flow import Flow, Match, Output, in_port
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.switch.queue.revalidation import MOST, Revalidation
from ofapp.openflow.wire.messages import codec
from tests.bench.meanwhile import beside
from tests.bench.table import head, row
from tests.support.lab import ETHERTYPE, Lab, Switch
from tests.support.stamped import stamped_socket, waiting

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


def _send(out: socket.socket, count: int) -> None:
    for number in itertools.count():
        source = b"\x02\x00" + (number % count).to_bytes(4, "big")
        with contextlib.suppress(OSError):
            out.send(b"\xff" * 6 + source + ETHERTYPE.to_bytes(2, "big") + bytes(46))
        if not number % AT_ONCE:
            time.sleep(PAUSE)


def _spin() -> None:
    while True:
        pass


def _sender() -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.bind(("eth0", 0))
    return made


def measure(count: int, busy: int, turns: int) -> list[tuple[float, float, float, float]]:
    """Seconds from the deletion to the reply, the report, the last frame, and the end of the wait.

    count: flows in the cache; busy: processes that only compute.
    """
    found = []
    with closing(Lab()) as lab, ExitStack() as ends:
        switch = lab.switch()
        one, other = (lab.host(switch) for _ in PORTS)
        out = ends.enter_context(one.open(_sender))
        into = ends.enter_context(other.open(lambda: stamped_socket("eth0", ETHERTYPE)))
        connection = Connection(switch)
        port = Flow(TableId.ADMISSION, 100, (in_port(PORTS[0]),), 1, (), TableId.SOURCE)
        by_source = Flow(TableId.SOURCE, 2, (Match("eth_src", 0x06 << 40),), 1, ())
        forward = Flow(TableId.SOURCE, 1, (), 1, (Output(PORTS[1]),))
        connection.put(codec.add_flow(by_source) + codec.add_flow(forward))
        ends.enter_context(beside(lambda: _send(out, count)))
        for _ in range(busy):
            ends.enter_context(beside(_spin))
        for _ in range(turns):
            connection.put(codec.add_flow(port))
            time.sleep(max(SETTLE, 1.5 * count * PAUSE / AT_ONCE))
            while any(waiting(into)):
                pass
            sent = time.time()
            connection.put(codec.delete_flow(port))
            connection.send(BARRIER)
            came = connection.arrivals((REPLY, FLOW_REMOVED))
            reply, report = came[REPLY], came.get(FLOW_REMOVED, came[REPLY] + MOST)
            time.sleep(SETTLE)
            over = report + Revalidation(sent, reply).rest(report)
            last = sent
            while arrived := [when for when, _ in waiting(into)]:
                last = arrived[-1]
            found.append((reply - sent, report - sent, last - sent, over - sent))
    return found


def _three(seconds: Sequence[float]) -> str:
    return " / ".join(f"{1000 * percentile(seconds, at):.1f}" for at in (0.5, 0.9, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, nargs="+", default=[100, 3000, 10000])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 3])
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args()
    times = ("reply", "report", "last frame", "waited")
    print(head("flows", "busy", *times, "too early", "reply alone"))
    for count in options.flows:
        for busy in options.busy:
            turns = measure(count, busy, options.turns)
            early = sum(last > over for *_, last, over in turns)
            alone = sum(last > reply for reply, _, last, _ in turns)
            cells = map(_three, zip(*turns, strict=True))
            print(row(count, busy, *cells, f"{early} of {len(turns)}", alone))


if __name__ == "__main__":
    main()
