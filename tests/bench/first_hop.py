"""What first-hop security costs: frames through a bridge with bindings and one without.

    tests/bench/run first_hop
    tests/bench/run first_hop --hosts 100 --repeat 2

Both bridges are ofapp's, in one Open vSwitch, and take turns: see `capacity`, which is of the same
kind.  All hosts of the one have bindings, on two ports with `trust: guest`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from ipaddress import IPv4Address
from statistics import median

from ofapp.bench.figures import summary
from ofapp.bench.frames import Side, mac
from tests.bench.bridges import own_dpdk
from tests.bench.capacity import TURNS, Contender, Sample
from tests.bench.capacity import address as address_of
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

PLAIN, GUARDED = "open", "guarded"
DPIDS = {PLAIN: 0xF1A, GUARDED: 0xF1B}


def file(pairs: int) -> str:
    """The configuration of both bridges."""
    bindings = [
        {
            "mac": host.hex(":"),
            "port": f"{GUARDED}{side.name.lower()}",
            "address": str(IPv4Address(address_of(host))),
        }
        for side in Side
        for host in (mac(side, number) for number in range(pairs))
    ]
    ports = {f"{GUARDED}*": {"trust": "guest", "storm": {}, "first_hop": {"max_bindings": 65536}}}
    return repr(
        {
            "defaults": {"packet_in_rate": 1_000_000, "stp": {"enabled": False}},
            "bridges": {
                f"{DPIDS[PLAIN]:016x}": {},
                f"{DPIDS[GUARDED]:016x}": {"ports": ports, "bindings": bindings},
            },
        }
    )


@contextmanager
def contenders(
    switch: OwnSwitch, controller: ControllerInside, pairs: int, names: Sequence[str]
) -> Iterator[list[Contender]]:
    """The bridges, which know all hosts, made in the order of `names`."""
    try:
        made = [Contender(switch, name, pairs) for name in names]
        for name in names:
            switch.vsctl(
                *("set", "Bridge", name, "fail_mode=secure"),
                *(f"other_config:datapath-id={DPIDS[name]:016x}", "--"),
                *("set-controller", name, f"tcp:127.0.0.1:{controller.ofp_port}", "--"),
                *("set", "Controller", name, "connection_mode=out-of-band"),
            )
        for one in made:
            with one.running():
                wait_for(
                    lambda one=one: learned(controller, one.name) == 2 * pairs, "hosts", seconds=60
                )
        yield made
    finally:
        for name in names:
            switch.vsctl("--if-exists", "del-br", name)


def learned(controller: ControllerInside, name: str) -> int:
    """The addresses that a bridge has learned."""
    reply = controller.api("GET", f"/v1/bridges/{DPIDS[name]:016x}")
    return int(reply.body["fdb"]["learned"]) if reply.status == 200 else 0


def one_round(
    switch: OwnSwitch, controller: ControllerInside, args: argparse.Namespace, names: Sequence[str]
) -> dict[str, list[Sample]]:
    """Samples of both bridges, in turn."""
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    with contenders(switch, controller, args.hosts // 2, names) as both:
        for turn in range(TURNS):
            for one in both[:: -1 if turn % 2 else 1]:
                samples[one.name].append(one.run(args.seconds))
    return samples


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1_000, help="hosts, each with a binding")
    parser.add_argument("--repeat", type=int, default=4, help="pairs of rounds")
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    with own_dpdk() as switch, closing(ControllerInside(switch.namespace)) as controller:
        controller.configure(file(args.hosts // 2))
        controller.start()
        rounds = [
            one_round(switch, controller, args, names)
            for _ in range(args.repeat)
            for names in ((PLAIN, GUARDED), (GUARDED, PLAIN))
        ]
    rates = {
        name: median(sample.rate for each in rounds for sample in each[name]) / 1e6
        for name in DPIDS
    }
    ratios = [
        median(sample.rate for sample in each[GUARDED])
        / median(sample.rate for sample in each[PLAIN])
        for each in rounds
    ]
    pairs = [math.sqrt(a * b) for a, b in zip(ratios[::2], ratios[1::2], strict=True)]
    figures = summary(pairs)
    print("| Hosts with bindings | without, Mframes/s | with | ratio |")
    print("| ---: | ---: | ---: | ---: |")
    print(
        f"| {args.hosts:,} | {rates[PLAIN]:.2f} | {rates[GUARDED]:.2f} |"
        f" {figures.middle:.3f} ({figures.low:.3f} to {figures.high:.3f}) |"
    )


if __name__ == "__main__":
    sys.exit(main())
