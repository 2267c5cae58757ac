"""Effects on their way to a switch."""

from __future__ import annotations

from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, Effect, RemoveDestination, Reprogram, SendFrame, SetFlood
from ofapp.bridge.params.params import BridgeParams
from ofapp.openflow.switch.queue import delivery as module
from ofapp.openflow.switch.queue.delivery import Batch, DeliveryQueue, OverrunError, State
from ofapp.openflow.wire.flow_control import MARK, FlowControl

FRAME = SendFrame(frozenset({1}), b"frame")
FIRST, SECOND, THIRD = (SetFlood(frozenset({number})) for number in (1, 2, 3))


class Switch:
    """A switch behind a queue; it does what a batch asks for when `answer` is called."""

    def __init__(self) -> None:
        self.flow = FlowControl()
        self.queue: Any = DeliveryQueue(Bridge(1, BridgeParams()), self.flow)
        self.written: list[Effect] = []
        self.then = State.OPEN

    def put(self, *effects: Effect) -> None:
        self._take(self.queue.put([*effects]))

    def open(self) -> None:
        self._take(self.queue.open())

    def answer(self) -> None:
        """It has carried out the last batch and what that asked for."""
        self._take(self.queue.done(self.then))

    def _take(self, batch: Batch | None) -> None:
        if batch is not None:
            self.written += batch.effects
            self.then = batch.then


@pytest.fixture
def switch() -> Switch:
    return Switch()


def test_what_is_wanted_while_a_switch_is_programmed_comes_after_it_and_frames_later_still(
    switch: Switch,
) -> None:
    switch.put(FIRST)
    with switch.queue.held():
        switch.put(SECOND, FRAME)
        switch.put(THIRD)
        assert switch.written == []
    switch.open()
    assert (switch.written, switch.queue.take_unsent()) == ([SECOND, THIRD], [FRAME])
    with switch.queue.held():  # a switch that was programmed before gets effects as ever
        switch.put(FIRST)
        assert switch.written == [SECOND, THIRD, FIRST]
    switch.open()


def test_a_switch_that_could_not_be_programmed_is_programmed_again(switch: Switch) -> None:
    def fail() -> None:
        with switch.queue.held():
            switch.put(FIRST, FRAME)
            raise ValueError("malformed")

    with pytest.raises(ValueError, match="malformed"):
        fail()
    assert switch.queue.state is State.CLOSED
    with switch.queue.held():
        switch.put(SECOND)
    switch.open()
    assert (switch.written, switch.queue.take_unsent()) == ([SECOND], [FRAME])


def test_until_it_is_open_only_frames_are_kept(switch: Switch) -> None:
    switch.put(FIRST, FRAME)
    switch.open()
    queue = switch.queue
    assert (queue.take_unsent(), queue.take_unsent(), switch.written) == ([FRAME], [], [])
    switch.put(SECOND)
    assert switch.written == [SECOND]


def test_what_is_behind_a_barrier_waits_in_order(switch: Switch) -> None:
    switch.open()
    switch.put(FIRST, Barrier(), SECOND)
    switch.put(THIRD)
    assert (switch.queue.state, switch.written) == (State.BARRIER, [FIRST])
    switch.answer()
    assert (switch.queue.state, switch.written) == (State.OPEN, [FIRST, SECOND, THIRD])


def test_a_barrier_behind_a_barrier(switch: Switch) -> None:
    switch.open()
    switch.put(Barrier(), FIRST, Barrier(), SECOND)
    switch.answer()
    assert (switch.queue.state, switch.written) == (State.BARRIER, [FIRST])
    switch.answer()
    assert (switch.queue.state, switch.written) == (State.OPEN, [FIRST, SECOND])


def test_deletes_that_can_wait_do_so_while_the_switch_is_busy(switch: Switch) -> None:
    switch.open()
    gone = RemoveDestination(0, 0x02000000000A, 5)
    switch.put(gone)
    switch.flow.sent(MARK)
    mark = switch.flow.mark()
    switch.put(gone, FIRST)
    assert (switch.written, len(switch.queue.deletes)) == ([gone, FIRST], 1)
    switch.flow.answered(mark, 0.0, 0.01)
    assert switch.queue.deletes.take(9) == [gone]


def test_what_waits_when_the_connection_ends_is_not_sent(switch: Switch) -> None:
    switch.open()
    switch.put(Barrier(), FIRST)
    switch.queue.end()
    switch.answer()
    switch.open()
    switch.put(SECOND)
    assert (switch.queue.state, switch.written) == (State.ENDED, [])


def test_a_bridge_that_changes_faster_than_its_switch_confirms_is_refused(
    switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 4)
    switch.open()
    switch.put(FIRST, Barrier())
    for _ in range(4):
        switch.put(SECOND)
    assert switch.queue.state is State.BARRIER
    with pytest.raises(OverrunError):
        switch.put(THIRD)
    assert switch.queue.state is State.ENDED
    switch.put(THIRD)
    switch.answer()
    assert switch.written == [FIRST]


class TestReprogramming:
    """A switch of so many ports that its program is computed in portions."""

    @pytest.fixture(autouse=True)
    def _crowded(self, switch: Switch, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "CROWDED", -1)
        switch.open()

    def test_what_comes_after_it_waits_and_it_is_done_once(self, switch: Switch) -> None:
        switch.put(FIRST, Reprogram(), SECOND, Reprogram())
        switch.put(Reprogram(), THIRD)
        assert (switch.queue.state, switch.written) == (State.PROGRAMMING, [FIRST])
        switch.answer()
        assert switch.queue.state is State.PROGRAMMING, "ports have changed again since"
        switch.answer()
        assert switch.queue.state is State.OPEN
        assert switch.written == [FIRST, SECOND, THIRD]

    def test_it_is_done_when_nothing_waits_for_a_barrier_any_more(self, switch: Switch) -> None:
        """What is behind the last barrier may lead to groups that it adds."""
        switch.put(FIRST, Reprogram(), Barrier(), SECOND, Barrier(), THIRD)
        assert (switch.queue.state, switch.written) == (State.BARRIER, [FIRST])
        switch.answer()
        assert (switch.queue.state, switch.written) == (State.BARRIER, [FIRST, SECOND])
        switch.answer()
        assert (switch.queue.state, switch.written) == (State.PROGRAMMING, [FIRST, SECOND])
        switch.answer()
        assert (switch.queue.state, switch.written) == (State.OPEN, [FIRST, SECOND, THIRD])

    def test_a_connection_may_end_meanwhile(self, switch: Switch) -> None:
        switch.put(Reprogram(), FIRST)
        switch.queue.end()
        switch.answer()
        switch.put(SECOND)
        assert switch.queue.state is State.ENDED
        assert switch.written == []
