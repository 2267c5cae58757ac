"""An aggregation of ofapp beside Open vSwitch's own bond with NORMAL, and beside the kernel's bond.

Each device has the same peer, by two cables and with LACP.  By turns: the cable that carries a
stream of numbered frames, 1,000 a second, is pulled, and the frames are counted that are lost then
and when it is plugged in again; and how fast two hosts are with each other over the aggregation.

On the userspace datapath the peer is another Open vSwitch; in user-mode Linux, with the kernel's
datapath, it is the kernel's bond, which is one of the devices there too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.table import head, interval, row, spread
from tests.support.bonds import Mode, NormalSide, OfappSide, Pair, Side
from tests.support.kernelbonds import KernelSide
from tests.support.lab import Stream, sh
from tests.support.traffic import small_frames, tcp_mbps
from tests.support.uml import run_inside
from tests.support.waiting import wait_for

RATE = 1_000  # frames a second
MODE = Mode("active", "fast")
HANDLERS_FROM = 11.0  # seconds of uptime: see tests.guest.inside
UML_SECONDS = 1_500
MODULES = ("openvswitch", "bridge", "veth", "bonding")
CONFIG = "defaults: {stp: {enabled: false}}"

Found = dict[str, dict[str, list[float]]]
"""What is measured -> device -> a figure a turn."""
Makers = dict[str, Callable[[], tuple[Side, Side]]]
"""A device and its peer, by the device's name."""

USERSPACE: Makers = {
    "ofapp": lambda: (OfappSide(1, config=CONFIG), NormalSide(2)),
    "normal": lambda: (NormalSide(1), NormalSide(2)),
}
KERNEL: Makers = {
    "ofapp": lambda: (OfappSide(1, "system", CONFIG), KernelSide(2)),
    "normal": lambda: (NormalSide(1, "system"), KernelSide(2)),
    "bonding": lambda: (KernelSide(1), KernelSide(2)),
}
SPEEDS: Mapping[str, Callable[[Pair], float]] = {
    "TCP out, Mbit/s": lambda pair: tcp_mbps(pair.left.host, pair.right.host),
    "TCP in, Mbit/s": lambda pair: tcp_mbps(pair.right.host, pair.left.host),
    "60 bytes out, frames/s": lambda pair: small_frames(pair.left.host, pair.right.host),
    "60 bytes in, frames/s": lambda pair: small_frames(pair.right.host, pair.left.host),
}
"""Out: by the device's members; in: the far switch sends by its own, and the device takes in."""


@contextmanager
def pairs(makers: Makers) -> Iterator[dict[str, Pair]]:
    """All devices, in use."""
    with ExitStack() as stack:
        panel = f"bp{os.getpid()}"
        sh("ip", "netns", "add", panel)
        stack.callback(sh, "ip", "netns", "del", panel)
        made = {}
        for name, make in makers.items():
            left, right = make()
            stack.callback(left.close)
            stack.callback(right.close)
            made[name] = Pair(left, right, mode=MODE, panel=panel)
        yield made


def lost_frames(pair: Pair) -> dict[str, int]:
    """Frames that are lost when the cable that carries them is pulled, and plugged in again."""
    with Stream(pair.left.host, pair.right.host, RATE) as stream:
        carrying = pair.carrying()
        carrying.cut()
        stream.more(RATE // 2)
        pulled = stream.lost()
    with Stream(pair.left.host, pair.right.host, RATE) as stream:
        stream.more(RATE // 10)
        carrying.restore()
        pair.wait_all()
        stream.more(RATE // 2)
        return {"pulled": pulled, "plugged in": stream.lost()}


def measure(
    makers: Makers,
    turns: int,
    speeds: int,
    keep_all: Callable[[Found], object] = lambda found: None,
) -> Found:
    """Devices by turns, each first at times; keep_all: gets all results after each turn."""
    found: Found = {}

    def keep(what: str, name: str, value: float) -> None:
        found.setdefault(what, {}).setdefault(name, []).append(value)

    with pairs(makers) as made:
        names = list(made)
        for turn in range(max(turns, speeds)):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                pair = made[name]
                if turn < turns:
                    for what, value in lost_frames(pair).items():
                        keep(f"frames lost, {what}", name, value)
                for what, speed in SPEEDS.items() if turn < speeds else ():
                    keep(what, name, speed(pair))
            print(f"  turn {turn + 1}: {_turn(found, turn)}", file=sys.stderr, flush=True)
            keep_all(found)
    return found


def _turn(found: Found, turn: int) -> str:
    """What a turn has found, in a line."""
    parts = []
    for what, devices in found.items():
        values = [f"{name} {of[turn]:.0f}" for name, of in devices.items() if turn < len(of)]
        parts += [f"{what}: {', '.join(values)}"] if values else []
    return "; ".join(parts)


def report(found: Found) -> str:
    """Markdown."""
    lines = [head("what, device", "turns", "median (least to most)", "ofapp / it (95 %)")]
    for what, devices in found.items():
        for name, values in devices.items():
            ratio = ""
            if what in SPEEDS and name != "ofapp":
                ratio = interval([a / b for a, b in zip(devices["ofapp"], values, strict=True)])
            lines.append(row(f"{what}, {name}", len(values), spread(values), ratio))
    return "\n".join(lines)


def inside(turns: int, speeds: int, out: Path) -> None:
    """In user-mode Linux: what `main` had done there."""
    for module in MODULES:
        sh("modprobe", module)
    sh("ip", "link", "set", "lo", "up")
    wait_for(
        lambda: float(Path("/proc/uptime").read_text().split()[0]) > HANDLERS_FROM,
        "upcall handlers",
        seconds=HANDLERS_FROM,
    )
    measure(KERNEL, turns, speeds, lambda found: out.write_text(json.dumps(found)))


def in_uml(turns: int, speeds: int, seconds: float) -> Found:
    """The figures of the kernel's datapath; of the turns that were done in that time."""
    with tempfile.TemporaryDirectory(prefix="ofapp-bond-") as folder:
        words = f"--turns {turns} --speeds {speeds} --inside /results/found"
        results = Path(folder)
        try:
            run_inside(f"exec .venv/bin/python -m tests.bench.bond {words}", results, seconds)
        except AssertionError as error:
            print(f"cut short: {error}", file=sys.stderr)
        if not (results / "found").exists():
            raise SystemExit((results / "output").read_text()[-3000:])
        return json.loads((results / "found").read_text())  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/bench/run bond", description=__doc__)
    parser.add_argument("--turns", type=int, default=20, help="of pulling cables")
    parser.add_argument("--speeds", type=int, default=12, help="turns of measuring speed")
    parser.add_argument("--only", choices=("userspace", "kernel"))
    parser.add_argument(
        "--seconds", type=float, default=UML_SECONDS, help="that user-mode Linux may take"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        inside(given.turns, given.speeds, given.inside)
        return
    found = {}
    if given.only != "kernel":
        found["userspace"] = measure(USERSPACE, given.turns, given.speeds)
        print(f"## Userspace datapath\n\n{report(found['userspace'])}\n", flush=True)
    if given.only != "userspace":
        found["kernel"] = in_uml(given.turns, given.speeds, given.seconds)
        print(f"## Kernel datapath, in user-mode Linux\n\n{report(found['kernel'])}\n")
    if given.json:
        given.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
