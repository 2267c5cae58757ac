"""Many hosts that age out together, on Open vSwitch: how late the switch's hellos get.

    tests/bench/run ageing                                   as root; some minutes
    tests/bench/run ageing --hosts 128000 --ageing-time 60

A bridge under ofapp on a separate ovs-vswitchd (netdev) learns so many hosts behind one port;
then all are silent, and its clock is put forward to just before the first ages out.  A listener
behind another port notes when BPDUs come, which leave by the same thread that takes flows out.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ofapp.bench.frames import MIN_SIZE, Flow, Side, frame, mac
from ofapp.bench.sender import Sender
from ofapp.bench.spaces import inside
from tests.support.ownswitch import DPID, ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

KNOWN = 0.99
"""The share of the hosts that must be known; the last ones are a matter of frames that are lost."""
EARLY = 5.0
"""Seconds before the first of them ages out, to which the clock is put."""
HELLO = 2.0
PATIENCE = 600.0
"""Seconds in which they have to be known, and then forgotten."""
_BPDU = bytes.fromhex("0180c2000000")
_ALL = socket.htons(3)


class Warped(OwnSwitch):
    """Whose clock can be put forward."""

    def _spawn(self, program: str, *args: str):
        more = ("--enable-dummy",) if program == "./ovs-vswitchd" else ()
        return super()._spawn(program, *more, *args)

    def main_seconds(self) -> float:
        """CPU time of the thread that speaks OpenFlow."""
        assert self._switch is not None
        pid = int((self.dir / "ovs-vswitchd.pid").read_text())
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


class Hellos(threading.Thread):
    """When BPDUs came."""

    def __init__(self, namespace: str) -> None:
        super().__init__(daemon=True)
        self.times: list[float] = []
        self.over = False
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, _ALL)
            self._socket.bind(("eth0", 0))
        self._socket.settimeout(0.2)

    def run(self) -> None:
        """Until it is over."""
        while not self.over:
            with suppress(TimeoutError):
                data = self._socket.recv(128)
                if data[:6] == _BPDU:
                    self.times.append(time.monotonic())
        self._socket.close()


@dataclass(frozen=True)
class Aged:
    """Of one size; seconds."""

    hosts: int
    taught: float
    forgotten: float
    gap: float
    gap_before: float
    cpu: float
    connections: int


def measure(hosts: int, rate: int, ageing_time: int, warp: bool) -> Aged:
    """One switch, once."""
    settings = ("other_config:flow-limit=400000",)
    switch = Warped(Path("/usr/sbin/ovs-vswitchd"), *settings)
    with closing(switch):
        switch.start()
        with closing(ControllerInside(switch.namespace)) as controller:
            controller.configure(
                f"defaults: {{fdb_max_learned: 400000, ageing_time: {ageing_time}, "
                "stp: {enabled: true}}\n"
                f"bridges: {{'{DPID:016x}': {{ports: {{'*': {{stp: {{admin_edge: true}}}}}}}}}}"
            )
            controller.start()
            first, second = switch.host(1), switch.host(2)
            for number, host in enumerate((first, second), 1):
                switch.add_port(host.plug, number)
            controller.connect(switch.bridge)
            path = f"/v1/bridges/{DPID:016x}"

            def known() -> int:
                return int(controller.api("GET", path, timeout=60).body["fdb"]["learned"])

            def connections() -> int:
                reply = controller.api("GET", "/v1/events", timeout=60)
                return sum(e["kind"] == "bridge.connected" for e in reply.body["events"])

            listener = Hellos(second.namespace)
            listener.start()
            sender = Sender(first.namespace, "eth0")
            to = mac(Side.TX, 1)
            sender.load([frame(Flow(to, mac(Side.RX, n), Side.RX), MIN_SIZE) for n in range(hosts)])
            began = time.monotonic()
            while known() < KNOWN * hosts:
                if time.monotonic() - began > PATIENCE:
                    raise RuntimeError(f"{known():,} of {hosts:,} hosts were learned")
                sender.paced(rate, rate)
            taught = time.monotonic() - began
            sender.close()
            time.sleep(6)  # counters are taken in, and the controller's looks are over
            before, there = time.monotonic(), known()
            if warp:
                passed = ageing_time - EARLY - (before - began)
                switch.appctl("time/warp", str(int(passed * 1000)))
            cpu = switch.main_seconds()
            wait_for(lambda: known() < 0.01 * there, "hosts to age out", seconds=PATIENCE)
            forgotten = time.monotonic() - before
            cpu = switch.main_seconds() - cpu
            time.sleep(2 * HELLO)
            listener.over = True
            listener.join()
            gaps = [(b, b - a) for a, b in pairwise(listener.times)]
            return Aged(
                there,
                taught,
                forgotten,
                max(gap for at, gap in gaps if at > before),
                max(gap for at, gap in gaps if at <= before),
                cpu,
                connections(),
            )


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run ageing", description=__doc__)
    parser.add_argument("--hosts", default="128000,198000,325000", metavar="COUNTS")
    parser.add_argument("--rate", type=int, default=20_000, help="frames a second that teach")
    parser.add_argument("--ageing-time", type=int, default=300, metavar="SECONDS")
    parser.add_argument("--no-warp", action="store_true", help="wait for them to age out")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} at the start\n")
    print(
        "| hosts | learned in s | forgotten in s | hello gap s (before) | main thread's CPU s "
        "| connections |\n|---|---|---|---|---|---|"
    )
    for count in map(int, options.hosts.split(",")):
        aged = measure(count, options.rate, options.ageing_time, not options.no_warp)
        cells = (f"{aged.hosts:,}", f"{aged.taught:.1f}", f"{aged.forgotten:.1f}")
        gap = f"{aged.gap:.2f} ({aged.gap_before:.2f})"
        print(f"| {' | '.join(cells)} | {gap} | {aged.cpu:.1f} | {aged.connections} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
