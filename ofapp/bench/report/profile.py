"""The chapter of a profile: cost of a frame by part of its way, and what many hosts add."""

from __future__ import annotations

from ofapp.bench.figures import ratios, summary
from ofapp.bench.model import Results
from ofapp.bench.names import Measurement
from ofapp.bench.profile.parts import DEVICE, Part
from ofapp.bench.report.metrics import Chapter, Metric
from ofapp.bench.report.tables import Filled, Point, Table, by_point, cell, devices

PAPER = "N. Varis, Anatomy of a Linux bridge, Aalto University 2012"
UNITS = {
    "ns": "CPU time, ns",
    "cycles": "Processor cycles",
    "references": "Cache references",
    "misses": "Cache misses",
}
_SHORT = "after Varis, tables 1 and 2"
_CHAPTER = Chapter(
    "Cost of a frame by part",
    (),
    f"After {PAPER}, tables 1 and 2, as far as a summary describes them: processor cycles, cache"
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
_OWN_CYCLES = Metric(
    Measurement.PROFILE,
    "switch_cycles",
    "Open vSwitch's own count for its polling threads",
    "cycles a frame",
    "addresses",
)


_LOAD = Metric(Measurement.PROFILE, "rate", "Load", "1000 frames/s", "addresses", 1e-3)


def metric(part: Part, unit: str) -> Metric:
    """The figure of a part."""
    return Metric(
        Measurement.PROFILE,
        f"{part}_{unit}",
        part.capitalize(),
        UNITS[unit],
        "addresses",
        less=True,
    )


def total(results: Results, device: str, unit: str) -> dict[int, dict[int, float]]:
    """The sum of the device's parts, by number of hosts and by repetition."""
    sums: dict[int, dict[int, float]] = {}
    for part in DEVICE:
        for at, runs in by_point(results, metric(part, unit), device).items():
            hosts = sums.setdefault(int(dict(at)["addresses"]), {})
            for repetition, value in runs.items():
                hosts[repetition] = hosts.get(repetition, 0.0) + value
    return sums


def chapter(results: Results) -> list[Filled]:
    """The chapter, if the run has a profile."""
    counts = host_counts(results)
    tables: list[Table] = []
    for unit in UNITS:
        tables += [table for hosts in counts if (table := _table(results, unit, hosts))]
    if len(counts) > 1:
        tables += [_growth(results, counts[0], counts[-1])]
    tables += [table for table in [_own_cycles(results, counts)] if table.rows]
    return [Filled(_CHAPTER, tables)] if counts else []


def host_counts(results: Results) -> list[int]:
    """The numbers of hosts of the profile, ascending."""
    return sorted(
        {
            int(sample.at["addresses"])
            for sample in results.samples
            if sample.test is Measurement.PROFILE
        }
    )


def _table(results: Results, unit: str, hosts: int) -> Table | None:
    rows = []
    for device in devices(results):
        sums = total(results, device, unit).get(hosts)
        if sums is None:
            continue
        parts = [_runs(results, part, unit, device, hosts) for part in DEVICE]
        ends = _runs(results, Part.ENDS, unit, device, hosts)
        load = by_point(results, _LOAD, device).get(_at(hosts), {})
        rows.append([device, *map(_cell, (*parts, sums, ends, load))])
    if not rows:
        return None
    header = ["", *(part.capitalize() for part in DEVICE), "Sum", "Ends", _LOAD.unit]
    return Table(f"{UNITS[unit]} a frame, {hosts:,} hosts ({_SHORT})", header, rows)


def _runs(results: Results, part: Part, unit: str, device: str, hosts: int) -> dict[int, float]:
    points = by_point(results, metric(part, unit), device)
    return points.get(_at(hosts), {})


def _at(hosts: int) -> Point:
    return (("addresses", float(hosts)),)


def _cell(runs: dict[int, float]) -> str:
    return cell(summary(list(runs.values()))) if runs else ""


def _growth(results: Results, few: int, many: int) -> Table:
    """Time of a frame with many hosts beside few, by part."""
    rows = []
    for device in devices(results):
        sums = total(results, device, "ns")
        if few not in sums or many not in sums:
            continue
        each = [
            (_runs(results, part, "ns", device, many), _runs(results, part, "ns", device, few))
            for part in DEVICE
        ]
        shares = [ratios(*pair) for pair in (*each, (sums[many], sums[few]))]
        rows.append([device, *(f"{summary(one).middle:.2f}" if one else "" for one in shares)])
    header = ["", *(part.capitalize() for part in DEVICE), "Sum"]
    return Table(f"Time of a frame, {many:,} hosts beside {few:,}", header, rows)


def _own_cycles(results: Results, counts: list[int]) -> Table:
    rows = []
    for device in devices(results):
        points = by_point(results, _OWN_CYCLES, device)
        if points:
            cells = [points.get(_at(hosts), {}) for hosts in counts]
            rows.append([device, *map(_cell, cells)])
    return Table(_OWN_CYCLES.name, ["", *(f"{hosts:,} hosts" for hosts in counts)], rows)
