"""ofapp lag: shown and set as people type it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.unit.api import live
from tests.unit.cli.conftest import Run


@pytest.fixture(scope="module")
def lag_url() -> Iterator[str]:
    """Of a server of `lag_network`."""
    with live.served("lag") as served:
        yield served


@pytest.fixture
def lag(lag_url: str, ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`lag("show")` as if `ofapp lag show` was typed."""
    monkeypatch.setenv("OFAPP_API", lag_url)
    return lambda *words: ofapp("lag", *words)


def test_show_says_why_a_member_is_not_in_use(lag: Run) -> None:
    header, *rows = lag("show").lines
    assert header.split()[:4] == ["BRIDGE", "LAG", "STATE", "MEMBER"]
    assert [row.split()[:5] for row in rows] == [
        ["br0", "lag0", "up", "eth1", "distributing"],
        ["br0", "lag0", "up", "eth2", "distributing"],
        ["br0", "lag1", "up", "eth3", "distributing"],
        ["br0", "lag1", "up", "eth9", "absent"],
    ]
    assert rows[3].endswith("There is no such port.")
    assert len(lag("show", "br0", "lag1").lines) == 3
    assert lag("show", "br0", "lag7").err == "ofapp: bridge br0 has no aggregation lag7\n"
    assert lag("show", "lag0").err == (
        "ofapp: lag0 is an aggregation and no bridge: give its bridge as well,"
        " `ofapp lag show br0 lag0`\n"
    )
    assert lag("show", "lag7").err == "ofapp: there is no bridge lag7; there are: br0, br1\n"
    assert lag("show", "br1").lines == [
        "There is no aggregation on bridge br1; `lags:` in the configuration file makes one."
    ]
    first, second = json.loads(lag("show", "-j").out)
    assert [own["name"] for own in first["lags"]] == ["lag0", "lag1"]
    assert second["lags"] == []


def test_set(lag: Run) -> None:
    said = lag("set", "br0", "lag0", "--max-links", "1", "--hash", "layer3+4", "lacp=off")
    assert (said.status, said.err) == (0, "")
    assert lag("show", "br0", "lag0").lines[2].split()[4] == "standby"
    assert lag("set", "br0", "lag0", "members=[eth2]", "--max-links", "8").status == 0
    assert len(lag("show", "br0", "lag0").lines) == 2
    refused = lag("set", "br0", "lag0", "members=[eth2, eth3]")
    assert (refused.status, refused.err) == (
        1,
        "ofapp: members: eth3 is a member of lag1 already\n",
    )
    refused = lag("set", "br0", "lag0", "members=eth2,eth3")
    assert "members: must be a list, as in [eth2, eth3], not" in refused.err
    assert "ofapp: bridge br0 has no aggregation" in lag("set", "br0", "lag7", "--rate", "fast").err
    assert lag("set", "br0", "lag0", "--rate", "often").status == 2


def test_a_change_that_interrupts_traffic_is_asked_about(
    lag: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    warning = "of lag1 interrupts traffic: all members go out of use, and carry traffic again"
    refused = lag("set", "br0", "lag1", "--lacp", "active")
    assert (refused.status, warning in refused.err) == (1, True)
    assert "If that is meant: --yes" in refused.err
    assert (
        lag("set", "br0", "lag1", "--port-priority", "7").status == 0
    )  # static: it has no partner that knows it
    assert lag("set", "br0", "lag1", "--lacp", "active", "--yes").status == 0
    assert lag("set", "br0", "lag1", "--lacp", "passive", "--port-priority", "7").status == 0
    assert lag("set", "br0", "lag1", "--port-priority", "8").status == 1
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: "n\n"))
    asked = lag("set", "br0", "lag1", "--system-priority", "8")
    assert (asked.status, f"another system_priority {warning}" in asked.out) == (1, True)
