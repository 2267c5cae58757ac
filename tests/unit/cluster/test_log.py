"""How much a member writes to its log while etcd does not answer."""

from __future__ import annotations

import logging
from contextlib import closing

import pytest

from ofapp.common import buckets, hub
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from ofapp.controller.cluster.etcd.nodes import NodeConnection
from tests.support.waiting import wait_for

WATCHES = 8


@pytest.fixture(autouse=True)
def _new_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at a start."""
    log = logging.getLogger("ofapp.controller.cluster.etcd.gateway")
    monkeypatch.setattr(log, "filters", [buckets.RateLimit()])


def test_watches_that_fail_write_a_few_lines(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, shun = [], NodeConnection.shun
    monkeypatch.setattr("ofapp.controller.cluster.etcd.gateway.RETRY", 0.02)
    monkeypatch.setattr(NodeConnection, "shun", lambda own: (tries.append(own), shun(own)))
    with caplog.at_level(logging.INFO), closing(Gateway(Access(("127.0.0.1:1",)))) as gateway:
        for number in range(WATCHES):
            gateway.watch(f"/{number}/", lambda _changes: None)
        wait_for(lambda: len(tries) > 10 * WATCHES, "many tries", sleep=hub.sleep)
    assert len(caplog.records) == buckets.BURST


def test_what_was_left_out_is_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(buckets.time, "monotonic", lambda: now)
    log = buckets.rate_limited("tests.of.a.limit")
    with caplog.at_level(logging.INFO):
        for number in range(10):
            log.info("switch %d is not claimed", number)
            log.info("something else")
        now += buckets.EVERY
        log.info("switch %d is not claimed", 10)
    messages = [
        record.getMessage() for record in caplog.records if "claimed" in record.getMessage()
    ]
    assert messages == [
        "switch 0 is not claimed",
        "switch 1 is not claimed",
        "switch 2 is not claimed",
        "switch 10 is not claimed (7 lines alike are left out before)",
    ]
