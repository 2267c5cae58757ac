"""This member's lease of etcd: had anew whenever it is lost, renewed four times in its life.

Whoever has a lease is in the cluster; all that it claims hangs on it.  `tenure` says for how long
it may be counted on; one that is over is never had again: what was claimed under it is another's.
"""

from __future__ import annotations

import logging
from typing import NamedTuple, Protocol

from ofapp.common import hub
from ofapp.controller.cluster.etcd import Etcd, EtcdError, LostError
from ofapp.controller.cluster.tenure import Tenure, clock

LOG = logging.getLogger(__name__)

RENEWALS = 4
"""In the life of a lease."""


class Held(NamedTuple):
    """A lease.  number: etcd's, 0 for none; tenure: for how long it may be counted on."""

    number: int
    tenure: Tenure


class Heeds(Protocol):
    """Who hears of it."""

    def leased(self, number: int) -> None:
        """There is a lease; it is to be had anew when this raises EtcdError."""

    def lost(self, why: str) -> None:
        """Nothing may be written until `regained`, or `leased`."""

    def regained(self) -> None:
        """etcd has answered, and the lease has lived on."""


class Lessee:
    """seconds: the life of a lease that is asked for; etcd may let it live for longer."""

    def __init__(self, etcd: Etcd, seconds: float, heeds: Heeds) -> None:
        self.held = Held(0, Tenure())
        self._etcd = etcd
        self._seconds = seconds
        self._heeds = heeds
        self._holds = False
        self.renewed: float | None = None
        """When etcd was asked for what it has granted last, by `clock`; None without a lease."""

    @property
    def holds(self) -> bool:
        """Whether there is a lease that may be counted on now."""
        return self.held.tenure.holds(clock())

    @property
    def interval(self) -> float:
        """Seconds between renewals."""
        return self._seconds / RENEWALS

    def run(self) -> None:
        """Have a lease, for ever."""
        while True:
            began = clock()
            self.turn()
            hub.sleep(max(began + self.interval - clock(), 0))

    def turn(self) -> None:
        """Renew the lease, or have one."""
        why = "its lease has ended"
        try:
            if self.held.number:
                self._renew()
            else:
                self._begin()
        except LostError:
            self.held.tenure.end()
            self.held, self.renewed = Held(0, Tenure()), None
        except EtcdError as error:
            LOG.info("the lease was not renewed: %s", error)
            why = str(error)
        self._look(why)

    def remaining(self, lease: int, patience: float) -> float:
        """For how many seconds anybody's lease lives on, as etcd counts; EtcdError."""
        return self._etcd.remaining(lease, patience)

    def give_up(self) -> None:
        """Nothing of what hangs on the lease is this member's any more; EtcdError."""
        held, self.held = self.held, Held(0, Tenure())
        held.tenure.end()
        if held.number:
            self._etcd.revoke(held.number)

    def _begin(self) -> None:
        asked = clock()
        number, seconds = self._etcd.grant(self._seconds)
        held = Held(number, Tenure())
        self._heeds.leased(number)
        held.tenure.renewed(asked, seconds)
        self.held, self.renewed = held, asked
        self._holds = True

    def _renew(self) -> None:
        number, tenure = self.held
        asked = clock()
        tenure.renewed(asked, self._etcd.renew(number, self._seconds / 2))
        self.renewed = asked

    def _look(self, why: str) -> None:
        before, self._holds = self._holds, self.holds
        if before and not self._holds:
            self._heeds.lost(why)
        elif self._holds and not before:
            self._heeds.regained()
