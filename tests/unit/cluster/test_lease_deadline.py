"""A lease by one's own clock."""

from __future__ import annotations

import time

from ofapp.controller.cluster.election.lease_deadline import CAUTION, LeaseDeadline, clock


def test_nothing_may_be_written_before_a_lease() -> None:
    assert not LeaseDeadline().holds(0)


def test_it_counts_from_before_the_renewal_was_sent() -> None:
    deadline = LeaseDeadline()
    deadline.renewed(asked=100, seconds=10)  # whenever the reply came
    assert deadline.holds(100 + 10 * (1 - CAUTION) - 0.01)
    assert not deadline.holds(100 + 10 * (1 - CAUTION))


def test_a_late_reply_shortens_nothing() -> None:
    deadline = LeaseDeadline()
    deadline.renewed(asked=102, seconds=10)
    deadline.renewed(asked=100, seconds=10)
    assert deadline.holds(110)


def test_it_is_over_when_it_is_ended() -> None:
    deadline = LeaseDeadline()
    deadline.renewed(asked=100, seconds=10)
    deadline.end()
    assert not deadline.holds(100)


def test_the_clock_counts_what_the_machine_slept() -> None:
    assert clock() >= time.monotonic() - 0.01
    assert clock() <= clock()
