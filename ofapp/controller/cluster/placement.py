"""Which member should look after which switch: rendezvous hashing, the same at every member.

For each switch every member has a number that only the two names decide; the highest is first in
line.  So members need not agree on anything but on who is there; one that comes takes its share
from all others and moves nothing between those, and one that goes leaves its share to all of them.
A member that is drained is behind everybody who is not: it still serves what nobody else can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member that is there.  drained: it is to give up what it has, and to take nothing."""

    name: str
    drained: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Who should look after a switch, who if that one does not, and so on; by name.

    drained: those at its end that are drained.
    """

    order: tuple[str, ...]
    drained: frozenset[str] = frozenset()

    def turn(self, name: str) -> int:
        """How many are before this member; behind all where it is not in the line."""
        return self.order.index(name) if name in self.order else len(self.order)

    def before(self, name: str) -> tuple[str, ...]:
        """Those before this member."""
        return self.order[: self.turn(name)]

    def is_before(self, name: str, owner: str) -> bool:
        """Whether the switch should rather be this member's than its owner's."""
        return self.turn(name) < self.turn(owner)

    def reason(self, name: str, former: str | None) -> str:
        """Why this member looks after the switch now, and not the one that did, in words."""
        turn = self.turn(name)
        share = (
            f"it falls to {name}" if turn == 0 else f"{self._named_before(name)} did not take it"
        )
        if former is None:
            return f"nobody looked after it, and {share}"
        if former == name:
            return f"{former} came back to it, and {share}"
        if former not in self.order:
            return f"{former} has gone, and {share}"
        if former in self.drained:
            return f"{former} is drained, and {share}"
        return f"{former} gave it up, and {share}"

    def _named_before(self, name: str) -> str:
        return " and ".join(self.before(name))


def line(members: Iterable[Candidate], datapath_id: int) -> Line:
    """The line for one switch."""
    there = sorted(members, key=lambda own: (own.drained, -_weight(own.name, datapath_id)))
    drained = frozenset(own.name for own in there if own.drained)
    return Line(tuple(own.name for own in there), drained)


def _weight(name: str, datapath_id: int) -> int:
    key = datapath_id.to_bytes(8, "big") + name.encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
