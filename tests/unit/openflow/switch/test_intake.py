"""Sightings on their way: at once while the switch keeps up, then together and in turn."""

import pytest

from ofapp.bridge.fdb.backlog import LONGEST
from ofapp.bridge.fdb.learning import Sample
from ofapp.openflow.switch.queue.learn_queue import FEW, LearnQueue
from ofapp.openflow.wire.flow_control import HOST, FlowControl


class Switch:
    """Answers on request of the test; batches: what was learned together."""

    def __init__(self) -> None:
        self.window = FlowControl()
        self.now = 100.0
        self.intake = LearnQueue(self.window)
        self.intake.opened = True
        self.batches: list[list[Sample]] = []
        self.new = True

    def learn(self, samples: list[Sample]) -> None:
        if not samples:
            return
        self.batches.append(samples)
        if self.new and self.window.sent(HOST * len(samples)):
            self.window.mark()

    def see(self, samples: list[Sample]) -> None:
        """Sightings have come."""
        self.learn(self.intake.put(samples, self.now))
        self.learn_more()

    def answer(self) -> None:
        """All requests are done."""
        self.window.answered(self.window.mark(), 0.0, 0.01)
        self.intake.answered()
        self.learn_more()

    def learn_more(self) -> None:
        while self.intake and self.window.is_open:
            self.learn(self.intake.take(self.now))


@pytest.fixture
def switch() -> Switch:
    return Switch()


def flood(first: int, count: int, port: int = 1) -> list[Sample]:
    return [(port, 0, mac) for mac in range(first, first + count)]


def test_what_the_switch_can_take_goes_at_once(switch: Switch) -> None:
    switch.see(flood(0, 3))
    switch.see(flood(3, 5))
    assert switch.batches == [flood(0, 3), flood(3, 5)]


def test_what_came_meanwhile_goes_together_with_the_answer(switch: Switch) -> None:
    switch.see(flood(0, 100))
    for first in range(100, 200, 10):
        switch.see(flood(first, 10))
    assert len(switch.batches) == 1
    switch.answer()
    assert switch.batches[1:] == [flood(100, 100)]


def test_no_more_goes_at_once_than_the_window_has(switch: Switch) -> None:
    most = switch.window.hosts
    switch.see(flood(0, 3 * most))
    assert switch.batches == [flood(0, most)]
    then = switch.window.hosts
    switch.answer()
    assert switch.batches[1:] == [flood(most, len(switch.batches[1]))]
    assert 0 < len(switch.batches[1]) <= max(most, then)


def test_a_port_that_says_little_does_not_wait_for_one_that_floods(switch: Switch) -> None:
    switch.see(flood(0, 100))
    switch.see([*flood(100, 100), (2, 0, 900)])
    assert switch.batches[-1] == [(2, 0, 900)]
    assert len(switch.intake) == 100
    # ... once for an answer: it cannot fill the switch's queue in small portions either.
    switch.see([(2, 0, 901)])
    assert switch.batches[-1] == [(2, 0, 900)]
    switch.answer()
    assert switch.batches[-1][0] == (1, 0, 100)
    assert (2, 0, 901) in switch.batches[-1]
    switch.see(flood(0, FEW + 1, port=2))
    assert len(switch.intake) == FEW + 1


def test_what_is_known_already_does_not_stop_what_waits_behind_it(switch: Switch) -> None:
    switch.new = False  # so nothing is sent, and nothing is answered
    switch.see(flood(0, 5 * switch.window.hosts))
    assert sum(map(len, switch.batches)) == 5 * switch.window.hosts


def test_nothing_is_learned_before_the_switch_is_ready(switch: Switch) -> None:
    switch.intake.opened = False
    switch.see(flood(0, 9))
    switch.intake.answered()
    assert switch.intake.take(switch.now) == []
    assert switch.batches == []
    switch.intake.opened = True
    switch.answer()
    assert switch.batches == [flood(0, 9)]


def test_what_there_is_no_room_for_is_counted(switch: Switch) -> None:
    switch.intake.opened = False
    switch.see(flood(0, 10_001))
    assert switch.intake.dropped == {1: 1}


def test_what_waits_for_too_long_is_not_learned_and_counted(switch: Switch) -> None:
    switch.see(flood(0, 100))
    switch.see(flood(100, 50))
    switch.now += 2 * LONGEST
    switch.see(flood(200, 50))
    switch.answer()
    assert switch.batches[1:] == [flood(200, 50)]
    assert switch.intake.dropped == {1: 50}
