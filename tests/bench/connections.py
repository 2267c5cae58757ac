"""Many connections through an aggregation: what each way of hashing costs Open vSwitch's caches.

    tests/bench/run connections

Devices are ofapp with each `hash` and Open vSwitch's own bond with NORMAL (balance-tcp), which have
the same peer.  By turns one host sends small UDP frames to another as fast as it can, each of a
connection drawn from so many, after a time of warming up: frames a second that arrive, flows in the
datapath's cache, and which part of the frames was new to it.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from tests.bench.bond import CONFIG, MODE
from tests.support.bonds import LAG, NormalSide, OfappSide, Pair
from tests.support.lab import Host
from tests.support.ovs import VSwitchd
from tests.support.traffic import running
from tests.support.waiting import wait_for

NORMAL = "normal"
DEVICES = ("layer2", "layer2+3", "layer3+4", NORMAL)
PORTS = {1: (1, 1), 1_000: (1_000, 1), 100_000: (316, 317)}
"""Connections -> how many source and destination ports make them."""
WARM, SECONDS = 6.0, 2.0
SWITCH = {
    "frames": "packets received",
    "missed": "miss with success upcall",
    "lost": "miss with failed upcall",
}


@dataclass(frozen=True)
class Found:
    """rate: frames a second; missed, lost: parts of all frames; flows: in the cache at the end."""

    rate: float
    flows: int
    missed: float
    lost: float


def made(device: str, stack: ExitStack) -> Pair:
    """A device and its peer, in use."""
    left = NormalSide(1) if device == NORMAL else OfappSide(1, config=CONFIG)
    stack.callback(left.close)
    right = NormalSide(2)
    stack.callback(right.close)
    pair = Pair(left, right, mode=MODE)
    if isinstance(left, OfappSide):
        left.configure({LAG: [cable.left for cable in pair.cables]}, MODE, hash=device)
        pair.wait_all()
    return pair


def measured(pair: Pair, connections: int) -> Found:
    """One turn."""
    one, other = pair.left.host, pair.right.host
    assert isinstance(pair.left, NormalSide | OfappSide)
    switch = pair.left.switch
    config = switch.dir / "connections"
    config.write_text(_frame(one, other, *PORTS[connections]))
    sender = ("trafgen", "--in", str(config), "--dev", "eth0", "--cpus", "1", "--num", "0")
    with running(one, *sender):
        begun = _received(other)
        wait_for(lambda: _received(other) > begun + 1000, "frames to arrive")
        time.sleep(WARM)
        before, frames, since = _counts(switch), _received(other), time.monotonic()
        time.sleep(SECONDS)
        rate = (_received(other) - frames) / (time.monotonic() - since)
        after = _counts(switch)
    grown = {name: after[name] - before[name] for name in SWITCH}
    parts = [grown[name] / max(grown["frames"], 1) for name in ("missed", "lost")]
    return Found(rate, after["flows"], *parts)


def _frame(one: Host, other: Host, sources: int, destinations: int) -> str:
    """As trafgen reads it."""

    def drawn(first: int, many: int) -> str:
        return str(first) if many == 1 else f"drnd({first},{first + many - 1})"

    return (
        f"{{ eth(da={other.mac}, sa={one.mac}), ipv4(ttl=64, sa={one.ip}, da={other.ip}),"
        f" udp(sp={drawn(1024, sources)}, dp={drawn(2048, destinations)}), fill(0, 18) }}"
    )


def _counts(switch: VSwitchd) -> dict[str, int]:
    output = switch.appctl("dpif-netdev/pmd-stats-show")
    found = {
        name: sum(int(count) for count in re.findall(rf"{words}: (\d+)", output))
        for name, words in SWITCH.items()
    }
    flows = re.search(r"flows: (\d+)", switch.appctl("dpctl/show"))
    return found | {"flows": int(flows[1]) if flows else 0}


def _received(host: Host) -> int:
    return int(host.run("cat", "/sys/class/net/eth0/statistics/rx_packets"))


def report(found: dict[tuple[int, str], list[Found]]) -> Iterator[str]:
    """Markdown, medians."""
    yield "| connections | device | frames/s | beside NORMAL | cached flows | missed | lost |"
    yield "|--:|---|--:|--:|--:|--:|--:|"
    for (connections, device), turns in found.items():
        normal = found.get((connections, NORMAL), turns)
        ratio = median(a.rate / b.rate for a, b in zip(turns, normal, strict=True))
        parts = " | ".join(
            f"{median(getattr(t, n) for t in turns):.4f}" for n in ("missed", "lost")
        )
        yield (
            f"| {connections:,} | {device} | {median(t.rate for t in turns):,.0f} | {ratio:.2f} |"
            f" {median(t.flows for t in turns):,.0f} | {parts} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/bench/run connections", description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--devices", nargs="+", choices=DEVICES, default=DEVICES)
    parser.add_argument("--connections", nargs="+", type=int, choices=PORTS, default=[*PORTS])
    given = parser.parse_args()
    found: dict[tuple[int, str], list[Found]] = {}
    with ExitStack() as stack:
        pairs = {device: made(device, stack) for device in given.devices}
        for _ in range(given.turns):
            for connections in given.connections:
                for device, pair in pairs.items():
                    found.setdefault((connections, device), []).append(measured(pair, connections))
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
