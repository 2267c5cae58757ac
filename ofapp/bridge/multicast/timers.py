"""All deadlines of a bridge's snooping.

A deadline that moves later, as with each report, costs nothing: the owner comes up at the old time,
is found not yet due and goes back.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from ofapp.common.deadlines import Deadlines

ScopeKey = tuple[int, bool]
"""VLAN and family of an object: the VID, and whether it is of IPv6."""


class Timed(ABC):
    """An object with a next deadline.

    place: its VLAN and family, by which its owner finds it.
    """

    __slots__ = ("place",)

    def __init__(self, place: ScopeKey) -> None:
        self.place = place

    @abstractmethod
    def deadline(self) -> float:
        """The instant at which it is due next; infinity for never."""
        ...


class Timers(Deadlines[Timed]):
    """Objects with deadlines."""

    def update(self, owner: Timed) -> None:
        """Note the owner's deadline; cheap when it moved later or stayed."""
        self.advance(owner, owner.deadline())

    def run(self, now: float) -> Iterator[Timed]:
        """All objects that are due at `now`, in order of time.

        Each must be handled before the next is taken, so that its deadline is past `now`.
        """
        for owner in self.expired(now):
            if owner.deadline() <= now:
                yield owner
            self.update(owner)
