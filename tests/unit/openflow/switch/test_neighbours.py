"""A port that floods beside a quiet one, in virtual time: how long a new host of either waits."""

from collections import deque

import pytest

from ofapp.bridge.fdb.learning import Sample
from ofapp.openflow.switch.queue.learn_queue import LearnQueue
from ofapp.openflow.wire.flow_control import HOST, FlowControl

QUIET, LOUD = 2, 1
CHUNK = 0.002
"""Seconds between two reads of what the switch has said."""


class Bed:
    """A switch that takes `any_` seconds for a portion and `each` for each address in it."""

    def __init__(self, any_: float, each: float) -> None:
        self.now = 0.0
        self.learned: dict[Sample, float] = {}
        self._any, self._each = any_, each
        self._window = FlowControl()
        self._intake = LearnQueue(self._window)
        self._intake.opened = True
        self._free = 0.0  # when the switch has done all requests
        self._answers: deque[tuple[float, int, float]] = deque()

    def _learn(self, samples: list[Sample]) -> None:
        if not samples:
            return
        self._free = max(self._free, self.now) + self._any + self._each * len(samples)
        self.learned.update(dict.fromkeys(samples, self._free))
        if self._window.sent(HOST * len(samples)):
            self._answers.append((self._free, self._window.mark(), self.now))

    def see(self, samples: list[Sample]) -> None:
        """They arrive, and time passes until the next read."""
        self._learn(self._intake.put(samples, self.now))
        self._learn_more()
        end = self.now + CHUNK
        while self._answers and self._answers[0][0] <= end:
            self.now, mark, asked = self._answers.popleft()
            self._window.answered(mark, asked, self.now)
            self._intake.answered()
            self._learn_more()
        self.now = end

    def _learn_more(self) -> None:
        while self._intake and self._window.is_open:
            self._learn(self._intake.take(self.now))

    def delays(self, flood: int) -> list[float]:
        """Of hosts on the quiet port, one in 50 ms, beside so many new ones a second."""
        per_chunk, seen = int(flood * CHUNK), {}
        for turn in range(3000):
            samples = [(LOUD, 0, turn * per_chunk + number) for number in range(per_chunk)]
            if turn % 25 == 0:
                host = (QUIET, 0, turn)
                seen[host] = self.now
                samples.append(host)
            self.see(samples)
        for _ in range(1000):
            self.see([])
        return [self.learned[host] - at for host, at in seen.items()][10:]


@pytest.mark.parametrize("flood", [5_000, 20_000, 200_000])
def test_a_flood_changes_a_quiet_ports_delay_by_ten_milliseconds_at_most(flood: int) -> None:
    """A switch like Open vSwitch's userspace datapath, which learns 38,000 a second at most."""
    alone = Bed(any_=0.0005, each=25e-6).delays(0)
    beside = Bed(any_=0.0005, each=25e-6).delays(flood)
    assert max(alone) < 0.001
    assert sum(beside) / len(beside) < 0.010
    assert max(beside) < 0.013  # it comes in the middle of what is being done


def test_with_very_many_hosts_it_is_what_the_switch_needs_for_anything() -> None:
    """100,000 hosts: 6 ms for any portion, so two of them and half of one."""
    beside = Bed(any_=0.006, each=25e-6).delays(50_000)
    assert sum(beside) / len(beside) < 0.006 + 0.015
