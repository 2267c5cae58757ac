"""Performance for applications: TCP and UDP streams by iperf3, transactions by sockperf.

netperf, whose TCP_RR is the usual measure of transactions, is not in Debian's main archive;
sockperf's ping-pong does the same, and tells percentiles.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.cpu import Meter
from ofapp.bench.frames import ADDRESS, Side
from ofapp.bench.names import Measurement
from ofapp.bench.processes import listens, run, started, wait_until
from ofapp.bench.station import Station
from ofapp.bench.task import At, Context, Outcome, Task

_ports = itertools.cycle(range(20_001, 30_000))  # each once: an old one waits in TIME_WAIT
MIN_SECONDS = 2
UDP_PAYLOAD = 1448
_HOST = ADDRESS[Side.RX]
_VALID = re.compile(r"\[Valid Duration\] RunTime=([\d.]+) sec; SentMessages=(\d+)")
_PERCENTILE = re.compile(r"percentile ([\d.]+) =\s+([\d.]+)")


@contextmanager
def server(station: Station, *words: object) -> Iterator[int]:
    """A server at the far end, once it listens, given a port by -p; the port."""
    port = next(_ports)
    with tempfile.TemporaryDirectory(prefix="ofapp-bench-") as folder:
        log = Path(folder) / "log"
        with started(station.bed.ends["rx"].run(*words, "-p", port), log) as process:

            def ready() -> bool:
                return process.poll() is not None or _listens(port, process)

            if not wait_until(ready, 10) or process.poll() is not None:
                said = log.read_text(errors="replace").strip()[-300:]
                raise BenchError(f"{words[0]} does not serve: {said or 'no answer'}")
            yield port


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    try:
        return listens(port, process.pid)
    except OSError:
        return False


def client(station: Station, seconds: float, words: Sequence[object]) -> str:
    """Return the output of a client at the near end."""
    return run(*station.bed.ends["tx"].run(*words), seconds=seconds + 20)


class _Stream(Task):
    """iperf3 in one direction; `options` are those of its client."""

    options: tuple[object, ...] = ()

    def points(self, context: Context) -> list[At]:
        return [{}]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        seconds = max(MIN_SECONDS, round(context.plan.seconds))
        words = ["iperf3", "-c", _HOST, "-J", "-t", seconds, *self.options]
        with (
            station.bed.addressed(station.up.gateway is not None),
            server(station, "iperf3", "-s") as port,
        ):
            meter = Meter(station.up.programs)
            said = client(station, seconds, [*words, "-p", port])
            cores = meter.usage().device
        yield at, parse_iperf(said) | {"cores": cores}


def parse_iperf(said: str) -> dict[str, float]:
    """The figures of `iperf3 -J`: Mbit/s at the receiver, what was retransmitted or lost."""
    answer = json.loads(said)
    if "error" in answer:
        raise BenchError(f"iperf3: {answer['error']}")
    end = answer["end"]
    received = end["sum_received"]
    values = {"mbps": received["bits_per_second"] / 1e6}
    if "retransmits" in end.get("sum_sent", {}):
        values["retransmits"] = float(end["sum_sent"]["retransmits"])
    if "lost_percent" in received:
        values["loss"] = received["lost_percent"] / 100
    return values


class Tcp(_Stream):
    """One TCP stream."""

    test = Measurement.TCP
    options = ("-O", 1)  # without the first second, TCP's slow start


class Udp(_Stream):
    """UDP as fast as iperf3 sends it."""

    test = Measurement.UDP
    options = ("-u", "-b", 0, "-l", UDP_PAYLOAD)


class Transactions(Task):
    """One request of 1 octet and its answer after another, over one TCP connection."""

    test = Measurement.TRANSACTIONS

    def points(self, context: Context) -> list[At]:
        return [{}]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        seconds = max(1, round(context.plan.seconds))
        common = ("--tcp", "-i", _HOST)
        with (
            station.bed.addressed(station.up.gateway is not None),
            server(station, "sockperf", "server", *common) as port,
        ):
            words = ["sockperf", "ping-pong", *common, "-p", port, "-t", seconds]
            meter = Meter(station.up.programs)
            said = client(station, seconds, words)
            cores = meter.usage().device
        yield at, parse_sockperf(said) | {"cores": cores}


def parse_sockperf(said: str) -> dict[str, float]:
    """The figures of `sockperf ping-pong`: transactions a second, and microseconds there and back.

    sockperf tells half round trips.
    """
    valid = _VALID.search(said)
    halves = {float(share): float(value) for share, value in _PERCENTILE.findall(said)}
    if valid is None or 50.0 not in halves:
        raise BenchError(f"sockperf: no figures in what it says: {said.strip()[-300:]}")
    return {
        "per_second": int(valid[2]) / float(valid[1]),
        "p50_us": 2 * halves[50.0],
        "p99_us": 2 * halves[99.0],
    }
