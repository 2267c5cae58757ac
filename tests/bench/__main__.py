"""Run the benchmarks and print them as Markdown; see README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from ofapp.bench.machine import describe
from tests.bench import measure, report
from tests.bench.controllers import CORES, Peer, peers
from tests.bench.switch import ControllerGoneError

TRIED = (ControllerGoneError, RuntimeError, OSError)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="3 short repetitions (about 1 minute)")
    size.add_argument("--smoke", action="store_true", help="does it work at all (20 s)")
    parser.add_argument("--only", metavar="PARTS", help="of: channel,table,flood", default="")
    parser.add_argument("--peers", metavar="NAMES", help="of: " + ",".join(peers()), default="")
    parser.add_argument("--repeat", type=int, help="repetitions (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every run")
    return parser.parse_args()


class Bench:
    """One run of everything asked for; failures are noted and the rest goes on."""

    def __init__(self, chosen: dict[str, Peer], scale: float, repeat: int) -> None:
        self.chosen = chosen
        self.scale = scale
        self.repeat = repeat
        self.failures: list[str] = []

    def _try(self, what: str, function: Any, *arguments: Any) -> Any:
        print(f"  {what} ...", file=sys.stderr, flush=True)
        try:
            return function(*arguments)
        except TRIED as error:
            notes = "\n".join(getattr(error, "__notes__", []))
            self.failures.append(f"{what}: {error}")
            print(f"  {what} failed: {error}\n{notes}", file=sys.stderr)
            return None

    def channel(self) -> dict[str, list[dict[str, Any]]]:
        """All controllers, interleaved, so that a slow spell of the machine hits them alike."""
        results: dict[str, list[dict[str, Any]]] = {key: [] for key in self.chosen}
        probes = max(50, int(1_000 * self.scale))
        for turn in range(self.repeat):
            for key, peer in self.chosen.items():
                hosts = max(500, int(peer.hosts * self.scale))
                what = f"{peer.name}, {turn + 1} of {self.repeat}"
                found = self._try(what, measure.channel, peer, hosts, probes, 20.0)
                if found:
                    results[key].append(found)
        return {key: runs for key, runs in results.items() if runs}

    def table(self) -> list[dict[str, Any]]:
        """ofapp alone: memory and queries."""
        hosts = max(3_000, int(100_000 * self.scale))
        queries = max(10, int(50 * self.scale))
        peer, sweep = self.chosen["ofapp"], self.scale == 1
        runs = [
            self._try(f"{hosts:,} hosts, {i + 1}", measure.table, peer, hosts, queries, sweep)
            for i in range(min(3, self.repeat))
        ]
        return [run for run in runs if run]

    def flood(self) -> list[dict[str, Any]]:
        """ofapp alone: responsiveness above the cap of 100,000."""
        seconds = max(0.4, 10 * self.scale)
        filled = 100_000 if seconds > 0.4 else 3_000  # a smoke test need not reach the cap
        peer = self.chosen["ofapp"]
        runs = [
            self._try(f"flood, {i + 1}", measure.flood, peer, filled, seconds)
            for i in range(min(3, self.repeat))
        ]
        return [run for run in runs if run]


def main() -> int:
    """Returns the exit status: 0 unless something that should run did not."""
    options = _arguments()
    scale, repeat = 1.0, 5
    if options.quick:
        scale, repeat = 0.3, 3
    if options.smoke:
        scale, repeat = 0.02, 1
    every = peers()
    wanted = options.peers.split(",") if options.peers else list(every)
    if options.smoke and not options.peers:
        wanted = ["ofapp", "ovs", "plain"]
    parts = options.only.split(",") if options.only else ["channel", "table", "flood"]
    for key in wanted:
        if key not in every:
            print(f"no such peer: {key}", file=sys.stderr)
            return 2
    chosen = {key: every[key] for key in wanted if not every[key].missing}
    bench = Bench(chosen, scale, options.repeat or repeat)
    names = {key: peer.name for key, peer in every.items()}
    started = time.monotonic()
    output: dict[str, Any] = {"machine": _machine()}

    print(f"# ofapp benchmarks\n\n{_machine()}\n")
    for key in wanted:
        if every[key].missing:
            print(f"Skipped: {every[key].name} ({every[key].missing}).\n")
    if "channel" in parts and chosen:
        output["channel"] = results = bench.channel()
        if results:
            print("## New hosts learned\n\n" + "\n".join(report.channel(results, names)) + "\n")
    if "table" in parts and "ofapp" in chosen:
        output["table"] = runs = bench.table()
        if runs:
            print("## A full table\n\n" + "\n".join(report.table(runs)) + "\n")
    if "flood" in parts and "ofapp" in chosen:
        output["flood"] = runs = bench.flood()
        if runs:
            print("## MAC flooding\n\n" + "\n".join(report.flood(runs)) + "\n")
    for failure in bench.failures:
        print(f"FAILED: {failure}\n")
    print(f"{time.monotonic() - started:.0f} s in all.")
    if options.json:
        options.json.write_text(json.dumps(output, indent=1) + "\n")
    return 1 if bench.failures else 0


def _machine() -> str:
    it = describe()
    pinning = (
        "controller on one core, emulator on another" if len(CORES) > 1 else "NOT pinned: one core"
    )
    return (
        f"{it.processor}, {it.cores} cores, load {os.getloadavg()[0]:.1f} at the start; "
        f"Python {it.versions['Python']}, Linux {it.kernel}; {pinning}."
    )


if __name__ == "__main__":
    sys.exit(main())
