"""Bonds that are not configured.

A host that sends by both ports of such a bond is heard on both, and its addresses are held down. So
an event reports that two ports look like one bond, once for each pair, until no address is held
down for them any more. A loop looks the same; the event says so.
"""

from collections.abc import Iterable

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import PortNumber
from ofapp.bridge.fdb.events import LAG_UNNAMED, LAG_UNNAMED_CLEARED

Two = tuple[int, int]
"""The numbers of two ports, the lower one first."""


class UnnamedBonds:
    """Pairs of ports that look like one bond.  reported: the pairs that were reported."""

    def __init__(self) -> None:
        self.reported: set[Two] = set()

    def heard(self, two: Two, address: str) -> list[Effect]:
        """Report two ports on which alone an address was heard in turn until it was held down."""
        if two in self.reported:
            return []
        self.reported.add(two)
        one, other = two
        text = (
            *(PortNumber(one), " and ", PortNumber(other)),
            f" look like one bond: {address} is heard on both in turn. Name them as members of an"
            " aggregation, under lags: of the bridge; if they are none, there is a loop",
        )
        data = {"ports": [one, other], "mac": address}
        return [LAG_UNNAMED.event(text, data=data)]

    def still(self, held: Iterable[Two]) -> list[Effect]:
        """Clear the reports of pairs for which no address is held down any more."""
        gone = self.reported - set(held)
        self.reported -= gone
        return [
            LAG_UNNAMED_CLEARED.event(
                (PortNumber(one), " and ", PortNumber(other), " do not look like one bond now"),
                data={"ports": [one, other]},
            )
            for one, other in sorted(gone)
        ]
