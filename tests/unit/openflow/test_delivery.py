"""Effects on their way to a switch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Barrier, Effect, Reprogram, SendFrame, SetFlood
from ofapp.bridge.params.params import BridgeParams
from ofapp.common import hub
from ofapp.openflow.switch.queue import delivery as module
from ofapp.openflow.switch.queue.delivery import Delivery, Way, Writing

FRAME = SendFrame(frozenset({1}), b"frame")
FIRST, SECOND, THIRD = (SetFlood(frozenset({number})) for number in (1, 2, 3))


class Switch:
    """What a delivery asks of a channel; it answers a barrier when it is told to."""

    def __init__(self) -> None:
        self.written: list[Effect] = []
        self.replies: dict[int, Callable[[bytes], None]] = {}
        self.failed: list[str] = []
        self.crowded = False
        self.worked_out = hub.Event()

    def fail(self, error: Exception) -> None:
        self.failed.append(str(error))

    def set_xid(self, message: Any) -> int:
        message.set_xid(len(self.replies) + 1)
        return len(self.replies) + 1

    def request(
        self, xid: int, _data: bytes, on_reply: Callable[[bytes], None], _urgent: bool = False
    ) -> None:
        self.replies[xid] = on_reply

    def end_request(self, xid: int) -> None:
        del self.replies[xid]

    def send(self, _data: bytes) -> None:
        pass

    def write(self, effects: list[Effect]) -> bytes:
        self.written += effects
        return b""

    def reprogramming(self) -> Callable[[], bytes]:
        def work() -> bytes:
            self.worked_out.wait()
            self.worked_out.clear()
            return self.write([Reprogram()])

        return work

    def work_out(self) -> None:
        """The program is made."""
        self.worked_out.set()
        hub.sleep(0)
        hub.sleep(0)

    def answer(self) -> None:
        for reply in list(self.replies.values()):
            reply(b"")


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    monkeypatch.setattr(hub, "spawn_after", lambda _seconds, function: function())
    monkeypatch.setattr(module.parser, "OFPBarrierRequest", lambda _channel: Message())
    monkeypatch.setattr("ofapp.openflow.wire.messages.codec.serialize", lambda _message: b"")
    return Switch()


class Message:
    def set_xid(self, xid: int) -> None:
        self.xid = xid


@pytest.fixture
def delivery(switch: Any) -> Delivery:
    writing = Writing(switch.write, switch.reprogramming, lambda: switch.crowded)
    return Delivery(switch, Bridge(1, BridgeParams()).addresses, writing, lambda: None)


def test_what_is_wanted_while_a_switch_is_told_all_comes_after_it_and_frames_later_still(
    delivery: Delivery, switch: Switch
) -> None:
    delivery.send([FIRST])
    with delivery.held():
        delivery.send([SECOND, FRAME])
        delivery.send([THIRD])
        assert switch.written == []
    assert (switch.written, delivery.take_unsent()) == ([SECOND, THIRD], [FRAME])
    with delivery.held():  # a switch that was told before is told as ever
        delivery.send([FIRST])
        assert switch.written == [SECOND, THIRD, FIRST]


def test_a_switch_that_could_not_be_told_all_is_told_all_again(
    delivery: Delivery, switch: Switch
) -> None:
    def fail() -> None:
        with delivery.held():
            delivery.send([FIRST, FRAME])
            raise ValueError("malformed")

    with pytest.raises(ValueError, match="malformed"):
        fail()
    assert delivery.way is Way.SHUT
    with delivery.held():
        delivery.send([SECOND])
    assert (switch.written, delivery.take_unsent()) == ([SECOND], [FRAME])


def test_until_it_is_open_only_frames_are_kept(delivery: Delivery, switch: Switch) -> None:
    delivery.send([FIRST, FRAME])
    assert not delivery.confirm(lambda: None)
    delivery.open()
    assert (delivery.take_unsent(), delivery.take_unsent(), switch.written) == ([FRAME], [], [])
    delivery.send([SECOND])
    assert switch.written == [SECOND]


def test_what_is_behind_a_barrier_waits_in_order(delivery: Delivery, switch: Switch) -> None:
    delivery.open()
    delivery.send([FIRST, Barrier(), SECOND])
    delivery.send([THIRD])
    assert (delivery.way, switch.written) == (Way.BARRIER, [FIRST])
    assert not delivery.confirm(lambda: None)
    switch.answer()
    assert (delivery.way, switch.written) == (Way.OPEN, [FIRST, SECOND, THIRD])


def test_who_waits_for_a_barrier_goes_on_when_it_is_answered(
    switch: Switch, delivery: Delivery
) -> None:
    delivery.await_barrier()  # there is none
    delivery.open()
    delivery.send([Barrier(), SECOND])
    passed: list[bool] = []
    waiting = hub.spawn(lambda: passed.append(delivery.await_barrier() is None))
    hub.sleep(0)
    assert not passed
    switch.answer()
    waiting.wait()
    assert passed
    assert switch.written == [SECOND]


def test_a_barrier_behind_a_barrier(delivery: Delivery, switch: Switch) -> None:
    delivery.open()
    delivery.send([Barrier(), FIRST, Barrier(), SECOND])
    switch.answer()
    assert (delivery.way, switch.written) == (Way.BARRIER, [FIRST])
    switch.answer()
    assert (delivery.way, switch.written) == (Way.OPEN, [FIRST, SECOND])


def test_what_waits_when_the_connection_ends_is_not_sent(
    delivery: Delivery, switch: Switch
) -> None:
    delivery.open()
    delivery.send([Barrier(), FIRST])
    delivery.end()
    switch.answer()
    delivery.open()
    delivery.send([SECOND])
    assert (delivery.way, switch.written) == (Way.ENDED, [])


def test_a_switch_confirms_what_it_was_told(delivery: Delivery, switch: Switch) -> None:
    done: list[str] = []
    delivery.open()
    delivery.send([FIRST])
    assert delivery.confirm(lambda: done.append("done"))
    assert done == []
    switch.answer()
    assert done == ["done"]


def test_a_switch_whose_bridge_changes_faster_than_it_confirms_is_let_go(
    delivery: Delivery, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 4)
    delivery.open()
    delivery.send([FIRST, Barrier()])
    for _ in range(4):
        delivery.send([SECOND])
    assert (delivery.way, switch.failed) == (Way.BARRIER, [])
    delivery.send([THIRD])
    assert delivery.way is Way.ENDED
    assert len(switch.failed) == 1
    delivery.send([THIRD])
    switch.answer()
    assert switch.written == [FIRST]


class TestReprogramming:
    """A switch of so many ports that what it is to hold is worked out in portions."""

    @pytest.fixture(autouse=True)
    def _crowded(self, delivery: Delivery, switch: Switch) -> None:
        switch.crowded = True
        delivery.open()

    def test_what_comes_after_it_waits_and_it_is_done_once(
        self, delivery: Delivery, switch: Switch
    ) -> None:
        delivery.send([FIRST, Reprogram(), SECOND, Reprogram()])
        delivery.send([Reprogram(), THIRD])
        hub.sleep(0)
        assert (delivery.way, switch.written) == (Way.WORK, [FIRST])
        assert not delivery.confirm(lambda: None)
        switch.work_out()
        assert delivery.way is Way.WORK, "ports have changed again since it was begun"
        switch.work_out()
        assert delivery.way is Way.OPEN
        assert switch.written == [FIRST, Reprogram(), SECOND, Reprogram(), THIRD]

    def test_it_is_done_when_nothing_waits_for_a_barrier_any_more(
        self, delivery: Delivery, switch: Switch
    ) -> None:
        delivery.send([FIRST, Reprogram(), Barrier(), SECOND])
        assert (delivery.way, switch.written) == (Way.BARRIER, [FIRST])
        switch.answer()
        assert (delivery.way, switch.written) == (Way.WORK, [FIRST, SECOND])
        switch.work_out()
        assert (delivery.way, switch.written) == (Way.OPEN, [FIRST, SECOND, Reprogram()])

    def test_a_connection_may_end_meanwhile(self, delivery: Delivery, switch: Switch) -> None:
        delivery.send([Reprogram(), FIRST])
        delivery.end()
        switch.work_out()
        delivery.send([SECOND])
        assert delivery.way is Way.ENDED
        assert FIRST not in switch.written
        assert SECOND not in switch.written
