"""Whether this member may still write: for how long its lease lives, by its own clock alone.

etcd ends a lease so many seconds after it has taken in the last renewal.  That was not before the
renewal was sent, so whoever counts from before it was sent, on a clock that never goes back and
does not stand still while the machine sleeps, stops before etcd lets another member have anything.
No clock is compared with another one; they only have to go at the same pace, but for `CAUTION`.

It is asked at the last moment before octets go to a switch (`wire.outbox`).  So a process that was
stopped for however long finds out before it has written anything, unless it was stopped between
the question and the system call behind it: what leaves then reaches a switch that takes nothing
any more from who is not its master (`switch.roles`).  The same is true where a clock cannot be
trusted, as in a guest that is stopped with its clock, or where an etcd that was deposed and does
not know it yet renews a lease once more.
"""

from __future__ import annotations

import time

CAUTION = 0.1
"""The share of a lease that is not counted on: clocks differ in pace, and what is sent travels."""


_read, _BOOTTIME = time.clock_gettime, time.CLOCK_BOOTTIME


def clock() -> float:
    """Seconds, also those in which the machine slept (CLOCK_MONOTONIC leaves these out)."""
    return _read(_BOOTTIME)


class Tenure:
    """Of one lease.

    until: when it ends, by `clock`.
    """

    def __init__(self) -> None:
        self.until = float("-inf")

    def renewed(self, asked: float, seconds: float) -> None:
        """etcd lets the lease live for so many seconds; asked: when it was asked, or before."""
        self.until = max(self.until, asked + seconds * (1 - CAUTION))

    def end(self) -> None:
        """The lease is over, or about to be given up."""
        self.until = float("-inf")

    def holds(self, now: float) -> bool:
        """Whether this member may write."""
        return now < self.until

    def holds_now(self) -> bool:
        """The same by `clock`; asked each time that octets go to a switch (0.3 us)."""
        return _read(_BOOTTIME) < self.until
