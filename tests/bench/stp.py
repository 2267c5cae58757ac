"""Spanning tree measured: gaps, edge ports, hello jitter; see README.md beside this file."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ofapp.bench.figures import percentile
from tests.bench.gaps import gap
from tests.bench.meanwhile import broadcasts, new_hosts
from tests.bench.stp_kills import kills, kills_table
from tests.bench.stp_mesh import EVENTS, heals
from tests.bench.stp_ring import Ring, ring
from tests.bench.table import head, row, spread
from tests.support.lab import BROADCAST, ETHERTYPE, Host, frame, sh
from tests.support.network import port_state
from tests.support.stamped import ETH_P_802_2, Receiver, is_hello, stamped_socket
from tests.support.waiting import during, wait_for

KINDS = ("ofapp", "ovs")
NAMES = {"ofapp": "ofapp", "ovs": "OVS rstp_enable"}
SETTLE = 2.5
LOADS: Mapping[str, Callable[[Host], AbstractContextManager[object]]] = {
    "idle": contextlib.nullcontext,
    "new addresses": new_hosts,
    "storm": broadcasts,
}


def gaps(made: Ring) -> dict[str, dict[str, int]]:
    """Every event once, on a ring that has converged."""
    one, two = made.hosts
    found: dict[str, dict[str, int]] = {}

    def event(name: str, change: Callable[[], Any], settle: float = SETTLE) -> None:
        _say_hello(two)  # so that the stream is not flooded
        found[name] = asdict(gap(one, two, change, settle))

    event("active link down, at the bridge with the spare port", made.near.cut)
    event("that link up", made.near.restore)
    made.wait()
    event("active link down, at the other bridge", lambda: made.far.cut(1))
    event("that link up again", lambda: made.far.restore(1))
    made.wait()
    event("root dies, its links drop", made.kill_root)
    event("root comes back", made.revive_root)
    made.wait()
    event("root vanishes, links stay up", made.delete_root)
    return found


def edge(made: Ring, times: int) -> dict[str, list[float]]:
    """Milliseconds from link-up to the first frame: a port that is an edge by decree, and one that
    has to be found out."""
    witness = made.hosts[1]
    decreed = made.edge_host()
    assert decreed.home is not None
    return {
        "admin edge": [_opening(decreed, witness) for _ in range(times)],
        "auto edge": [_opening(made.hosts[0], witness) for _ in range(max(2, times // 3))],
    }


def _opening(host: Host, witness: Host) -> float:
    sh("ip", "link", "set", host.plug, "down")
    wait_for(lambda: port_state(host.home, host.plug) == "down", "the port to close")  # type: ignore[arg-type]
    time.sleep(0.5)
    broadcast = frame(BROADCAST, host.mac)
    receiver = Receiver(witness.open(lambda: stamped_socket("eth0", ETHERTYPE)))
    with host.wire() as wire:
        begun = time.time()
        sh("ip", "link", "set", host.plug, "up")
        for _ in during(40, 0.0005):
            if receiver.frames:
                break
            with contextlib.suppress(OSError):
                wire.send(broadcast)
    receiver.close()
    if not receiver.frames:
        raise RuntimeError(f"{host.plug} does not open")
    return (receiver.frames[0][0] - begun) * 1000


def jitter(made: Ring, seconds: float) -> dict[str, dict[str, Any]]:
    """The largest deviation of a hello interval from 2 s, in ms, on all links; one load after the
    other, from a host on S1."""
    cables = (made.spare, made.near, made.far)
    ends = [cable.ends[i] for cable in cables for i in (0, 1)]
    found: dict[str, dict[str, Any]] = {}
    for load, loaded in LOADS.items():
        with loaded(made.hosts[0]):
            before, changes = _frames_in(made.hosts[0].plug), made.topology_changes()
            receiver = Receiver(*(stamped_socket(name, ETH_P_802_2) for name in ends))
            try:
                time.sleep(seconds)
            finally:
                receiver.close()
        offered = (_frames_in(made.hosts[0].plug) - before) / seconds
        after = made.topology_changes()
        found[load] = {
            "deviation": _deviations(receiver),
            "kpps": offered / 1000,
            "changes": None if after is None or changes is None else after - changes,
        }
        time.sleep(2)
    return found


def _deviations(receiver: Receiver) -> list[float]:
    at: dict[int, list[float]] = defaultdict(list)
    for when, data, number in receiver.frames:
        if is_hello(data):
            at[number].append(when)
    return [
        abs(later - earlier - 2.0) * 1000
        for times in at.values()
        if len(times) > 3
        for earlier, later in itertools.pairwise(times)
    ]


def _frames_in(interface: str) -> int:
    return int(Path(f"/sys/class/net/{interface}/statistics/rx_packets").read_text())


def _say_hello(host: Host) -> None:
    with host.wire() as wire:
        for _ in range(3):
            wire.send(frame(BROADCAST, host.mac))
            time.sleep(0.05)


# --- the report --------------------------------------------------------------------------------


def gap_table(results: dict[str, list[dict[str, dict[str, int]]]]) -> list[str]:
    """Events by kinds."""
    kinds = [kind for kind in KINDS if results.get(kind)]
    lines = [head("Event", *(NAMES[kind] for kind in kinds), "duplicates")]
    for name in results[kinds[0]][0]:
        runs = {k: [run[name] for run in results[k] if name in run] for k in kinds}
        cells = [spread([run["lost"] for run in runs[k]]) for k in kinds]
        twice = " / ".join(str(sum(run["twice"] for run in runs[k])) for k in kinds)
        lines.append(row(name, *cells, twice))
    return lines


def edge_table(results: dict[str, list[dict[str, list[float]]]]) -> list[str]:
    """Kinds of ports by kinds."""
    kinds = [kind for kind in KINDS if results.get(kind)]
    lines = [head("Port, ms", *(NAMES[kind] for kind in kinds))]
    for name in ("admin edge", "auto edge"):
        lines.append(
            row(name, *(spread([ms for r in results[k] for ms in r[name]]) for k in kinds))
        )
    return lines


def jitter_table(results: dict[str, list[dict[str, dict[str, Any]]]]) -> list[str]:
    """Loads by kinds."""
    lines = [head("Load", "kind", "offered kpps", "hellos", "p50 ms", "max ms", "topology changes")]
    for load in LOADS:
        for kind in KINDS:
            runs = [run[load] for run in results.get(kind, [])]
            if not runs:
                continue
            every = sorted(ms for run in runs for ms in run["deviation"])
            changes = [run["changes"] for run in runs if run["changes"] is not None]
            figures = [f"{percentile(every, share):.1f}" for share in (0.5, 1)]
            kpps = statistics.median(run["kpps"] for run in runs)
            count = str(sum(changes)) if changes else "-"
            lines.append(row(load, NAMES[kind], f"{kpps:.0f}", len(every), *figures, count))
    return lines


def mesh_table(results: dict[str, list[dict[str, tuple[float, int]]]]) -> list[str]:
    """Events by kinds."""
    kinds = [kind for kind in KINDS if results.get(kind)]
    lines = [head("The root is", *(NAMES[kind] for kind in kinds), "copies")]
    for how in EVENTS:
        runs = {k: [run[how] for run in results[k] if how in run] for k in kinds}
        cells = [", ".join(f"{seconds:.1f} s" for seconds, _ in runs[k]) for k in kinds]
        copies = " / ".join(str(sum(twice for _, twice in runs[k])) for k in kinds)
        lines.append(row(how, *cells, copies))
    return lines


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/stp", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of the gaps (5)")
    parser.add_argument("--only", default="gap,edge,jitter,mesh", metavar="PARTS")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="of each load, for jitter (60: a sweep of the flows is among them)",
    )
    parser.add_argument("--mesh", type=int, nargs=2, default=(50, 90), metavar=("BRIDGES", "LINKS"))
    parser.add_argument(
        "--kills", type=int, default=20, help="of the controller, on such a mesh (20)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the meshes (1)")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="of kills with copies")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    parts, kinds = options.only.split(","), options.kinds.split(",")
    results: dict[str, dict[str, list[Any]]] = {part: {k: [] for k in KINDS} for part in parts}
    failures: list[str] = []
    print(
        f"# Spanning tree\n\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start.\n"
    )

    def on_ring(kind: str, measure: Callable[[Ring], Any]) -> Any:
        with ring(kind) as made:
            return measure(made)

    def steady(made: Ring) -> Any:
        return jitter(made, options.seconds)

    def attempt(part: str, kind: str, turn: object, measure: Callable[[], Any]) -> None:
        what = f"{part}, {kind}, {turn}"
        print(f"  {what} ...", file=sys.stderr, flush=True)
        try:
            results[part][kind].append(measure())
        except (AssertionError, RuntimeError, OSError) as error:
            failures.append(f"{what}: {error}")
            print(f"  {what} failed: {error}", file=sys.stderr)

    for turn in range(options.repeat):
        for kind in kinds:
            if "gap" in parts:
                attempt("gap", kind, turn + 1, lambda kind=kind: on_ring(kind, gaps))
    for kind in kinds:
        if "edge" in parts:
            attempt("edge", kind, 1, lambda kind=kind: on_ring(kind, lambda made: edge(made, 9)))
        if "jitter" in parts:
            attempt("jitter", kind, 1, lambda kind=kind: on_ring(kind, steady))
        for how in EVENTS if "mesh" in parts else ():
            losing = partial(heals, kind, how, *options.mesh, seed=options.seed)
            attempt("mesh", kind, how, lambda how=how, losing=losing: {how: losing()})

    if "kills" in parts:
        killed = partial(kills, *options.mesh, options.kills, options.seed, options.logs)
        attempt("kills", "ofapp", options.mesh, killed)

    titles = {
        "gap": "Gap in a stream of 1,000 frames a second, in ms (= frames lost): median (range)",
        "edge": "From link-up to the first frame through",
        "jitter": "Deviation of hello intervals from 2 s",
        "mesh": "A mesh that loses its root, until every frame arrives again",
        "kills": "A mesh whose controller is killed in a change",
    }
    tables = {
        "gap": gap_table,
        "edge": edge_table,
        "jitter": jitter_table,
        "mesh": mesh_table,
        "kills": kills_table,
    }
    for part in parts:
        if any(results[part].values()):
            print(f"## {titles[part]}\n\n" + "\n".join(tables[part](results[part])) + "\n")
    for failure in failures:
        print(f"FAILED: {failure}\n")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, default=asdict) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
