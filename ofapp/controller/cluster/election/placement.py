"""Placement of switches on members: rendezvous hashing, the same at every member.

For each switch every member has a weight that depends only on their two names; the highest is first
in the switch's line.  So members only need to agree on which members are present.  One that joins
takes its share from all others and moves nothing between those; one that leaves spreads its share
over all of them.  Drained members are at the end: they still serve switches that no other can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A present member.  drained: it is to give up its switches, and to claim none."""

    name: str
    drained: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Members by name, in the order in which they should own a switch.

    drained: the drained ones, at the end.
    """

    order: tuple[str, ...]
    drained: frozenset[str] = frozenset()

    def turn(self, name: str) -> int:
        """Number of members before this one; of all if it is not in the line."""
        return self.order.index(name) if name in self.order else len(self.order)

    def before(self, name: str) -> tuple[str, ...]:
        """Members before this one."""
        return self.order[: self.turn(name)]

    def is_before(self, name: str, owner: str) -> bool:
        """Whether a member is before the owner in the line."""
        return self.turn(name) < self.turn(owner)

    def reason(self, name: str, former: str | None) -> str:
        """Why this member owns the switch now, instead of its former owner, in words."""
        turn = self.turn(name)
        share = (
            f"it falls to {name}" if turn == 0 else f"{self._named_before(name)} did not take it"
        )
        if former is None:
            return f"it had no owner, and {share}"
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
    there = sorted(members, key=lambda member: (member.drained, -_weight(member.name, datapath_id)))
    drained = frozenset(member.name for member in there if member.drained)
    return Line(tuple(member.name for member in there), drained)


def _weight(name: str, datapath_id: int) -> int:
    key = datapath_id.to_bytes(8, "big") + name.encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
