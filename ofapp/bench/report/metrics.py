"""The report of each test: its figures, in which unit, and how they stand in a table."""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.bench.names import Measurement


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of one test.

    key: its name in `Sample.values`; column: the parameter that the table's columns are; factor:
    from the stored unit to the shown one; less: whether less of it is better.
    """

    test: Measurement
    key: str
    title: str
    unit: str
    column: str = ""
    factor: float = 1.0
    less: bool = False

    @property
    def name(self) -> str:
        """For comparisons."""
        return f"{self.title}, {self.unit}"


THROUGHPUT = Metric(Measurement.THROUGHPUT, "rate", "Throughput", "1000 frames/s", "size", 1e-3)
BITS = Metric(Measurement.THROUGHPUT, "mbps", "Throughput", "Mbit/s", "size")
COST = Metric(Measurement.THROUGHPUT, "cpu_us", "CPU time at it", "µs a frame", "size", less=True)
OVERLOAD = Metric(
    Measurement.OVERLOAD, "rate", "Forwarded at the highest load", "1000 frames/s", "size", 1e-3
)
OVERLOAD_COST = Metric(
    Measurement.OVERLOAD, "cpu_us", "CPU time at the highest load", "µs a frame", "size", less=True
)
PROGRAMS = Metric(
    Measurement.OVERLOAD,
    "programs_us",
    "CPU time of the switch's programs at it",
    "µs a frame",
    "size",
    less=True,
)
P50 = Metric(Measurement.LATENCY, "p50_us", "Latency, median", "µs", "rate", less=True)
P99 = Metric(Measurement.LATENCY, "p99_us", "Latency, 99th percentile", "µs", "rate", less=True)
CORES = Metric(Measurement.LATENCY, "cores", "CPU occupancy", "cores", "rate", less=True)
LOSS = Metric(Measurement.LOSS, "loss", "Frames lost", "%", "share", 100, less=True)
BURST = Metric(Measurement.BACK_TO_BACK, "frames", "Longest burst", "frames")
FLOODING = Metric(Measurement.FLOODING, "rate", "Broadcasts", "1000 frames/s", factor=1e-3)
ADDRESSES = Metric(
    Measurement.ADDRESSES, "rate", "Forwarding to many hosts", "1000 frames/s", "addresses", 1e-3
)
CACHING = Metric(Measurement.CACHING, "addresses", "Addresses held", "addresses")
LEARNING = Metric(Measurement.LEARNING, "per_second", "Addresses learned", "a second")
TCP = Metric(Measurement.TCP, "mbps", "TCP", "Mbit/s")
UDP = Metric(Measurement.UDP, "mbps", "UDP", "Mbit/s")
TRANSACTIONS = Metric(Measurement.TRANSACTIONS, "per_second", "Transactions", "a second")
ROUND_TRIP = Metric(
    Measurement.TRANSACTIONS, "p99_us", "Transaction, 99th percentile", "µs", less=True
)

PAIRS = Metric(Measurement.PAIRS, "throughput", "Transactions of pairs", "a second", "pairs")
PING = Metric(Measurement.PING, "mean_ms", "Ping, mean", "ms", less=True)

COMPARED = (
    OVERLOAD,
    PROGRAMS,
    OVERLOAD_COST,
    THROUGHPUT,
    COST,
    P50,
    P99,
    FLOODING,
    ADDRESSES,
    LEARNING,
    TCP,
    UDP,
    TRANSACTIONS,
    ROUND_TRIP,
)


@dataclass(frozen=True, slots=True)
class Chapter:
    """Some tables under one heading, the plots that go with them, and what a reader must know."""

    title: str
    metrics: tuple[Metric, ...]
    text: str
    plots: tuple[str, ...] = ()


CHAPTERS = (
    Chapter(
        "Throughput",
        (THROUGHPUT, BITS, COST),
        "RFC 2544, 26.1: the highest rate of which at most the allowed share is lost. `≥` says that"
        " all that the generator could send arrived: it and not the device was the limit. Over veth"
        " the kernel forwards within the sender's own system call, so where `≥` stands beside less"
        " than the wire's figure, generator and device shared a core. CPU time is that of the"
        " kernel (the generator's sending included, which the wire's row shows alone) and of the"
        " device's programs.",
        ("throughput",),
    ),
    Chapter(
        "Highest load",
        (OVERLOAD, OVERLOAD_COST, PROGRAMS),
        "RFC 2285, 3.6.2: what comes through of all that the generator can send. A device that"
        " forwards within the sender's system call slows it down instead of losing frames: the"
        " figure is then what both do together. The programs' own time, ofapp included, is exact,"
        " but of all that they do, for other bridges too.",
    ),
    Chapter(
        "Latency and CPU occupancy",
        (P50, P99, CORES),
        "RFC 2544, 26.2: from the sending driver to the reception at the far end, by the kernel's"
        " time stamps, at an even load. A device that polls keeps a core busy at any load.",
        ("latency", "cpu"),
    ),
    Chapter(
        "Frame loss",
        (LOSS,),
        "RFC 2544, 26.3: at shares of the highest rate that the generator offers this device.",
    ),
    Chapter(
        "Back-to-back frames",
        (BURST,),
        "RFC 2544, 26.4: the longest burst at the generator's highest rate; `≥` is the RFC's"
        " longest trial, two seconds.",
    ),
    Chapter(
        "Addresses",
        (ADDRESSES, CACHING, LEARNING, FLOODING),
        "RFC 2889. Forwarding goes to each of so many known hosts in turn, and the table is made"
        " large enough for them (OVS's own is of 8,192 addresses as shipped). Held: how many are"
        " known after they were offered to a device as it is shipped (`≥`: all of them). Learned:"
        " the highest rate at which each of 2,000 new addresses is learned; ofapp's protection of"
        " 1,000 a second and port is lifted for it. Broadcasts: the highest rate that every port"
        " gets.",
        ("addresses",),
    ),
    Chapter(
        "Streams and transactions",
        (TCP, UDP, TRANSACTIONS, ROUND_TRIP, PAIRS, PING),
        "iperf3, one stream; sockperf, one request and its answer at a time over TCP; ping. All"
        " offloads of the ends are off, so that a frame is a frame for every device.",
    ),
)
