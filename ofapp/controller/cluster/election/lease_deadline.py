"""Deadline of this member's lease, by its own clock alone: until then it may write to switches.

etcd ends a lease its lifetime after it has processed the last renewal, and so not before that time
after the renewal was sent.  This member counts from before it was sent, on a clock that never goes
back and runs while the machine sleeps.  So it stops before etcd lets another member claim anything.
Clocks are not compared with each other; they only have to run at the same rate, within `CAUTION`.

The deadline is checked right before octets go to a switch (`wire.outbox`).  So a process that was
stopped for any time notices before it has written anything, unless it was stopped between the check
and the system call after it.  What is sent then reaches a switch that refuses writes of a
controller that is not its master (`switch.roles`).  The same is true where a clock cannot be
trusted, as in a virtual machine that is stopped with its clock, or where a deposed leader of etcd
renews a lease once more.
"""

from __future__ import annotations

import time

CAUTION = 0.1
"""Share of a lease that is not used: clocks differ in rate, and messages take time."""


_read, _BOOTTIME = time.clock_gettime, time.CLOCK_BOOTTIME


def clock() -> float:
    """Seconds, also those in which the machine slept (CLOCK_MONOTONIC leaves these out)."""
    return _read(_BOOTTIME)


class LeaseDeadline:
    """Deadline of one lease.

    until: its end, by `clock`.
    """

    def __init__(self) -> None:
        self.until = float("-inf")

    def renewed(self, asked: float, seconds: float) -> None:
        """Extend the deadline to `seconds` after `asked`, the time of the request or before."""
        self.until = max(self.until, asked + seconds * (1 - CAUTION))

    def end(self) -> None:
        """End the deadline: the lease has ended, or is about to be given up."""
        self.until = float("-inf")

    def holds(self, now: float) -> bool:
        """Whether this member may write."""
        return now < self.until

    def holds_now(self) -> bool:
        """Whether this member may write now; called before each write to a switch (0.3 us)."""
        return _read(_BOOTTIME) < self.until
