"""What a stateful access list costs: the same bridge with lists and without, in alternating turns.

    tests/bench/run firewall [--turns 12] [--seconds 0.4]

The userspace datapath, two hosts, and the lists of the page *A transparent firewall*.  For each
figure of a turn the ports get their lists and lose them again, in changing order.  Measured are a
TCP stream, transactions of one connection, and connections opened and closed one after another.
Printed are ratios with / without, the median and between what it is known to be: of the rate, and
of the processor time of ovs-vswitchd for as much.  The latter bears a busy machine.
"""

from __future__ import annotations

import argparse
import socket
import time
from collections.abc import Callable
from contextlib import closing
from threading import Thread

from ofapp.bench.cpu import run_time
from tests.bench.bridges import PLAIN
from tests.bench.table import interval
from tests.mininet.test_firewall import ANSWERS, DPID, SERVICE, WEB, config, connection
from tests.support.controller import Controller
from tests.support.lab import Host
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.traffic import tcp_mbps
from tests.support.waiting import wait_for

Measure = Callable[[Host, Host, float], float]


def transactions(inner: Host, outer: Host, seconds: float) -> float:
    """Requests of one octet, each answered before the next, a second."""
    caller, callee = connection(outer, inner, inner.ip, SERVICE)
    with closing(caller), closing(callee):
        for end in (caller, callee):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def serve() -> None:
            while data := callee.recv(1):
                callee.sendall(data)

        thread = Thread(target=serve)
        thread.start()
        count, deadline = 0, time.monotonic() + seconds
        while time.monotonic() < deadline:
            caller.sendall(b"x")
            count += len(caller.recv(1))
        caller.shutdown(socket.SHUT_WR)
        thread.join()
    return count / seconds


def openings(inner: Host, outer: Host, seconds: float) -> float:
    """Connections that are opened, accepted and closed, a second."""
    listener = inner.open(lambda: socket.create_server((inner.ip, SERVICE), backlog=64))
    with closing(listener):
        count, deadline = 0, time.monotonic() + seconds
        while time.monotonic() < deadline:
            caller = outer.open(lambda: socket.create_connection((inner.ip, SERVICE), 5))
            callee, _ = listener.accept()
            for end in (caller, callee):  # without TIME_WAIT, which would use up the ports
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                end.close()
            count += 1
    return count / seconds


def stream(inner: Host, outer: Host, _seconds: float) -> float:
    """Mbit/s of one TCP stream from the inside, during a second."""
    return tcp_mbps(inner, outer)


MEASURES: dict[str, Measure] = {
    "one TCP stream": stream,
    "transactions of one connection": transactions,
    "new connections": openings,
}


def guard(controller: Controller, on: bool) -> None:
    """Give both ports their lists, or take them away."""
    for port, name in ((1, "lan"), (2, "wan")):
        path = f"/v1/bridges/{DPID:016x}/ports/{port}"
        reply = controller.api("PATCH", path, {"acl": name if on else None})
        assert reply.status == 200, reply


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.4)
    asked = parser.parse_args()
    found: dict[str, list[float]] = {}
    with closing(OwnSwitch(PLAIN, dpid=DPID)) as switch:
        switch.start()
        inner, outer = (switch.host(number) for number in (1, 2))
        for number, host in enumerate((inner, outer), 1):
            switch.add_port(host.plug, number)
        with closing(ControllerInside(switch.namespace, config(ANSWERS, WEB))) as controller:
            controller.start()
            controller.connect(switch.bridge)
            for turn in range(asked.turns):
                for name, measure in MEASURES.items():  # with and without, next to each other
                    rates, costs = {}, {}
                    for on in (turn % 2 == 0, turn % 2 == 1):
                        guard(controller, on)
                        wait_for(lambda: inner.reaches(outer.ip, 1), "frames to pass")
                        begun = run_time(switch.process)
                        rates[on] = measure(inner, outer, asked.seconds)
                        costs[on] = (run_time(switch.process) - begun) / rates[on]
                    for what, one in (("rate", rates), ("processor time", costs)):
                        found.setdefault(f"{name}, {what}", []).append(one[True] / one[False])
    for name, values in found.items():
        print(f"{name}: {interval(values, '.2f')} of {len(values)} turns")


if __name__ == "__main__":
    main()
