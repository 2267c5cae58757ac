"""The window: what is open, when to ask, and how it follows the switch."""

from random import Random

from ofapp.openflow.wire.flow_control import HOST, LARGEST, MARK, PATIENCE, SMALLEST, FlowControl


def test_it_closes_when_too_much_is_unanswered_and_opens_with_the_answer() -> None:
    window = FlowControl()
    assert not window.sent(MARK - 1)
    assert window.is_open
    assert window.sent(1)
    mark = window.mark()
    assert not window.is_open
    assert not window.sent(MARK - 1)
    window.answered(mark, 1.0, 1.02)
    assert window.is_open
    assert window.sent(window.size)
    assert not window.is_open
    window.answered(window.mark(), 1.0, 1.02)
    assert window.is_open


class Switch:
    """Answers `any_` seconds after any portion, and `each` later for each address in it."""

    def __init__(self, any_: float, each: float, jitter: float = 0.0) -> None:
        self.window = FlowControl()
        self._any, self.each, self._jitter = any_, each, jitter
        self._random = Random(1)

    def take(self, hosts: int) -> float:
        """Be told of so many; the seconds it takes."""
        self.window.sent(hosts * HOST)
        took = self._any + hosts * self.each + self._random.expovariate(1) * self._jitter
        self.window.answered(self.window.mark(), 0.0, took)
        return took

    def saturated(self, portions: int = 200) -> tuple[float, float]:
        """Addresses a second and the longest portion, when more wait all the time."""
        for _ in range(20):
            self.take(self.window.hosts)
        done = [(self.window.hosts, self.take(self.window.hosts)) for _ in range(portions)]
        hosts, seconds = (sum(column) for column in zip(*done, strict=True))
        return hosts / seconds, max(took for _, took in done)


def test_a_fast_switch_gets_as_much_as_there_may_be() -> None:
    switch = Switch(any_=0.0002, each=1e-6)
    switch.saturated()
    assert switch.window.size == LARGEST
    assert switch.window.hosts in (LARGEST // HOST, LARGEST // 2 // HOST)


def test_only_a_switch_that_is_quick_is_reported_more_before_it_has_answered() -> None:
    for each, waited_for in ((1e-6, False), (25e-6, True)):
        switch = Switch(any_=0.01, each=each)  # on a busy machine, both of them
        switch.saturated()
        switch.window.sent(switch.window.hosts * HOST // 2)
        switch.window.mark()
        assert switch.window.is_open is not waited_for


def test_a_portion_takes_no_longer_than_a_quiet_port_may_wait() -> None:
    rate, longest = Switch(any_=0.0005, each=25e-6).saturated()
    assert rate > 0.9 / 25e-6
    assert longest < 1.2 * PATIENCE


def test_portions_that_cost_much_as_such_are_large() -> None:
    """100,000 hosts in Open vSwitch: each portion costs 6 ms."""
    rate, longest = Switch(any_=0.006, each=25e-6).saturated()
    assert rate > 0.4 / 25e-6
    assert longest < 0.02


def test_a_slow_switch_gets_little() -> None:
    switch = Switch(any_=0.001, each=0.002)
    _, longest = switch.saturated()
    assert switch.window.size == SMALLEST
    assert longest < 0.1


def test_a_busy_machine_does_not_end_in_the_smallest_portions() -> None:
    """A task that waits for a processor waits with any amount of work."""
    rate, _ = Switch(any_=0.02, each=50e-6, jitter=0.03).saturated(1000)
    smallest = (SMALLEST // HOST) / (0.05 + 50e-6 * SMALLEST // HOST)
    assert rate > 4 * smallest


def test_a_switch_that_becomes_slow_is_reported_less() -> None:
    switch = Switch(any_=0.0005, each=10e-6)
    switch.saturated()
    switch.each = 100e-6
    took = [switch.take(switch.window.hosts) for _ in range(100)]
    assert took[0] > 2 * PATIENCE
    assert max(took[70:]) < 2 * PATIENCE


def test_quick_answers_to_little_say_nothing_about_much() -> None:
    switch = Switch(any_=0.0001, each=1e-6)
    size = switch.window.size
    for _ in range(8):
        switch.take(MARK // HOST + 1)
    assert switch.window.size == size


def test_answers_may_come_out_of_order() -> None:
    window = FlowControl()
    window.sent(MARK)
    first = window.mark()
    window.sent(MARK)
    window.answered(window.mark(), 1.0, 1.01)
    window.answered(first, 1.0, 1.02)
    assert window.is_open
