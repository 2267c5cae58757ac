"""Takeover of a bridge's documents: once for all of its switches.

Each switch keeps the mark of the snapshot that counts (`openflow.switch.mastership.marks`).  The
members of a fabric are separate switches: an owner that dies may have replaced the mark in some of
them only, and the tree may have moved in these.  So the first member that is won waits a moment for
the others that are connected, and a snapshot counts only if all of them have its mark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ofapp.common import hub
from ofapp.common.request_error import RequestError
from ofapp.controller.cluster.election.lease_deadline import clock
from ofapp.controller.cluster.election.ownership import Claim
from ofapp.controller.cluster.sharing.state import SharedState

GATHER = 1.0
"""Most seconds until the marks of all connected members are known."""

LOOK = 0.005
"""Seconds between checks for that."""


class _Takeover:
    """One under way.  marks: by switch; counts: see `SharedState.take_over`, None if it failed."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.marks: dict[int, int | None] = {}
        self.counts: bool | None = None
        self.ended = hub.Event()

    @property
    def mark(self) -> int | None:
        """The mark that all have; None: no snapshot counts."""
        marks = set(self.marks.values())
        return marks.pop() if len(marks) == 1 else None


class Takeovers:
    """Takeovers by one member of a cluster.  state: stored documents of each bridge."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._under_way: dict[int, _Takeover] = {}

    def take_over(
        self, claim: Claim, switch: int, mark: int | None, others: Callable[[], Collection[int]]
    ) -> bool:
        """Read the documents of a bridge, as a switch of it was won.

        Raises EtcdError and RequestError.

        others: datapath ids of switches that are about to be won, too.  Returns False to one of
        them if what this member knew of the bridge is outdated.
        """
        bridge = claim.datapath_id
        if self._state.has_taken_over(bridge, claim.term):
            return True
        running = self._under_way.get(bridge)
        if running is not None and running.claim == claim:
            running.marks[switch] = mark
            running.ended.wait()
            if running.counts is None:
                raise RequestError("the documents of its fabric could not be read")
            return True
        made = self._under_way[bridge] = _Takeover(claim)
        made.marks[switch] = mark
        try:
            end = clock() + GATHER
            while set(others()) - made.marks.keys() and clock() < end:
                hub.sleep(LOOK)
            made.counts = self._state.take_over(bridge, claim.term, made.mark)
            return made.counts
        finally:
            if self._under_way.get(bridge) is made:
                del self._under_way[bridge]
            made.ended.set()
