"""Events that a peer can bring about do not drown the others."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.event import PortNumber, Severity
from ofapp.bridge.ports.port import Port, PortTable
from ofapp.common import hub
from ofapp.common.buckets import MOST, Buckets
from ofapp.controller import events as module
from ofapp.controller.events import EventLog, History
from tests.support.waiting import wait_for
from tests.unit.made_event import made_event


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.waiting: list[Any] = []

    def monotonic(self) -> float:
        return self.now

    time_ns = staticmethod(time.time_ns)
    time = staticmethod(time.time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def kinds(log: EventLog) -> Counter[str]:
    return Counter(record.event.kind for record in log.since(0))


class TestEventLog:
    def test_only_the_last_are_remembered_and_all_are_counted(self) -> None:
        log = EventLog(size=3)
        for number in range(5):
            log.emit(1, made_event("x", str(number)))
        assert [record.number for record in log.since(0)] == [3, 4, 5]
        assert [record.event.message for record in log.since(4)] == ["4"]
        assert log.counts["x"] == 5

    def test_what_is_only_counted_is_not_put_into_words(self, clock: Clock) -> None:
        worded: list[int] = []

        class Names(PortTable):
            def get(self, number: int) -> Port | None:
                worded.append(number)
                return super().get(number)

        log, names = EventLog(), Names()
        for number in range(1000):
            log.emit(1, made_event("x", (PortNumber(number), " is up")), find=names.get)
        emitted = len(log.since(0)) - 1  # the last says that there are more
        assert len(worded) == emitted + 1 < log.counts["x"] == 1000

    def test_a_port_that_flaps_is_reported_so_often_and_counted(
        self, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO", "ofapp")
        log = EventLog()
        log.emit(2, made_event("config.reloaded", "the file was read"))
        for second in range(60):
            clock.now = 1000.0 + second
            for _ in range(1000):
                log.emit(1, made_event("port.up", "port 3 is up", port=3))
                log.emit(1, made_event("port.down", "port 3 is down", port=3))
        log.emit(1, made_event("port.up", "port 4 is up", port=4))
        assert log.counts["port.up"] == 60_001
        emitted = 60_001 - log.held_back["port.up"]
        assert emitted == module.SOURCE_BURST + 59 + 1
        assert kinds(log)["config.reloaded"] == 1
        assert kinds(log)["events.limited"] == 2
        assert log.since(0)[-1].event.port == 4
        assert len(caplog.messages) == log.last == 1 + 2 * (emitted - 1) + 2 + 1

    def test_invented_sources_are_bounded_together(self, clock: Clock) -> None:
        log = EventLog()
        log.emit(None, made_event("state.unsaved", "the disk is full", Severity.ERROR))
        for datapath_id in range(20_000):
            clock.now += 0.001
            log.emit(datapath_id, made_event("bridge.limit", "there is no room"))
        assert log.last < module.KIND_BURST + 20 * module.KIND_RATE + 10
        assert kinds(log)["state.unsaved"] == 1

    def test_it_is_reported_when_it_is_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "CALM", 0.01)
        log = EventLog()
        for _ in range(module.SOURCE_BURST + 50):
            log.emit(1, made_event("x", "again"))
        wait_for(lambda: kinds(log)["events.limited.cleared"], "calm", sleep=hub.sleep)
        over = log.since(0)[-1].event
        held_back = log.held_back["x"]
        assert 45 <= held_back <= 50
        assert over.data == {"kind": "x", "held_back": held_back}

    def test_a_trace_is_not_limited(self) -> None:
        log = EventLog()
        for _ in range(10_000):
            log.emit(1, made_event("stp.bpdu", "a BPDU", Severity.DEBUG, port=1))
        assert log.last == 10_000
        assert not log.held_back


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=60), st.integers(1, 20)
)
def test_a_history_keeps_an_equal_part_of_every_kind(
    records: list[tuple[str, int]], size: int
) -> None:
    history: History[tuple[int, str]] = History(size)
    for at, (kind, source) in enumerate(records):
        history.add(kind, source, (at, kind))
    left = [*history]
    assert left == sorted(left)
    assert len(left) == min(size, len(records))
    came, stayed = Counter(kind for kind, _ in records), Counter(kind for _, kind in left)
    for kind, count in came.items():
        assert stayed[kind] >= min(count, size // len(came))


def test_buckets_of_keys_that_nobody_asks_for_are_forgotten() -> None:
    buckets = Buckets(1, 1)
    assert buckets.take("mine", 0.0)
    assert not buckets.take("mine", 0.5)
    assert buckets.take("mine", 1.5)
    for key in range(2 * MOST):
        assert buckets.take(key, 1.5)
    assert len(buckets._left) == MOST
