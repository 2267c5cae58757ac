"""What first-hop security costs on the kernel's datapath, in user-mode Linux.

    tests/bench/run first_hop_kernel
    tests/bench/run first_hop_kernel --turns 10 --hosts 1000

Two switches of ofapp take turns.  On one all hosts have bindings behind ports with `trust: guest`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

from ofapp.bench.figures import summary
from ofapp.bridge.mac import format_mac
from tests.bench.bond import HANDLERS_FROM
from tests.support.lab import Host, sh
from tests.support.ownswitch import DPID, ControllerInside, OwnSwitch
from tests.support.traffic import small_frames, tcp_mbps
from tests.support.uml import run_inside
from tests.support.waiting import wait_for

PROGRAM = Path("/usr/sbin/ovs-vswitchd")
SECONDS = 600
PLAIN, GUARDED = "plain", "guarded"
MEASURES: dict[str, Callable[[Host, Host], float]] = {
    "TCP, Mbit/s": tcp_mbps,
    "60 bytes, frames/s": small_frames,
}
Figures = dict[str, dict[str, list[float]]]
"""Measure -> switch -> a figure for each turn."""


def pair(stack: ExitStack, guarded: bool, hosts: int) -> tuple[Host, Host]:
    """Two hosts of a switch with a controller, which knows them."""
    switch = OwnSwitch(PROGRAM, datapath="system")
    stack.callback(switch.close)
    switch.start()
    one, other = made = switch.host(1), switch.host(2)
    bound = [(host.mac, host.ip, host.plug) for host in made]
    bound += [
        (format_mac(0x0600_0000_0000 + at), f"10.99.{at // 250}.{at % 250 + 1}", one.plug)
        for at in range(hosts - 2)
    ]
    bindings = [dict(zip(("mac", "address", "port"), each, strict=True)) for each in bound]
    bridge = {"bindings": bindings, "ports": {"plug*": {"trust": "guest", "storm": {}}}}
    bridges = {f"{DPID:016x}": bridge if guarded else {}}
    file = {"defaults": {"stp": {"enabled": False}}, "bridges": bridges}
    controller = stack.enter_context(closing(ControllerInside(switch.namespace, json.dumps(file))))
    controller.start()
    for number, host in enumerate(made, 1):
        switch.add_port(host.plug, number)
    controller.connect(switch.bridge)
    wait_for(lambda: one.reaches(other.ip), "a ping", seconds=60)
    return one, other


def inside(turns: int, hosts: int, out: Path) -> None:
    """Measure, in user-mode Linux."""
    for module in ("openvswitch", "bridge", "veth"):  # bridge needs ipv6
        sh("modprobe", module)
    sh("ip", "link", "set", "lo", "up")
    wait_for(
        lambda: float(Path("/proc/uptime").read_text().split()[0]) > HANDLERS_FROM,
        "upcall handlers",
        seconds=HANDLERS_FROM,
    )
    figures: Figures = {what: {PLAIN: [], GUARDED: []} for what in MEASURES}
    with ExitStack() as stack:
        pairs = {name: pair(stack, name == GUARDED, hosts) for name in (PLAIN, GUARDED)}
        for turn in range(turns):
            for name in (PLAIN, GUARDED)[:: 1 if turn % 2 else -1]:
                for what, measure in MEASURES.items():
                    figures[what][name].append(measure(*pairs[name]))
            out.write_text(json.dumps(figures))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1_000, help="hosts, each with a binding")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        inside(args.turns, args.hosts, args.inside)
        return
    with tempfile.TemporaryDirectory(prefix="ofapp-first-hop-") as folder:
        results = Path(folder)
        words = f"--turns {args.turns} --hosts {args.hosts} --inside /results/figures"
        command = f"exec .venv/bin/python -m tests.bench.first_hop_kernel {words}"
        try:
            run_inside(command, results, SECONDS)
        except AssertionError as error:
            print(f"cut short: {error}", file=sys.stderr)
        if not (results / "figures").exists():
            raise SystemExit((results / "output").read_text()[-3000:])
        figures: Figures = json.loads((results / "figures").read_text())
    print(f"| {args.hosts:,} bindings | without | with | ratio (95 %) |\n|---|--:|--:|--:|")
    for what, values in figures.items():
        ratios = [b / a for a, b in zip(values[PLAIN], values[GUARDED], strict=False)]
        got = summary(ratios)
        middle = f"{got.middle:.3f} ({got.low:.3f} to {got.high:.3f})"
        print(
            f"| {what} | {median(values[PLAIN]):.0f} | {median(values[GUARDED]):.0f} | {middle} |"
        )


if __name__ == "__main__":
    main()
