"""The results as Markdown."""

from __future__ import annotations

from statistics import median
from typing import Any

from tests.bench.table import head, interval, row, spread

OFAPP = "ofapp"
DISTURBED = 0.75
Runs = list[dict[str, Any]]


def _mid(runs: Runs, key: str) -> float:
    return median(run[key] for run in runs)


def channel(results: dict[str, Runs], names: dict[str, str]) -> list[str]:
    """The comparison of controllers; `ofapp is` so many times as fast, by runs side by side."""
    columns = ("hosts/s", "ofapp is", "CPU µs/host", "by CPU", "busy", "delay p50 µs", "p99 µs")
    lines = [head("Controller", *columns, "all flows p50 µs", "flows/host", "runs")]
    for key, runs in results.items():
        ratio = by_cpu = ""
        if key != OFAPP and OFAPP in results:
            ours = results[OFAPP]
            pairs = zip(ours, runs, strict=False)
            ratio = interval([one["rate"] / other["rate"] for one, other in pairs], ".2f")
            by_cpu = f"{_mid(runs, 'cpu_us') / _mid(ours, 'cpu_us'):.2f}"
        delays = (f"{_mid(runs, key):.0f}" for key in ("p50_us", "p99_us", "complete_p50_us"))
        lines.append(
            row(
                *(names[key], spread([run["rate"] for run in runs], ",.0f"), ratio),
                *(f"{_mid(runs, 'cpu_us'):.1f}", by_cpu, f"{_mid(runs, 'controller_busy'):.0%}"),
                *(*delays, runs[0]["flows_a_host"], len(runs)),
            )
        )
    lines.append("")
    for key, runs in results.items():
        lines += [
            text.format(count=count, runs=len(runs), name=names[key])
            for count, text in (
                (
                    sum(max(r["controller_busy"], r["generator_busy"]) < DISTURBED for r in runs),
                    "{name}: in {count} of {runs} runs neither side was busy: other work on the "
                    "machine took part of both cores; trust the CPU time more.",
                ),
                (
                    sum(run["generator_limited"] for run in runs) * (key != "null"),
                    "**The generator was the limit** in {count} runs of {name}.",
                ),
                (
                    sum(run["unanswered"] for run in runs),
                    "{name} left {count} packet-ins unanswered over all runs.",
                ),
                (
                    sum(run["missing"] for run in runs),
                    "**Wrong**: {count} hosts have no flow in the switch of {name}.",
                ),
                (
                    sum(run["incomplete"] for run in runs),
                    "{name} left {count} hosts without all their flows.",
                ),
            )
            if count
        ]
    return lines


def table(runs: Runs) -> list[str]:
    """Memory and queries."""
    last = runs[-1]
    times = ("before", "after", "after_queries")
    before, after, queried = (f"{_mid(runs, f'{time}_mib'):.1f}" for time in times)
    lines = [
        f"{last['hosts']:,} hosts learned: "
        f"**{spread([run['bytes_a_host'] for run in runs])} bytes a host**, {len(runs)} runs; "
        f"resident {before} MiB before, {after} MiB after, {queried} MiB after the queries."
    ]
    if swept := [run["swept_bytes_a_host"] for run in runs if run.get("swept_bytes_a_host")]:
        lines.append(f"After all flow statistics were read: **{median(swept):,.0f} bytes a host**.")
    lines += ["", head("Query at that size", "median ms", "p99 ms")]
    for name in last["ms"]:
        figures = (median(run[key][name] for run in runs) for key in ("ms", "ms_p99"))
        lines.append(row(name, *(f"{figure:.2f}" for figure in figures)))
    if walk := last.get("walk"):
        seconds = median(run["walk"]["seconds"] for run in runs if "walk" in run)
        lines += [
            "",
            f"All pages: {walk['entries']:,} entries in {walk['pages']} pages, {seconds:.2f} s "
            f"(slowest page {walk['slowest_ms']:.1f} ms, {walk['bytes'] / 2**20:.1f} MiB).",
        ]
    return lines + [f"Query {name} failed: {why}" for name, why in last["failed"].items()]


def flood(runs: Runs) -> list[str]:
    """Responsiveness under a flood of new MACs."""
    figures = ("rest_p50_ms", "rest_p99_ms", "rest_max_ms", "echo_p50_ms", "echo_p99_ms")
    titles = (figure.replace("_", " ") for figure in figures)
    lines = [head("One port floods new MACs", "packet-ins/s", "CPU µs each", *titles)]
    labels = {
        "quiet": "no flood (1 a second)",
        "metered": f"at the meter's rate ({runs[-1]['meter_rate'] or 0:,.0f}/s)",
        "flat_out": "flat out, past the meter",
    }
    failures = []
    for name, label in labels.items():
        if found := [run[name] for run in runs if name in run]:
            cpu = f"{_mid(found, 'cpu_us'):.1f}" if name == "flat_out" else ""
            delays = (f"{_mid(found, figure):.1f}" for figure in figures)
            lines.append(row(label, f"{_mid(found, 'packet_ins_a_second'):,.0f}", cpu, *delays))
            if failed := sum(run["rest_failures"] for run in found):
                failures.append(f"{failed} REST requests failed: {label}.")
    filled = f"The table was full: {runs[-1]['filled']:,} hosts learned before."
    return [*lines, "", *failures, filled]
