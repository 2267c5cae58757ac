"""What iperf3 and sockperf say, as they said it (3.12, 3.7)."""

from __future__ import annotations

import json

import pytest

from ofapp.bench import BenchError
from ofapp.bench.streams import parse_iperf, parse_sockperf

SOCKPERF = """\
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=81394; Received...
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=43648; ReceivedMessages=43648
sockperf: ---> percentile 99.900 =   44.523
sockperf: ---> percentile 99.000 =   13.791
sockperf: ---> percentile 50.000 =    5.669
"""


def test_tcp() -> None:
    end = {
        "sum_sent": {"bits_per_second": 9.2e8, "retransmits": 3},
        "sum_received": {"bits_per_second": 9e8},
    }
    assert parse_iperf(json.dumps({"end": end})) == {"mbps": 900, "retransmits": 3}


def test_udp_counts_what_arrived() -> None:
    end = {
        "sum": {"bits_per_second": 2.8e9, "lost_percent": 39.5},
        "sum_sent": {"bits_per_second": 2.8e9, "lost_percent": 0},
        "sum_received": {"bits_per_second": 1.7e9, "lost_percent": 39.5},
    }
    found = parse_iperf(json.dumps({"end": end}))
    assert found == {"mbps": 1700, "loss": pytest.approx(0.395)}


def test_iperf_tells_an_error() -> None:
    with pytest.raises(BenchError, match="unable to connect"):
        parse_iperf('{"start": {}, "end": {}, "error": "unable to connect to server"}')


def test_transactions_there_and_back() -> None:
    found = parse_sockperf(SOCKPERF)
    assert found["per_second"] == pytest.approx(43648 / 0.55)
    assert found["p50_us"] == pytest.approx(11.338)
    assert found["p99_us"] == pytest.approx(27.582)


def test_sockperf_without_figures() -> None:
    with pytest.raises(BenchError, match="Connection refused"):
        parse_sockperf("sockperf: ERROR: Can't connect socket (Connection refused)\n")
