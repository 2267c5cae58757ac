"""What a frame costs in Open vSwitch's userspace datapath, under ofapp and with NORMAL.

No NIC, no kernel and no generator: DPDK's pcap driver gives the same frames over and over from
memory, and drops what it is given to send.  So nothing but the datapath's own look-ups and actions
is measured, in frames and in processor cycles.  Two bridges of one ovs-vswitchd take turns; the
ports of the other one are down.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ofapp.bench.figures import Summary, summary
from ofapp.bench.frames import MIN_SIZE, Flow, Side, frame, mac
from tests.bench.bridges import DPDK
from tests.guest.debs import unpacked
from tests.guest.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.guest.test_dpdk import PROGRAM
from tests.vswitchd.waiting import wait_for

PAIRS = (1, 100, 1_000, 10_000)
SETTLE_SECONDS = 0.2
DPID = 0xCA9
_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
_RECEIVED = re.compile(r"Rx packets:\s+(\d+)\s+\((\d+) Kpps, (\d+) cycles/pkt\)")
_MISSES = re.compile(r"Upcalls:\s+(\d+)")


@dataclass(frozen=True)
class Sample:
    """One turn: frames a second, cycles a frame, and frames that no flow was there for."""

    rate: float
    cycles: float
    misses: int


class Contender:
    """A bridge with two ports; frames go both ways between as many pairs of hosts."""

    def __init__(self, switch: OwnSwitch, name: str, pairs: int) -> None:
        self.name = name
        self._switch = switch
        self.ports = [f"{name}{side.name.lower()}" for side in Side]
        hosts = [(mac(Side.TX, host), mac(Side.RX, host)) for host in range(pairs)]
        switch.vsctl(
            *("add-br", name, "--", "set", "Bridge", name, "datapath_type=netdev"),
            *("protocols=OpenFlow13", f"other_config:mac-table-size={4 * pairs + 8192}"),
        )
        for number, (side, port) in enumerate(zip(Side, self.ports, strict=True), 1):
            file = switch.dir / f"{port}.pcap"
            ends = hosts if side is Side.TX else [pair[::-1] for pair in hosts]
            write_pcap(file, [frame(Flow(there, here, side), MIN_SIZE) for here, there in ends])
            device = f"net_pcap{port},rx_pcap={file},infinite_rx=1"
            switch.vsctl(
                *("add-port", name, port, "--", "set", "Interface", port, "type=dpdk"),
                *(f"ofport_request={number}", f'options:dpdk-devargs="{device}"'),
            )
            error = switch.vsctl("get", "Interface", port, "error").strip()
            assert error == "[]", f"{port}: {error}"
        self._set("down")

    def run(self, seconds: float) -> Sample:
        """Let frames flow."""
        with self.running():
            time.sleep(SETTLE_SECONDS)
            self._switch.appctl("dpif-netdev/pmd-stats-clear")
            time.sleep(seconds)
            said = self._switch.appctl("dpif-netdev/pmd-perf-show")
        received, misses = _RECEIVED.search(said), _MISSES.search(said)
        assert received is not None, said
        assert misses is not None, said
        return Sample(float(received[2]) * 1000, float(received[3]), int(misses[1]))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Its ports are up."""
        self._set("up")
        try:
            yield
        finally:
            self._set("down")

    def _set(self, state: str) -> None:
        for port in self.ports:
            self._switch.appctl("netdev-dpdk/set-admin-state", port, state)


def write_pcap(path: Path, frames: Sequence[bytes]) -> None:
    """A capture file of these frames."""
    with path.open("wb") as file:
        file.write(_PCAP_HEADER)
        for data in frames:
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


@contextmanager
def contenders(
    switch: OwnSwitch, controller: ControllerInside, pairs: int
) -> Iterator[list[Contender]]:
    """NORMAL and ofapp, which knows all hosts."""
    made = []
    try:
        made.append(Contender(switch, "normal", pairs))
        made.append(ours := Contender(switch, "ofapp", pairs))
        switch.vsctl(
            *("set", "Bridge", ours.name, "fail_mode=secure"),
            *(f"other_config:datapath-id={DPID:016x}", "--"),
            *("set-controller", ours.name, f"tcp:127.0.0.1:{controller.ofp_port}"),
        )
        for one in made:
            with one.running():
                if one is ours:
                    wait_for(lambda: _learned(controller) == 2 * pairs, "the hosts", seconds=60)
                else:
                    time.sleep(1)
        yield made
    finally:
        for name in ("normal", "ofapp"):
            switch.vsctl("--if-exists", "del-br", name)


def _learned(controller: ControllerInside) -> int:
    reply = controller.api("GET", f"/v1/bridges/{DPID:016x}")
    return int(reply.body["fdb"]["learned"]) if reply.status == 200 else 0


def measure(
    switch: OwnSwitch, controller: ControllerInside, pairs: int, args: argparse.Namespace
) -> dict[str, list[Sample]]:
    """The samples of both, by turns that go there and back."""
    found: dict[str, list[Sample]] = {}
    with contenders(switch, controller, pairs) as both:
        for turn in range(args.repeat):
            for one in both[:: -1 if turn % 2 else 1]:
                found.setdefault(one.name, []).append(one.run(args.seconds))
    return found


def row(pairs: int, found: dict[str, list[Sample]]) -> str:
    """A line of the table."""
    ours, normal = found["ofapp"], found["normal"]
    rates = [one.rate / other.rate for one, other in zip(ours, normal, strict=True)]
    cycles = [one.cycles / other.cycles for one, other in zip(ours, normal, strict=True)]
    middle = [summary([one.rate / 1e6 for one in each]).middle for each in (normal, ours)]
    return (
        f"| {pairs:,} | {middle[0]:.2f} | {middle[1]:.2f} | {_ratio(summary(rates))}"
        f" | {_ratio(summary(cycles))} |"
    )


def _ratio(found: Summary) -> str:
    return f"{found.middle:.3f} ({found.low:.3f} to {found.high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--pairs", type=int, action="append")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    switch = OwnSwitch(unpacked("openvswitch-switch-dpdk") / PROGRAM, *DPDK)
    everything = {}
    try:
        switch.start()
        switch.vsctl("remove", "Open_vSwitch", ".", "other_config", "pmd-maxsleep")
        switch.vsctl("del-br", BRIDGE)
        controller = ControllerInside(switch.namespace)
        controller.configure(
            "defaults: {packet_in_rate: 1000000, stp: {enabled: true}}\n"
            f"bridges: {{'{DPID:016x}': {{ports: {{'*': {{stp: {{admin_edge: true}}}}}}}}}}"
        )
        try:
            controller.start()
            print("| Pairs of hosts | NORMAL, Mframes/s | ofapp | ofapp/NORMAL | by cycles |")
            print("| ---: | ---: | ---: | ---: | ---: |", flush=True)
            for pairs in args.pairs or PAIRS:
                found = measure(switch, controller, pairs, args)
                everything[pairs] = {
                    name: [vars(sample) for sample in each] for name, each in found.items()
                }
                print(row(pairs, found), flush=True)
        finally:
            controller.close()
    finally:
        switch.close()
    if args.json:
        args.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
