"""The chapter of a profile: cost of a frame by part of its way, and what many hosts add."""

from __future__ import annotations

from ofapp.bench.figures import ratios, summary
from ofapp.bench.model import Results, Sample
from ofapp.bench.names import Measurement
from ofapp.bench.profile.parts import DEVICE, Part
from ofapp.bench.report.metrics import Chapter
from ofapp.bench.report.tables import Filled, Table, cell, devices

PAPER = "N. Varis, Anatomy of a Linux bridge, Aalto University 2012"
UNITS = {
    "ns": "CPU time, ns",
    "cycles": "Processor cycles",
    "references": "Cache references",
    "misses": "Cache misses",
}
_SHORT = "after Varis, tables 1 and 2"
_PARTS = [part.capitalize() for part in DEVICE]
_CHAPTER = Chapter(
    "Cost of a frame by part",
    (),
    f"After {PAPER}, tables 1 and 2: processor cycles, cache"
    " references and cache misses in driver, bridge, memory and locks, with 2 and with 2,048"
    " hosts. Half of the"
    " hosts are behind each port. Driver: of the interfaces, and the sockets or rings by which a"
    " switch in user space reaches them. Stack: the kernel's reception and sending for all devices."
    " Memory: buffers made, freed and copied. Locks: taken and released, and read-side marks of"
    " RCU. Ends: the generator's system calls and the counting, which are no part of the device;"
    " a wire's other parts are the ends', too. perf samples the processors' clock, which cannot"
    " interrupt what runs with interrupts off: that time appears where they are on again, mostly"
    " in the release of a lock. Time of interrupts during other programs is left out. A switch"
    " without symbols is counted as bridge as a whole. A datapath that polls spends idle time in"
    " driver and bridge.",
    ("profile",),
)
_OWN_CYCLES = "Open vSwitch's own count for its polling threads, cycles a frame"


def cost(results: Results, device: str, unit: str, hosts: int) -> list[dict[int, float]]:
    """Cost of a frame in each part that is the device's, then the sum; each by repetition."""
    each = [_runs(results, f"{part}_{unit}", device, hosts) for part in DEVICE]
    turns = dict.fromkeys(turn for one in each for turn in one)
    return [*each, {turn: sum(one.get(turn, 0.0) for one in each) for turn in turns}]


def chapter(results: Results) -> list[Filled]:
    """The chapter, if the run has a profile."""
    counts = host_counts(results)
    tables = [_table(results, unit, hosts) for unit in UNITS for hosts in counts]
    if len(counts) > 1:
        tables += [_growth(results, counts[0], counts[-1])]
    tables += [_own_cycles(results, counts)]
    return [Filled(_CHAPTER, [table for table in tables if table.rows])] if counts else []


def host_counts(results: Results) -> list[int]:
    """The numbers of hosts of the profile, ascending."""
    return sorted({int(sample.at["addresses"]) for sample in _profiles(results)})


def _profiles(results: Results) -> list[Sample]:
    return [sample for sample in results.samples if sample.test is Measurement.PROFILE]


def _runs(results: Results, key: str, device: str, hosts: int) -> dict[int, float]:
    """A figure by repetition."""
    return {
        sample.repetition: sample.values[key]
        for sample in _profiles(results)
        if sample.device == device and sample.at["addresses"] == hosts and key in sample.values
    }


def _table(results: Results, unit: str, hosts: int) -> Table:
    rows = []
    for device in devices(results):
        costs = cost(results, device, unit, hosts)
        ends = _runs(results, f"{Part.ENDS}_{unit}", device, hosts)
        rates = _runs(results, "rate", device, hosts)
        load = {turn: rate / 1000 for turn, rate in rates.items()}
        if costs[-1]:
            rows.append([device, *map(_cell, (*costs, ends, load))])
    header = ["", *_PARTS, "Sum", "Ends", "1000 frames/s"]
    return Table(f"{UNITS[unit]} a frame, {hosts:,} hosts ({_SHORT})", header, rows)


def _cell(runs: dict[int, float]) -> str:
    return cell(summary(list(runs.values()))) if runs else ""


def _growth(results: Results, few: int, many: int) -> Table:
    """Time of a frame with many hosts beside few, by part."""
    rows = []
    for device in devices(results):
        costs = (cost(results, device, "ns", hosts) for hosts in (many, few))
        shares = [ratios(*pair) for pair in zip(*costs, strict=True)]
        if shares[-1]:
            rows.append([device, *(f"{summary(one).middle:.2f}" if one else "" for one in shares)])
    return Table(f"Time of a frame, {many:,} hosts beside {few:,}", ["", *_PARTS, "Sum"], rows)


def _own_cycles(results: Results, counts: list[int]) -> Table:
    each = {
        device: [_runs(results, "switch_cycles", device, hosts) for hosts in counts]
        for device in devices(results)
    }
    rows = [[device, *map(_cell, runs)] for device, runs in each.items() if any(runs)]
    return Table(_OWN_CYCLES, ["", *(f"{hosts:,} hosts" for hosts in counts)], rows)
