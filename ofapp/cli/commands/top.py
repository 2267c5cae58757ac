"""ofapp top: live load of the controller and its switches.

It reads /metrics, so Prometheus can record everything that it shows.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated, NamedTuple

import typer

from ofapp.cli.client import CONNECT, Client
from ofapp.cli.output import print_table, repeat, say

_LATENESS = "ofapp_loop_lateness_seconds_bucket"
_RATES = {
    "ofapp_packet_ins_total": "PACKET-IN/S",
    "ofapp_port_receive_frames_total": "RX-FRAMES/S",
    "ofapp_port_receive_bytes_total": "RX-BYTES/S",
    "ofapp_port_transmit_frames_total": "TX-FRAMES/S",
    "ofapp_port_transmit_bytes_total": "TX-BYTES/S",
}
_NUMBERS = {
    *("ofapp_bridge_connected", "ofapp_bridge_in_line", "ofapp_fdb_entries", "ofapp_port_up"),
    "ofapp_channel_echo_round_trip_seconds",
}


class Taken(NamedTuple):
    """Values of /metrics; at: monotonic time.

    sums: sums of all samples of a name, by name and bridge; late: how often the loop was at most so
    many seconds late; processor: seconds that the controller has used of it.
    """

    at: float
    sums: Counter[tuple[str, str]]
    bridges: dict[str, str]
    late: dict[float, float]
    processor: float


def top(
    seconds: Annotated[
        float, typer.Option("--watch", metavar="S", min=1, help="Seconds between two updates.")
    ] = 2.0,
    count: Annotated[
        int | None, typer.Option("-n", metavar="N", min=1, help="End after this many updates.")
    ] = None,
    client: Client = CONNECT,
) -> None:
    """Show the load of the controller and its switches live: lateness, addresses, rates.

    Rates are averages since the last update, from the second one on.
    """
    before: Taken | None = None
    left = count

    def once() -> None:
        nonlocal before, left
        now = taken(client.text("/metrics"), time.monotonic())
        _show(now, before)
        before = now
        if left is not None:
            left -= 1
            if not left:
                raise typer.Exit

    repeat(once, seconds)


def taken(text: str, now: float) -> Taken:
    """Read the values that are shown from /metrics."""
    from prometheus_client.parser import text_string_to_metric_families

    values = Taken(now, Counter(), {}, {}, 0.0)
    processor = 0.0
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in _NUMBERS or sample.name in _RATES:
                datapath_id = sample.labels["datapath_id"]
                values.bridges[datapath_id] = sample.labels["bridge"]
                values.sums[sample.name, datapath_id] += sample.value  # type: ignore[assignment]
            elif sample.name == _LATENESS:
                values.late[float(sample.labels["le"])] = sample.value
            elif sample.name == "process_cpu_seconds_total":
                processor = sample.value
    return values._replace(processor=processor)


def lateness(now: Taken, before: Taken | None) -> float | None:
    """Greatest lateness of the loop since `before`, in seconds; None if not measured."""
    earlier = before.late if before is not None else {}
    counts = [(bound, count - earlier.get(bound, 0)) for bound, count in sorted(now.late.items())]
    if not counts or not counts[-1][1]:
        return None
    return next(bound for bound, count in counts if count == counts[-1][1])


def _show(now: Taken, before: Taken | None) -> None:
    connected = sum(
        bool(now.sums["ofapp_bridge_connected", datapath_id]) for datapath_id in now.bridges
    )
    late = lateness(now, before)
    said = [f"{len(now.bridges)} bridges, {connected} of them connected"]
    if late is not None:
        said.append(f"the event loop was at most {late * 1000:g} ms late")
    if before is not None:
        used = (now.processor - before.processor) / (now.at - before.at)
        said.append(f"{used:.0%} of a processor")
    say("; ".join(said), bold=True)
    header = ["BRIDGE", "STATE", "PORTS-UP", "FDB", "ECHO-MS", *_RATES.values()]
    rows = [
        _row(datapath_id, name, now, before) for datapath_id, name in sorted(now.bridges.items())
    ]
    print_table(header, rows)


def _row(datapath_id: str, name: str, now: Taken, before: Taken | None) -> list[str]:
    def number(what: str) -> float:
        return now.sums[what, datapath_id]

    state = "disconnected"
    if number("ofapp_bridge_connected"):
        state = "in sync" if number("ofapp_bridge_in_line") else "connected"
    echo = number("ofapp_channel_echo_round_trip_seconds")
    return [
        *(name, state, f"{number('ofapp_port_up'):.0f}", f"{number('ofapp_fdb_entries'):.0f}"),
        f"{echo * 1000:.1f}" if echo else "-",
        *(_rate(what, datapath_id, now, before) for what in _RATES),
    ]


def _rate(what: str, datapath_id: str, now: Taken, before: Taken | None) -> str:
    if (
        before is None
        or (what, datapath_id) not in before.sums
        or (what, datapath_id) not in now.sums
    ):
        return "-"
    more = now.sums[what, datapath_id] - before.sums[what, datapath_id]
    return "-" if more < 0 else f"{more / (now.at - before.at):.0f}"
