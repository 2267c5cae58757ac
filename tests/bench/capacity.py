"""What a frame costs in Open vSwitch's userspace datapath, under ofapp and with NORMAL.

    tests/bench/run capacity
    tests/bench/run capacity --bindings     ofapp with a binding for each host, and without

No NIC, no kernel and no generator: DPDK's pcap driver gives the same frames over and over from
memory, and drops what it is given to send.  So nothing but the datapath's own look-ups and actions
is measured, in frames and in processor cycles.  Two bridges of one ovs-vswitchd take turns; no core
polls the ports of the other one, whose links stay up, as a bridge forgets hosts whose link goes.

The bridge that was made first is up to 5 % faster or slower, also of two with NORMAL.  So each
ratio is the mean of two rounds, in which the one and the other bridge is made first.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median

from ofapp.bench.frames import MIN_SIZE, Flow, Side, frame, mac
from tests.bench.bridges import attach, own_dpdk
from tests.bench.table import head, interval, row
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

PAIRS = (1, 100, 1_000, 10_000)
SETTLE_SECONDS = 0.5
NO_CORE = 63
"""Where no thread polls."""
NORMAL, OURS, BOUND = "normal", "ofapp", "bound"
DPIDS = {OURS: 0xCA9, BOUND: 0xCAA}
TURNS = 3
_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
_RECEIVED = re.compile(r"Rx packets:\s+(\d+)\s+\((\d+) Kpps, (\d+) cycles/pkt\)")
_MISSES = re.compile(r"Upcalls:\s+(\d+)")


@dataclass(frozen=True)
class Sample:
    """One turn: frames a second, cycles a frame, and frames that no flow was there for."""

    rate: float
    cycles: float
    misses: int


Round = dict[str, list[Sample]]
"""Of both bridges, by name."""


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
            write_pcap(file, [made_up(there, here, side) for here, there in ends])
            device = f"net_pcap{port},rx_pcap={file},infinite_rx=1"
            switch.vsctl(
                *("add-port", name, port, "--", "set", "Interface", port, "type=dpdk"),
                *(f"ofport_request={number}", f'options:dpdk-devargs="{device}"'),
            )
            error = switch.vsctl("get", "Interface", port, "error").strip()
            assert error == "[]", f"{port}: {error}"
        self._poll(False)

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
        """Its ports are polled."""
        self._poll(True)
        try:
            yield
        finally:
            self._poll(False)

    def _poll(self, polled: bool) -> None:
        for port in self.ports:
            words = ["remove", "Interface", port, "other_config", "pmd-rxq-affinity"]
            if not polled:
                words = ["set", "Interface", port, f"other_config:pmd-rxq-affinity=0:{NO_CORE}"]
            self._switch.vsctl(*words)


def made_up(destination: bytes, source: bytes, side: Side) -> bytes:
    """A frame with IP addresses of its hosts' own, as datapaths hash them, and a wrong checksum."""
    whole = frame(Flow(destination, source, side), MIN_SIZE)
    return whole[:26] + address(source) + address(destination) + whole[34:]


def address(host: bytes) -> bytes:
    """The IPv4 address of a host, by its MAC address."""
    return bytes((10 + host[2],)) + host[3:]


def write_pcap(path: Path, frames: Sequence[bytes]) -> None:
    """A capture file of these frames."""
    with path.open("wb") as file:
        file.write(_PCAP_HEADER)
        for data in frames:
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def file(pairs: int) -> str:
    """The configuration of ofapp's bridges.  All hosts of `BOUND` have bindings."""
    bindings = [
        {
            "mac": host.hex(":"),
            "port": f"{BOUND}{side.name.lower()}",
            "address": str(IPv4Address(address(host))),
        }
        for side in Side
        for host in (mac(side, number) for number in range(pairs))
    ]
    edge = {"stp": {"admin_edge": True}}
    guest = {"trust": "guest", "storm": {}, "first_hop": {"max_bindings": 65536}}
    return json.dumps(
        {
            "defaults": {"packet_in_rate": 1_000_000, "stp": {"enabled": True}},
            "bridges": {
                f"{DPIDS[OURS]:016x}": {"ports": {"*": edge}},
                f"{DPIDS[BOUND]:016x}": {"ports": {"*": guest | edge}, "bindings": bindings},
            },
        }
    )


@contextmanager
def contenders(
    switch: OwnSwitch, controller: ControllerInside, pairs: int, names: Sequence[str]
) -> Iterator[list[Contender]]:
    """Bridges that know all hosts, made in the order of `names`."""
    try:
        made = [Contender(switch, name, pairs) for name in names]
        for one in made:
            if one.name in DPIDS:
                attach(switch, controller, one.name, DPIDS[one.name])
            with one.running():
                if one.name in DPIDS:
                    path = f"/v1/bridges/{DPIDS[one.name]:016x}"
                    wait_for(
                        lambda path=path: controller.get(path)["fdb"]["learned"] == 2 * pairs,
                        "the hosts to be learned",
                        seconds=60,
                    )
                time.sleep(1)
        yield made
    finally:
        for name in names:
            switch.vsctl("--if-exists", "del-br", name)


def measure(
    switch: OwnSwitch, controller: ControllerInside, pairs: int, args: argparse.Namespace
) -> list[Round]:
    """The rounds, with the one and the other made first in turn."""
    rounds = []
    for number in range(2 * args.repeat):
        samples: Round = {}
        names = compared(args)[:: -1 if number % 2 else 1]
        with contenders(switch, controller, pairs, names) as both:
            for turn in range(TURNS):
                for one in both[:: -1 if turn % 2 else 1]:
                    samples.setdefault(one.name, []).append(one.run(args.seconds))
        rounds.append(samples)
    return rounds


def compared(args: argparse.Namespace) -> tuple[str, str]:
    """The bridge to compare with, and the bridge to be measured."""
    return (OURS, BOUND) if args.bindings else (NORMAL, OURS)


def line(pairs: int, names: tuple[str, str], rounds: Sequence[Round]) -> str:
    """A line of the table."""
    base, measured = names
    rates = [median(sample.rate for one in rounds for sample in one[name]) / 1e6 for name in names]
    each = [
        {
            figure: median(getattr(sample, figure) for sample in one[measured])
            / median(getattr(sample, figure) for sample in one[base])
            for figure in ("rate", "cycles")
        }
        for one in rounds
    ]
    both = [*zip(each[::2], each[1::2], strict=True)]
    ratios = [
        interval([math.sqrt(a[figure] * b[figure]) for a, b in both])
        for figure in ("rate", "cycles")
    ]
    return row(f"{pairs:,}", *(f"{rate:.2f}" for rate in rates), *ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=6, help="pairs of rounds")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--pairs", type=int, action="append")
    parser.add_argument("--bindings", action="store_true", help="compare with and without bindings")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    everything, names = {}, compared(args)
    with own_dpdk() as switch, closing(ControllerInside(switch.namespace)) as controller:
        every = args.pairs or PAIRS
        controller.configure(file(max(every) if args.bindings else 0))
        controller.start()
        rates = (f"{name}, Mframes/s" for name in names)
        print(head("Pairs of hosts", *rates, "ratio", "by cycles"), flush=True)
        for pairs in every:
            found = measure(switch, controller, pairs, args)
            everything[pairs] = [
                {name: [vars(sample) for sample in each] for name, each in one.items()}
                for one in found
            ]
            print(line(pairs, names, found), flush=True)
    if args.json:
        args.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
