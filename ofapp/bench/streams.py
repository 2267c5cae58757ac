"""Performance for applications: TCP and UDP streams by iperf3, transactions by sockperf.

netperf, whose TCP_RR is the usual measure of transactions, is not in Debian's main archive.
sockperf's ping-pong does the same and tells percentiles. Its messages have 14 octets or more, so
the smallest frame of a transaction has 80 octets where TCP_RR's has 67.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median

from ofapp.bench import BenchError
from ofapp.bench.cpu import Meter, Usage
from ofapp.bench.frames import ADDRESS, Side
from ofapp.bench.names import Measurement
from ofapp.bench.processes import run, started, wait_until
from ofapp.bench.spaces import command
from ofapp.bench.station import Station
from ofapp.bench.task import At, Context, Outcome, Task

_ports = itertools.cycle(range(20_001, 30_000))  # each once: an old one waits in TIME_WAIT
MIN_SECONDS = 2
UDP_PAYLOAD = 1448
_HOST = ADDRESS[Side.RX]
_IPERF = ("iperf3", "-s")
_SERVER, _CLIENT = (("sockperf", how, "--tcp", "-i", _HOST) for how in ("server", "ping-pong"))
_VALID = re.compile(r"\[Valid Duration\] RunTime=([\d.]+) sec; SentMessages=(\d+)")
_MESSAGES = re.compile(r"\[Total Run\].*?SentMessages=(\d+)")
_NOTHING = "No valid observations found"
_PING_LOST = re.compile(r"([\d.]+)% packet loss")
_PING_TIMES = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/")
SMALLEST = 14
"""Octets of the least payload of sockperf, which numbers its messages."""
PING_EVERY = 0.02
"""Seconds."""
_PERCENTILE = re.compile(r"percentile ([\d.]+) =\s+([\d.]+)")


def client(station: Station, seconds: float, words: Sequence[object]) -> str:
    """Return the output of a client at the near end."""
    return run(*station.bed.ends["tx"].run(*words), seconds=seconds + 20)


def _pairs(
    station: Station,
    served: Sequence[object],
    words: Sequence[object],
    seconds: float,
    pairs: int = 1,
) -> tuple[list[str], Usage]:
    """What the clients of so many pairs say after these seconds, and the processor time."""
    ports = [next(_ports) for _ in range(pairs)]
    each, patience = f"for p in {' '.join(map(str, ports))}; do", seconds + 60 + 5 * pairs
    serve, ask = (" ".join(map(str, one)) for one in (served, words))
    with station.shells() as ends:
        near, far = ends[Side.TX], ends[Side.RX]
        folder, logs = (end.run("mktemp -d", 20).strip() for end in (near, far))
        running = far.run(f"{each} {serve} -p $p >{logs}/$p 2>&1 & echo $!; done", 20).split()
        try:
            late = far.run(f"{each} {_LISTENS.format(logs=logs)}; done", patience).strip()
            if late:
                raise BenchError(f"{served[0]} does not serve: {late[-300:]}")
            meter = Meter(station.up.programs)
            near.run(f"{each} {ask} -p $p >{folder}/$p 2>{folder}/e$p & done; wait", patience)
            usage = meter.usage()
            show = f"cd {folder}; if [ -s %d ]; then cat %d; else cat e%d; fi"
            return [near.run(show % ((port,) * 3), 60) for port in ports], usage
        finally:
            far.run(f"kill {' '.join(running)}; rm -r {logs}", 20)
            near.run(f"rm -r {folder}", 20)


_LISTENS = (
    "n=0; until cat /proc/net/tcp* | grep -qi :$(printf %04x $p); do n=$((n+1));"
    ' if [ $n -gt 100 ]; then echo "no answer"; cat {logs}/$p; exit; fi; sleep 0.1; done'
)
"""Wait until a server listens at port `p`, for ten seconds; else say what it said."""


class _Stream(Task):
    """iperf3 in one direction."""

    programs = ("iperf3",)
    sized = False

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        """A stream; with `parts`, one of so many intervals of a trial's length each.

        The intervals have the parameter `part` from 1 on, and the whole stream is part 0.
        """
        parts = int(at.get("parts", 1))
        seconds = max(MIN_SECONDS, math.ceil(context.plan.seconds * parts))
        words = ["iperf3", "-c", _HOST, "-J", "-t", seconds, "-i", seconds / parts, *self.words(at)]
        with sensor(station) if at.get("monitor") else nullcontext():
            (said,), usage = _pairs(station, _IPERF, words, seconds)
        whole = parse_iperf(said) | {"cores": usage.device, "interrupts": usage.interrupts}
        yield (at | {"part": 0} if "parts" in at else at), whole
        if "parts" in at:
            for number, mbps in zip(range(1, parts + 1), parse_intervals(said), strict=False):
                yield at | {"part": number}, {"sent_mbps": mbps}

    @abstractmethod
    def words(self, at: At) -> tuple[object, ...]:
        """The options of the client."""


def parse_intervals(said: str) -> list[float]:
    """Mbit/s of each interval, as the client sent."""
    return [one["sum"]["bits_per_second"] / 1e6 for one in json.loads(said)["intervals"]]


@contextmanager
def sensor(station: Station) -> Iterator[None]:
    """Let tcpdump read all frames at the device's first port meanwhile, as a sensor would."""
    port = station.bed.ports[0]
    words = command(station.up.space, "tcpdump", "-Z", "root", "-n", "-i", port, "-w", "/dev/null")
    with tempfile.TemporaryDirectory(prefix="ofapp-bench-") as folder:
        log = Path(folder) / "log"
        with started(words, log) as process:
            wait_until(lambda: process.poll() is not None or "listening on" in log.read_text(), 10)
            if process.poll() is not None:
                raise BenchError(f"tcpdump: {log.read_text().strip()[-300:]}")
            yield


