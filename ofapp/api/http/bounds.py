"""Limits of requests that take long: how many one token, one address and all may have open.

No token takes all that its address may have, and no address all that there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ofapp.api.problems import AGAIN, ProblemError
from ofapp.bridge.event import EventKind
from ofapp.controller.events import EventLog


@dataclass(frozen=True, slots=True)
class Party:
    """The caller of a request.  name: name of the token or user; peer: its address."""

    name: str
    peer: str


@dataclass
class Bounds:
    """Limits of one kind of requests, and who has some open.

    things: the kind, in the plural; token, address, most: the limits.
    full, cleared: kinds of the events when a limit is reached, and when it is no longer reached.
    refused: number of requests that were refused, by limit.
    """

    things: str
    token: int
    address: int
    most: int
    full: EventKind
    cleared: EventKind
    refused: Counter[str] = field(default_factory=Counter)
    open: list[Party] = field(default_factory=list)
    _reported: set[str] = field(default_factory=set)  # limits that are reached, in words

    def check(self, events: EventLog, party: Party) -> None:
        """Check that one more is allowed.  Raises ProblemError."""
        for bound, what in self._reached(party):
            self.refuse(events, party, bound, what, "until one ends")
            raise ProblemError(503, what, headers=AGAIN)

    def refuse(self, events: EventLog, party: Party, bound: str, what: str, how_long: str) -> None:
        """Count a refusal, and report its limit unless it is reported already.

        what: the limit that is reached, in words, always the same until `allow`.
        """
        self.refused[bound] += 1
        if what not in self._reported:
            self._reported.add(what)
            data = {"bound": bound, "caller": party.name, "peer": party.peer}
            message = f"{what}: more are refused {how_long}"
            events.emit(None, self.full.event(message, data=data))

    def allow(self, events: EventLog, what: str, message: str) -> None:
        """Report that a limit is no longer reached, if it was reported."""
        if what in self._reported:
            self._reported.remove(what)
            events.emit(None, self.cleared.event(message))

    @contextmanager
    def one(self, events: EventLog, party: Party) -> Iterator[None]:
        """Count one that is open during the body."""
        self.open.append(party)
        try:
            yield
        finally:
            reached = [what for _, what in self._reached(party)]
            self.open.remove(party)
            for what in reached:
                self.allow(events, what, f"no longer: {what}")

    def _reached(self, party: Party) -> Iterator[tuple[str, str]]:
        """The limits that are reached, each with a description."""
        if sum(one.name == party.name for one in self.open) >= self.token:
            yield "token", f"{party.name} has {self.token} {self.things}, the most of one token"
        if sum(one.peer == party.peer for one in self.open) >= self.address:
            what = f"{party.peer} has {self.address} {self.things}, the most of one address"
            yield "address", what
        if len(self.open) >= self.most:
            yield "all", f"there are {self.most} {self.things}, the maximum"
