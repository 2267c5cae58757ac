"""This member's lease in etcd: replaced whenever it is lost, renewed four times in its life.

A process with a lease is a member of the cluster; all its claims are bound to the lease.
`lease_deadline` has the time until which it is valid.  An ended lease is never used again: another
member may own what was claimed under it.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple, Protocol

from ofapp.common import hub
from ofapp.common.buckets import rate_limited
from ofapp.controller.cluster.election.lease_deadline import LeaseDeadline, clock
from ofapp.controller.cluster.etcd.etcd import Etcd, EtcdError, LostError

LOG = rate_limited(__name__)

RENEWALS = 4
"""Renewals in the lifetime of a lease."""


class HeldLease(NamedTuple):
    """A lease.  number: its ID in etcd, 0 for none; deadline: until when it is valid."""

    number: int
    deadline: LeaseDeadline


class LeaseHandler(Protocol):
    """The part of a member that reacts to changes of its lease."""

    def leased(self, number: int) -> None:
        """Use a new lease; it is given up and requested again when this raises EtcdError."""

    def lost(self, why: str) -> None:
        """Write nothing until `regained`, or `leased`."""

    def regained(self) -> None:
        """Go on, as etcd has answered and the lease is still valid."""


class LeaseKeeper:
    """Keeper of this member's lease.  seconds: requested lifetime; etcd may grant a longer one."""

    def __init__(self, etcd: Etcd, seconds: float, handler: LeaseHandler) -> None:
        self.held = HeldLease(0, LeaseDeadline())
        self._etcd = etcd
        self.seconds = seconds
        self._handler = handler
        self._holds = False
        self.renewed: float | None = None
        """Time by `clock` of the last successful grant or renewal; None without a lease."""

    @property
    def holds(self) -> bool:
        """Whether there is a lease that is valid now."""
        return self.held.deadline.holds(clock())

    @property
    def interval(self) -> float:
        """Seconds between renewals."""
        return self.seconds / RENEWALS

    def run(self) -> None:
        """Keep a lease, for ever."""
        while True:
            began = clock()
            self.turn()
            hub.sleep(max(began + self.interval - clock(), 0))

    def turn(self) -> None:
        """Renew the lease, or request one."""
        why = "its lease has ended"
        try:
            if self.held.number:
                self._renew()
            else:
                self._begin()
        except LostError:
            self.held.deadline.end()
            self.held, self.renewed = HeldLease(0, LeaseDeadline()), None
        except EtcdError as error:
            LOG.info("the lease was not renewed: %s", error)
            why = str(error)
        self._look(why)

    def remaining(self, lease: int, patience: float) -> float:
        """Seconds until any member's lease ends, by etcd's clock.  Raises EtcdError."""
        return self._etcd.remaining(lease, patience)

    def abandon(self, why: str) -> int:
        """Drop the lease as invalid; returns its number, 0 for none."""
        number, deadline = self.held
        deadline.end()
        self.held, self.renewed = HeldLease(0, LeaseDeadline()), None
        self._look(why)
        return number

    def give_up(self) -> None:
        """Revoke the lease, and with it all claims of this member.  Raises EtcdError."""
        held, self.held = self.held, HeldLease(0, LeaseDeadline())
        held.deadline.end()
        if held.number:
            self._etcd.revoke(held.number)

    def _begin(self) -> None:
        asked = clock()
        number, seconds = self._etcd.grant(self.seconds)
        held = HeldLease(number, LeaseDeadline())
        try:
            self._handler.leased(number)
        except EtcdError:
            with contextlib.suppress(EtcdError):
                self._etcd.revoke(number)
            raise
        if clock() > asked + self.interval:  # etcd is slow, and some of the lease is gone already
            asked, seconds = clock(), self._etcd.renew(number, seconds)
        held.deadline.renewed(asked, seconds)
        self.held, self.renewed = held, asked
        self._holds = True

    def _renew(self) -> None:
        number, deadline = self.held
        asked = clock()
        patience = max(self.seconds / 2, deadline.until - asked)
        deadline.renewed(asked, self._etcd.renew(number, patience))
        self.renewed = asked

    def _look(self, why: str) -> None:
        before, self._holds = self._holds, self.holds
        if before and not self._holds:
            self._handler.lost(why)
        elif self._holds and not before:
            self._handler.regained()
