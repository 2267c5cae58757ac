"""ofapp top."""

from __future__ import annotations

import pytest

from ofapp.cli.commands.top import lateness, taken
from tests.unit.cli.conftest import Run


def test_top_shows_bridges_and_ends_when_reported(live_ofapp: Run) -> None:
    said = live_ofapp("top", "-n", "2", "--watch", "1")
    assert said.status == 0, said.err
    looks = [line for line in said.lines if "bridges" in line]
    assert looks[0].startswith("2 bridges, 0 of them connected")
    assert "of a processor" in looks[1]
    rows = [line.split() for line in said.lines if line.startswith("br0")]
    assert [row[:4] for row in rows] == [["br0", "disconnected", "4", "62"]] * 2


METRICS = """
ofapp_packet_ins_total{{datapath_id="01",bridge="br0",kind="bpdu"}} {bpdus}
ofapp_packet_ins_total{{datapath_id="01",bridge="br0",kind="lldp"}} 4
ofapp_loop_lateness_seconds_bucket{{le="0.01"}} {early}
ofapp_loop_lateness_seconds_bucket{{le="0.1"}} {late}
ofapp_loop_lateness_seconds_bucket{{le="+Inf"}} {late}
"""


def test_lateness_is_that_since_the_look_before() -> None:
    first = taken(METRICS.format(bpdus=1, early=8, late=10), 1.0)
    second = taken(METRICS.format(bpdus=3, early=20, late=22), 2.0)
    assert lateness(first, None) == 0.1
    assert lateness(second, first) == 0.01
    assert lateness(second, second) is None
    assert first.sums["ofapp_packet_ins_total", "01"] == pytest.approx(5)
