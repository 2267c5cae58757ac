"""Bridges of one ovs-vswitchd take turns; those that do not share one do not wait for long."""

import heapq

from ofapp.openflow.wire.flow_control import HOST, MARK, FlowControl
from ofapp.openflow.wire.main_thread import LEAST, STUCK, MainThread, MainThreads

EACH = 100e-6
"""Seconds that the main thread needs for an address."""


class Process:
    """One ovs-vswitchd: carries out the changes of its bridges one after the other."""

    def __init__(self) -> None:
        self.free = 0.0

    def take(self, hosts: int, now: float) -> float:
        """When it has done it."""
        self.free = max(self.free, now) + hosts * EACH
        return self.free


class Network:
    """Bridges with ever new addresses behind one `MainThread`, in virtual time."""

    def __init__(self, *processes: Process, bridges: int) -> None:
        self.thread = MainThread()
        self.now = 0.0
        self.longest = 0.0
        self.learned = [0] * bridges
        self._processes = [processes[number % len(processes)] for number in range(bridges)]
        self._answers: list[tuple[float, int, int, float]] = []
        self._windows = [
            FlowControl(self.thread, lambda n=n: self._send(n)) for n in range(bridges)
        ]

    def run(self, seconds: float) -> None:
        for number in range(len(self._windows)):
            self._try(number)
        end = self.now + seconds
        while self._answers and self._answers[0][0] < end:
            self.now, number, mark, asked = heapq.heappop(self._answers)
            self.longest = max(self.longest, self.now - asked)
            self._windows[number].answered(mark, asked, self.now)
            self._try(number)

    def _try(self, number: int) -> None:
        window = self._windows[number]
        if window.is_open:
            self._send(number)
        else:
            window.wait()

    def _send(self, number: int) -> None:
        window = self._windows[number]
        hosts = max(window.hosts, MARK // HOST + 1)
        self.learned[number] += hosts
        window.sent(hosts * HOST)
        done = self._processes[number].take(hosts, self.now)
        heapq.heappush(self._answers, (done, number, window.mark(self.now), self.now))


def test_many_bridges_of_one_switch_do_not_keep_it_from_bpdus() -> None:
    network = Network(Process(), bridges=60)
    network.run(5)  # the first portions are as large as ever: nothing is known yet
    network.longest = 0.0
    network.run(30)
    assert network.longest < 0.2
    assert min(network.learned) > 0.5 * max(network.learned)
    assert sum(network.learned) > 0.8 * 35 / EACH


def test_switches_behind_one_address_that_share_nothing_are_reported_at_the_same_time() -> None:
    network = Network(*(Process() for _ in range(8)), bridges=8)
    network.run(30)
    assert sum(network.learned) > 0.8 * 8 * 30 / EACH


def _fill(thread: MainThread) -> list[FlowControl]:
    """As many portions as may be under way."""
    windows = [FlowControl(thread) for _ in range(int(LEAST))]
    for window in windows:
        assert window.is_open
        window.sent(MARK)
        window.mark(10.0)
    return windows


def test_a_bridge_that_does_not_answer_keeps_others_waiting_for_a_moment_only() -> None:
    thread = MainThread()
    turns: list[str] = []
    other = FlowControl(thread, lambda: turns.append("other"))
    _fill(thread)
    assert not other.is_open
    other.wait()
    thread.review(10.0 + STUCK)
    assert not turns
    thread.review(10.1 + STUCK)
    assert turns == ["other"]
    assert other.is_open


def test_a_connection_that_ends_or_has_nothing_to_send_hands_its_turn_on() -> None:
    thread = MainThread()
    turns: list[str] = []
    second, third = (FlowControl(thread, lambda n=n: turns.append(n)) for n in ("second", "third"))
    (first, *_) = _fill(thread)
    second.wait()
    third.wait()
    first.end(10.1)
    assert turns == ["second"]
    second.unused(10.2)
    assert turns == ["second", "third"]


def test_connections_from_one_address_share_a_thread_as_long_as_there_are_any() -> None:
    threads = MainThreads()
    one = threads.of(("10.0.0.1", 4711))
    assert threads.of(("10.0.0.1", 4712)) is one
    assert threads.of(("10.0.0.2", 4711)) is not one
    assert threads.of("unix:/run/x") is not one
