"""IBM, KVM networking: Linux bridge compared to Open vSwitch (Linux on IBM Z documentation).

uperf transactions and streams between pairs of KVM guests, on one host with a small and a large
MTU, and across two hosts. The text gives differences in words and per cent; the figures are
pictures, which it does not contain.
"""

from __future__ import annotations

from ofapp.bench.model import described
from ofapp.bench.names import Dut, Measurement
from ofapp.bench.papers import Column, Exhibit, Head, Lack, Length, Paper, Row
from ofapp.bench.papers.found import (
    BRIDGES,
    At,
    Claim,
    Figure,
    Found,
    Judged,
    Verdict,
    judge,
    unseen,
)

Loads = tuple[int, ...]
_TEST = Measurement.PAIRS
_SMALL, _MEDIUM, _LARGE, _STREAM = 64, 1_024, 30_000, 0
_NAMES = {
    _SMALL: "small transactions",
    _MEDIUM: "medium transactions",
    _LARGE: "large transactions",
    _STREAM: "stream",
}
_PAIRS = (1, 10, 50)
_ALIKE, _WITHOUT = "Linux bridge as Open vSwitch", "not in the text"
_GUESTS = Lack(
    "KVM guests",
    "Where KVM works, or with `--guests`, clients are in one virtual machine and servers in another"
    " (the heading says so). Otherwise namespaces stand for guests: virtio and the guests' kernels"
    " are not in the path.",
)
_KERNEL = Lack(
    "Open vSwitch's kernel datapath",
    "The columns name the datapath that was measured. `--datapath system` takes the kernel's, where"
    " the kernel has it; netdev reads each frame by a system call.",
)
_UPERF = Lack(
    "uperf, and the sizes of its payloads",
    "The text names no sizes. sockperf asks and answers over TCP, with as many octets both ways;"
    " iperf3 sends the streams.",
)
_TWO = Lack(
    "Two hosts and their NICs",
    "Two bridges of the same kind, with a veth pair between them, on this machine.",
)


_WITHIN, _SAVES = "within measurement variation", "Linux bridge may save a very little"
_SAID = {
    _SMALL: (_WITHIN, _WITHIN, _SAVES),
    _MEDIUM: ("Open vSwitch 5 % ahead", "Open vSwitch 5 % ahead", _SAVES),
    _LARGE: ("Linux bridge up to 7 % behind", _WITHOUT, _WITHOUT),
    _STREAM: ("within 2 %", "within 2 %", _WITHOUT),
}
"""Figure 1's throughput, latency and CPU."""


def _row(payload: int, pairs: int, mtu: int, machines: int) -> Row:
    at = {"pairs": pairs, "payload": payload, "mtu": mtu, "machines": machines}
    if machines > 1:
        return Row(at, (_ALIKE, _ALIKE, "no clear trend"))
    return Row(at, _SAID[payload] if mtu == 1_500 else (_ALIKE, _ALIKE, _ALIKE))


def _kind(at: At) -> str:
    payload = int(at["payload"])
    name = _NAMES.get(payload, "transactions")
    return name if payload == _STREAM else f"{name}, {payload:,} octets"


def _figure(number: int, title: str, mtu: int, machines: int) -> Exhibit:
    return Exhibit(
        f"figure {number}",
        title,
        "Throughput is transactions a second, for streams Mbit/s; latency is the median of"
        " transactions; CPU is that of the kernel and the switch's programs, in cores.",
        _TEST,
        BRIDGES,
        (
            Head("Workload", _kind),
            Head("Pairs", lambda at: f"{at['pairs']:,.0f}"),
            Head("MTU", lambda at: f"{at['mtu']:,.0f}"),
        ),
        (
            Column("Throughput", "throughput"),
            Column("Latency, µs", "p50_us", lost="a stream has none"),
            Column("CPU, cores", "cores"),
        ),
        tuple(_row(payload, pairs, mtu, machines) for payload in _NAMES for pairs in _PAIRS),
        axis="pairs",
        split="payload",
        lacks=(_GUESTS, _KERNEL, _UPERF, *((_TWO,) if machines > 1 else ())),
    )