def parse_iperf(said: str) -> dict[str, float]:
    """The figures of `iperf3 -J`: Mbit/s at both ends, what was retransmitted or lost."""
    answer = json.loads(said)
    if "error" in answer:
        raise BenchError(f"iperf3: {answer['error']}")
    end = answer["end"]
    received = end["sum_received"]
    values = {"mbps": received["bits_per_second"] / 1e6}
    values["sent_mbps"] = end["sum_sent"]["bits_per_second"] / 1e6
    if "retransmits" in end.get("sum_sent", {}):
        values["retransmits"] = float(end["sum_sent"]["retransmits"])
    if "lost_percent" in received:
        values["loss"] = received["lost_percent"] / 100
        values["jitter_ms"] = received["jitter_ms"]
        streams = [stream["udp"] for stream in end["streams"]]
        values["out_of_order"] = float(sum(one.get("out_of_order", 0) for one in streams))
    return values


class Tcp(_Stream):
    """One TCP stream."""

    test = Measurement.TCP

    def words(self, at: At) -> tuple[object, ...]:
        return () if "parts" in at else ("-O", 1)  # without the first second, TCP's slow start


class Udp(_Stream):
    """UDP as fast as iperf3 sends it, or at `mbit` Mbit/s."""

    test = Measurement.UDP

    def words(self, at: At) -> tuple[object, ...]:
        rate, payload = at.get("mbit", 0), int(at.get("payload", UDP_PAYLOAD))
        return "-u", "-b", f"{rate:g}M" if rate else 0, "-l", payload


class Transactions(Task):
    """One request and its answer after another, of `SMALLEST` octets, over one TCP connection."""

    test = Measurement.TRANSACTIONS
    programs = ("sockperf",)
    sized = False

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        seconds = max(1, round(context.plan.seconds))
        (said,), usage = _pairs(station, _SERVER, [*_CLIENT, "-t", seconds], seconds)
        yield at, parse_sockperf(said) | {"cores": usage.device}


def parse_sockperf(said: str) -> dict[str, float]:
    """The figures of `sockperf ping-pong`: transactions a second, and microseconds there and back.

    sockperf tells half round trips.  messages: all transactions, with those before it measures.
    """
    whole, valid = _MESSAGES.search(said), _VALID.search(said)
    halves = {float(share): float(value) for share, value in _PERCENTILE.findall(said)}
    if whole is None or valid is None or 50.0 not in halves:
        raise BenchError(f"sockperf: no figures in what it says: {said.strip()[-300:]}")
    return {
        "messages": float(whole[1]),
        "per_second": int(valid[2]) / float(valid[1]),
        "p50_us": 2 * halves[50.0],
        "p99_us": 2 * halves[99.0],
    }


class Pairs(Task):
    """Several pairs of client and server at once: transactions, or streams (`payload` 0)."""

    test = Measurement.PAIRS
    programs = ("iperf3", "sockperf")

    def points(self, context: Context) -> list[At]:
        return [{"pairs": pairs, "payload": SMALLEST} for pairs in (1, 10)]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        pairs, payload = int(at["pairs"]), int(at["payload"])
        seconds = max(1 if payload else MIN_SECONDS, round(context.plan.seconds))
        if not payload:
            stream = ("iperf3", "-c", _HOST, "-J", "-P", pairs, "-t", seconds)
            (said,), usage = _pairs(station, _IPERF, stream, seconds)
            yield at, {"throughput": parse_iperf(said)["mbps"], "cores": usage.device}
            return
        words = (*_CLIENT, "-m", payload, "-t", seconds)
        each, usage = _pairs(station, _SERVER, words, seconds, pairs)
        # A client that had no answer in time counts as no transactions.
        found = [parse_sockperf(one) for one in each if _NOTHING not in one]
        if not found:
            raise BenchError(f"sockperf: no client of {pairs} had an answer in time")
        # Over the whole time: clients begin and end one after another, and rates do not add up.
        throughput = sum(one["messages"] for one in found) / usage.seconds
        values = {"throughput": throughput, "cores": usage.device}
        values["p50_us"] = median(one["p50_us"] for one in found)
        yield at, values


class Ping(Task):
    """Echo requests and their answers, also while ofapp's controller is disconnected."""

    test = Measurement.PING
    programs = ("ping",)
    sized = False

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        count = max(10, int(context.plan.seconds / PING_EVERY))
        words = ["ping", "-n", "-q", "-i", PING_EVERY, "-c"]
        with station.bed.addressed(station.up.gateway is not None):
            client(station, 5, [*words, 3, _HOST])  # so that both hosts are known
            away = (
                station.device.without_controller(station.bed) if at.get("away") else nullcontext()
            )
            with away:
                said = client(station, count * PING_EVERY, [*words, count, _HOST])
        yield at, parse_ping(said)


def parse_ping(said: str) -> dict[str, float]:
    """The figures of `ping -q`: loss as a share, and milliseconds there and back."""
    lost, times = _PING_LOST.search(said), _PING_TIMES.search(said)
    if lost is None or times is None:
        raise BenchError(f"ping: no figures in what it says: {said.strip()[-300:]}")
    names = ("min_ms", "mean_ms", "max_ms")
    return {"loss": float(lost[1]) / 100} | {
        name: float(value) for name, value in zip(names, times.groups(), strict=True)
    }
