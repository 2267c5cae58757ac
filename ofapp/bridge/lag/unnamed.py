"""Bonds that nobody has named: two ports on which the same addresses are heard in turn.

A host that sends by both ports of a bond is heard on both, and the guard over moves holds its
addresses down: that is loud, but it says nothing of bonds. So it is told that two ports look like
one, once for each two, until no address is held down for them any more. A loop looks the same from
here, which is told, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, PortNumber, Severity

Two = tuple[int, int]
"""The numbers of two ports, the lower one first."""


class UnnamedBonds:
    """told: the ports of which it was told."""

    def __init__(self) -> None:
        self.told: set[Two] = set()

    def heard(self, two: Two, address: str) -> list[Effect]:
        """An address was heard on two ports in turn, and on no others, until it was held down."""
        if two in self.told:
            return []
        self.told.add(two)
        one, other = two
        text = (
            *(PortNumber(one), " and ", PortNumber(other)),
            f" look like one bond: {address} is heard on both in turn. Name them as members of an"
            " aggregation, under lags: of the bridge; if they are none, there is a loop",
        )
        data = {"ports": [one, other], "mac": address}
        return [Event("lag.unnamed", text, Severity.WARNING, data=data)]

    def still(self, held: Iterable[Two]) -> list[Effect]:
        """For these ports addresses are held down, and for no others any more."""
        gone = self.told - set(held)
        self.told -= gone
        return [
            Event(
                "lag.unnamed.cleared",
                (PortNumber(one), " and ", PortNumber(other), " do not look like one bond now"),
                data={"ports": [one, other]},
            )
            for one, other in sorted(gone)
        ]
