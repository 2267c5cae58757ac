"""The results as Markdown."""

from __future__ import annotations

from statistics import median
from typing import Any

OFAPP = "ofapp"
DISTURBED = 0.75


def _spread(values: list[float]) -> float:
    """Half the range between the extremes, as a percentage of the median."""
    middle = median(values)
    return (max(values) - min(values)) / 2 / middle * 100 if middle else 0.0


def _ratio(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    """The median of the ratios of runs side by side: the machine's slow spells cancel out."""
    each = [our["rate"] / their["rate"] for our, their in zip(ours, theirs, strict=False)]
    return f"{median(each):.2f}x ({min(each):.2f}-{max(each):.2f})"


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _head(*cells: str) -> list[str]:
    return [_row(*cells), "|" + "|".join([" --- ", *(["---:"] * (len(cells) - 1))]) + "|"]


def channel(results: dict[str, list[dict[str, Any]]], names: dict[str, str]) -> list[str]:
    """The comparison of controllers; `ofapp is` so many times as fast."""

    def mid(key: str, value: str) -> float:
        return median(run[value] for run in results[key])

    lines = _head(
        "Controller",
        "hosts/s",
        "spread",
        "ofapp is",
        "CPU µs/host",
        "by CPU",
        "busy",
        "delay p50 µs",
        "p99 µs",
        "all flows p50 µs",
        "flows/host",
        "runs",
    )
    for key, runs in results.items():
        rates = [run["rate"] for run in runs]
        ratio = by_cpu = ""
        if key != OFAPP and OFAPP in results:
            ratio = _ratio(results[OFAPP], runs)
            by_cpu = f"{mid(key, 'cpu_us') / mid(OFAPP, 'cpu_us'):.2f}x"
        lines.append(
            _row(
                names[key],
                f"{median(rates):,.0f}",
                f"±{_spread(rates):.0f}%",
                ratio,
                f"{mid(key, 'cpu_us'):.1f}",
                by_cpu,
                f"{mid(key, 'controller_busy') * 100:.0f}%",
                f"{mid(key, 'p50_us'):.0f}",
                f"{mid(key, 'p99_us'):.0f}",
                f"{mid(key, 'complete_p50_us'):.0f}",
                runs[0]["flows_a_host"],
                len(runs),
            )
        )
    lines.append("")
    for key, runs in results.items():
        disturbed = sum(
            max(run["controller_busy"], run["generator_busy"]) < DISTURBED for run in runs
        )
        if disturbed:
            lines.append(
                f"{names[key]}: in {disturbed} of {len(runs)} runs neither side was busy: "
                "other work on the machine took part of both cores; trust the CPU time more."
            )
        limited = sum(run["generator_limited"] for run in runs)
        if limited and key != "null":
            lines.append(f"**The generator was the limit** in {limited} runs of {names[key]}.")
        lost = sum(run["unanswered"] for run in runs)
        if lost:
            lines.append(f"{names[key]} left {lost} packet-ins unanswered over all runs.")
        missing = sum(run["missing"] for run in runs)
        if missing:
            lines.append(f"**Wrong**: {missing} hosts have no flow in the switch of {names[key]}.")
        partly = sum(run["incomplete"] for run in runs)
        if partly:
            lines.append(f"{names[key]} left {partly} hosts without all their flows.")
    return lines


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Memory and queries."""
    hosts = runs[-1]["hosts"]
    each = [run["bytes_a_host"] for run in runs]
    lines = [
        f"{hosts:,} hosts learned: **{median(each):,.0f} bytes a host** (±{_spread(each):.0f}%, "
        f"{len(runs)} runs; resident {median(r['before_mib'] for r in runs):.1f} MiB before, "
        f"{median(r['after_mib'] for r in runs):.1f} MiB after, "
        f"{median(r['after_queries_mib'] for r in runs):.1f} MiB after the queries).",
        *_swept(runs),
        "",
        *_head("Query at that size", "median ms", "p99 ms"),
    ]
    for name in runs[-1]["ms"]:
        lines.append(
            _row(
                name,
                f"{median(r['ms'][name] for r in runs):.2f}",
                f"{median(r['ms_p99'][name] for r in runs):.2f}",
            )
        )
    if "walk" in runs[-1]:
        walk = runs[-1]["walk"]
        seconds = median(r["walk"]["seconds"] for r in runs if "walk" in r)
        lines += [
            "",
            f"All pages: {walk['entries']:,} entries in {walk['pages']} pages, {seconds:.2f} s "
            f"(slowest page {walk['slowest_ms']:.1f} ms, {walk['bytes'] / 2**20:.1f} MiB).",
        ]
    for name, why in runs[-1]["failed"].items():
        lines.append(f"Query {name} failed: {why}")
    return lines


def _swept(runs: list[dict[str, Any]]) -> list[str]:
    each = [run["swept_bytes_a_host"] for run in runs if run.get("swept_bytes_a_host")]
    if not each:
        return []
    return [f"After a sweep of all flow statistics: **{median(each):,.0f} bytes a host**."]


def flood(runs: list[dict[str, Any]]) -> list[str]:
    """Responsiveness under a flood of new MACs."""
    lines = _head(
        "One port floods new MACs",
        "packet-ins/s",
        "CPU µs each",
        "REST p50 ms",
        "REST p99 ms",
        "REST max ms",
        "echo p50 ms",
        "echo p99 ms",
    )
    labels = {
        "quiet": "no flood (1 a second)",
        "metered": f"at the meter's rate ({runs[-1]['meter_rate'] or 0:,.0f}/s)",
        "flat_out": "flat out, past the meter",
    }
    for name, label in labels.items():
        found = [run[name] for run in runs if name in run]
        if not found:
            continue

        def mid(key: str, found: list[dict[str, Any]] = found) -> float:
            return median(run[key] for run in found)

        cpu = f"{mid('cpu_us'):.1f}" if name == "flat_out" else ""
        lines.append(
            _row(
                label,
                f"{mid('packet_ins_a_second'):,.0f}",
                cpu,
                *(f"{mid(key):.1f}" for key in ("rest_p50_ms", "rest_p99_ms", "rest_max_ms")),
                *(f"{mid(key):.1f}" for key in ("echo_p50_ms", "echo_p99_ms")),
            )
        )
        failures = sum(run["rest_failures"] for run in found)
        if failures:
            lines.append(f"\n{failures} REST requests failed: {label}.\n")
    lines.append("")
    lines.append(f"The table was full: {runs[-1]['filled']:,} hosts learned before.")
    return lines