def _alike(text: str, figure: str, key: str, payloads: Loads, at: At, *bounds: float) -> Claim:
    """The claim that the Linux bridge has so much of Open vSwitch's figure, at each such load."""
    low, high = bounds

    def check(found: Found) -> Judged:
        spans = {
            described(one): span
            for one in found.all_loads(_TEST)
            if at.items() <= one.items() and one["payload"] in payloads
            for label in found.labels(Dut.NORMAL)[:1]
            for span in found.spans(
                Figure(_TEST, key, one), Dut.LINUX, over=Figure(_TEST, key, one, label)
            ).values()
        }
        middle = [span.middle for span in spans.values()] or [0.0]
        said = f"The Linux bridge has {min(middle):.2f} to {max(middle):.2f} of Open vSwitch's"
        said += f" {_WORDS[key]}"
        if spans and found.results.plan.emulated:
            return Verdict.UNSEEN, f"{said}: without KVM the emulation sets the speed."
        limits = f"at most {high:.2f}" if not low else f"{low:.2f} to {high:.2f}"
        return judge(spans, f"{said}; the claim is {limits}.", low=low, high=high)

    return Claim(text, figure, figure, check)


_WORDS = {"throughput": "throughput", "p50_us": "latency", "cores": "processor time"}
_ONE, _JUMBO, _ACROSS, _ACROSS_JUMBO = (
    {"mtu": mtu, "machines": machines} for machines in (1, 2) for mtu in (1_500, 9_000)
)
_ALL, _RATE, _FEW = tuple(_NAMES), "throughput", (_SMALL, _MEDIUM)
_CLAIMS: tuple[tuple[str, str, str, Loads, At, float, float], ...] = (
    (
        "Small and medium transactions are alike on both bridges.",
        *("figure 1", _RATE, _FEW, _ONE, 0.95, 1.05),
    ),
    ("Their latency is alike, too.", "figure 1", "p50_us", _FEW, _ONE, 0.95, 1.05),
    (
        "With medium transactions Open vSwitch is 5 % ahead.",
        *("figure 1", _RATE, (_MEDIUM,), _ONE, 0, 0.98),
    ),
    (
        "Under high load the Linux bridge drops behind, up to 7 %.",
        *("figure 1", _RATE, (_LARGE,), _ONE, 0, 0.98),
    ),
    ("Streams differ by 2 % at most.", "figure 1", _RATE, (_STREAM,), _ONE, 0.98, 1.02),
    (
        "Small and medium transactions cost the Linux bridge a little less.",
        *("figure 1", "cores", _FEW, _ONE, 0.9, 1.0),
    ),
    ("With a large MTU both bridges are alike.", "figure 2", _RATE, _ALL, _JUMBO, 0.9, 1.1),
    ("Across hosts both bridges are alike.", "figure 3", _RATE, _ALL, _ACROSS, 0.9, 1.1),
    ("Across hosts CPU consumption has no trend.", "figure 3", "cores", _ALL, _ACROSS, 0.9, 1.1),
    (
        "Across hosts a large MTU changes nothing (give `--figure 3 --mtu 9000`).",
        *("figure 3", _RATE, _ALL, _ACROSS_JUMBO, 0.9, 1.1),
    ),
    (
        "All in all the Linux bridge is within 10 % of Open vSwitch.",
        *("figure 1, figure 2, figure 3", _RATE, _ALL, {}, 0.9, 1.1),
    ),
)


PAPER = Paper(
    "IBM, KVM: Linux bridge compared to Open vSwitch",
    (
        _figure(1, "One host, small MTU", 1_500, 1),
        _figure(2, "One host, large MTU", 9_000, 1),
        _figure(3, "Across two hosts, small MTU", 1_500, 2),
    ),
    (
        *(_alike(*one) for one in _CLAIMS),
        Claim(
            "Guests and host reach each other, unlike with MacVTap.",
            *("end", "figure 1", unseen("There is no MacVTap here to compare with.")),
        ),
    ),
    quick=Length(0.5, 1, {"pairs": (10,), "payload": (_SMALL, _LARGE, _STREAM)}),
    usual=Length(1.0, 2),
)
