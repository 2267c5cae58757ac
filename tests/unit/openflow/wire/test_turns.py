"""Turns: a task that works without end waits for the others."""

from collections import Counter

import ofapp.common.hub as hub
from ofapp.controller.events import EventLog
from ofapp.openflow.wire.turns import Budget, Share, Turns


class Clock:
    """Time passes when a task works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def passes(count: int) -> None:
    """Let the hub go round so many times."""
    for _ in range(count):
        hub.sleep(0)


def workers(turns: Turns, clock: Clock, costs: dict[str, float]) -> tuple[list[str], list[object]]:
    """Each works without end, for so long in each of its turns; what they note, and they."""
    log: list[str] = []

    def work(name: str, cost: float) -> None:
        share = Share()
        while True:
            turns.take(share)
            log.append(name)
            clock.now += cost

    return log, [hub.spawn(work, name, cost) for name, cost in costs.items()]


def test_there_is_one_turn_in_each_pass_of_the_hub() -> None:
    clock = Clock()
    log, threads = workers(Turns(clock), clock, dict.fromkeys("abc", 1.0))
    passes(2)
    before = len(log)
    passes(30)
    assert len(log) - before <= 31
    assert len(log) > 20
    for thread in threads:
        hub.kill(thread)


def test_time_is_shared_and_not_turns() -> None:
    """One whose turns are ten times as long gets as much time as each of the others."""
    clock = Clock()
    log, threads = workers(Turns(clock), clock, {"hog": 10.0, "a": 1.0, "b": 1.0, "c": 1.0})
    passes(400)
    count = Counter(log)
    assert 8 <= count["a"] / count["hog"] <= 12
    assert abs(count["a"] - count["c"]) <= 12
    for thread in threads:
        hub.kill(thread)


def test_who_was_quiet_is_next_and_has_saved_up_no_more_than_that() -> None:
    clock = Clock()
    turns = Turns(clock)
    log, threads = workers(turns, clock, {"a": 1.0, "b": 1.0})
    passes(100)
    del log[:]
    quiet, more = workers(turns, clock, {"quiet": 1.0})
    passes(6)
    assert quiet, "it waits behind those that never stop"
    passes(60)
    assert abs(len(quiet) - log.count("a")) <= 3
    for thread in (*threads, *more):
        hub.kill(thread)


def test_a_turn_is_had_at_once_when_nobody_works() -> None:
    turns = Turns()
    assert turns.free
    turns.take(Share())
    assert not turns.free
    passes(2)
    assert turns.free


def test_who_is_killed_while_it_waits_is_in_nobodys_way() -> None:
    clock = Clock()
    turns = Turns(clock)
    log, threads = workers(turns, clock, dict.fromkeys("abcd", 1.0))
    passes(10)
    for thread in threads[1:]:
        hub.kill(thread)
    del log[:]
    passes(10)
    assert set(log) == {"a"}
    hub.kill(threads[0])
    passes(3)
    assert turns.free


def test_a_budget_is_saved_up_to_a_limit() -> None:
    budget = Budget(0.1, 0.5)
    assert budget.left(100.0) == 0.5
    budget.spend(0.7)
    assert budget.left(100.0) < 0
    assert abs(budget.left(103.0) - 0.1) < 1e-9
    assert budget.left(1000.0) == 0.5


def test_a_greenlet_that_ends_by_an_error_is_reported_and_started_again() -> None:
    errors: list[str] = []
    runs: list[int] = []

    def work() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise ValueError(f"run {len(runs)}")

    hub.keep(lambda error: errors.append(str(error)), work, pause=0)
    passes(12)
    assert errors == ["run 1", "run 2"]
    assert len(runs) == 3


def test_what_ends_by_an_error_is_an_event() -> None:
    events = EventLog()

    def work() -> None:
        raise ValueError("not expected")

    hub.watch(events.fault, work)
    passes(3)
    (record,) = events.since(0)
    assert record.event.kind == "service.fault"
    assert "not expected" in record.event.message
