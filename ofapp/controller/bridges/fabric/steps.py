"""Effects of a fabric's bridge on their way to its members, in the order of their steps.

The queue is asked and calls nothing.  A step may be sent when all members that are in the one
before have confirmed that they have carried theirs out, or are not connected any more.

A `Reprogram` is sent with the last step: the bridge is ahead of its members until then, and a
member's port would open before a port at another member is closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import NamedTuple

from ofapp.bridge.effects import Effect, Reprogram
from ofapp.bridge.fabric.state.split import Step

MOST_WAITING = 1 << 16
"""Effects that may wait: more than all ports of a fabric can bring about at once."""


class Next(NamedTuple):
    """A step that may be sent now.

    confirm: members that have to confirm it before the next one;
    number: number of the step, to tell late confirmations of others from its own.
    """

    effects: Step
    confirm: frozenset[int]
    number: int


class Steps:
    """Steps that wait.  awaited: members that have not confirmed the last one that was sent."""

    def __init__(self) -> None:
        self.awaited: set[int] = set()
        self._waiting: deque[dict[int, list[Effect]]] = deque()
        self._number = 0

    def put(self, steps: list[Step]) -> None:
        """Add steps; the first continues the last one that waits."""
        if not steps:
            return
        first, *others = steps
        if self._waiting:
            last = self._waiting[-1]
            for member, effects in first.items():
                last.setdefault(member, []).extend(effects)
        else:
            self._waiting.append({member: [*effects] for member, effects in first.items()})
        self._waiting += [{member: [*own] for member, own in step.items()} for step in others]

    def next(self, running: Container[int]) -> Next | None:
        """Take the step that may be sent now; None: there is none.

        running: connected members whose protocols run; others confirm nothing.
        """
        if self.awaited or not self._waiting:
            return None
        step = self._waiting.popleft()
        self._number += 1
        if self._waiting:
            _postpone(step, self._waiting[-1])
            self.awaited = {member for member in step if member in running}
        return Next(step, frozenset(self.awaited), self._number)

    def confirmed(self, member: int, number: int) -> None:
        """Take note that a member has carried out its part of a step."""
        if number == self._number:
            self.awaited.discard(member)

    def left(self, member: int) -> None:
        """Take note that a member is not connected any more."""
        self.awaited.discard(member)
        for step in self._waiting:
            step.pop(member, None)

    @property
    def idle(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    @property
    def overrun(self) -> bool:
        """Whether more waits than the members can be behind."""
        return sum(len(own) for step in self._waiting for own in step.values()) > MOST_WAITING


def _postpone(step: dict[int, list[Effect]], last: dict[int, list[Effect]]) -> None:
    """Leave each `Reprogram` of a step for the last step that waits (see `until_barrier`)."""
    for member, effects in step.items():
        if Reprogram() in effects:
            step[member] = [effect for effect in effects if effect != Reprogram()]
            last.setdefault(member, []).insert(0, Reprogram())
