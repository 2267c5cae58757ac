"""What iperf3 and sockperf say, as they said it (3.12, 3.7)."""

from __future__ import annotations

import json

import pytest

from ofapp.bench import BenchError
from ofapp.bench.streams import parse_intervals, parse_iperf, parse_ping, parse_sockperf

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
    assert parse_iperf(json.dumps({"end": end})) == {
        "mbps": 900,
        "sent_mbps": 920,
        "retransmits": 3,
    }


def test_udp_counts_what_arrived() -> None:
    end = {
        "sum": {"bits_per_second": 2.8e9, "lost_percent": 39.5},
        "sum_sent": {"bits_per_second": 2.8e9, "lost_percent": 0},
        "sum_received": {"bits_per_second": 1.7e9, "lost_percent": 39.5, "jitter_ms": 0.02},
        "streams": [{"udp": {"out_of_order": 2}}, {"udp": {"out_of_order": 1}}],
    }
    found = parse_iperf(json.dumps({"end": end}))
    assert found["mbps"] == 1700
    assert found["loss"] == pytest.approx(0.395)
    assert (found["jitter_ms"], found["out_of_order"]) == (0.02, 3)


def test_iperf_tells_an_error() -> None:
    with pytest.raises(BenchError, match="unable to connect"):
        parse_iperf('{"start": {}, "end": {}, "error": "unable to connect to server"}')


def test_each_interval_of_a_stream() -> None:
    said = {"intervals": [{"sum": {"bits_per_second": rate}} for rate in (1e6, 2e6)]}
    assert parse_intervals(json.dumps(said)) == [1, 2]


def test_ping() -> None:
    said = (
        "20 packets transmitted, 19 received, 5% packet loss, time 310ms\n"
        "rtt min/avg/max/mdev = 0.021/0.033/0.194/0.036 ms\n"
    )
    found = {"loss": 0.05, "min_ms": 0.021, "mean_ms": 0.033, "max_ms": 0.194}
    assert parse_ping(said) == found
    with pytest.raises(BenchError, match="ping: no figures"):
        parse_ping("3 packets transmitted, 0 received, 100% packet loss, time 2000ms\n")


def test_transactions_there_and_back() -> None:
    found = parse_sockperf(SOCKPERF)
    assert found["per_second"] == pytest.approx(43648 / 0.55)
    assert found["p50_us"] == pytest.approx(11.338)
    assert found["p99_us"] == pytest.approx(27.582)


def test_sockperf_without_figures() -> None:
    with pytest.raises(BenchError, match="Connection refused"):
        parse_sockperf("sockperf: ERROR: Can't connect socket (Connection refused)\n")
