"""What the datapath should do for one aggregation, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DesiredLag:
    """number: of its logical port.

    hash: what of a frame chooses the member that it leaves by, as in `LagParams`.
    members: those that frames leave by (distributing), each in its own place, 0 in the place of one
    that does not: so the flows of the others stay where they are when one comes or goes.
    collecting: those whose frames enter as the logical port's.
    lacp: those whose LACPDUs and markers are for the controller.
    """

    number: int
    hash: str
    members: tuple[int, ...] = ()
    collecting: tuple[int, ...] = ()
    lacp: tuple[int, ...] = ()

    @property
    def distributing(self) -> tuple[int, ...]:
        """The members that frames leave by."""
        return tuple(filter(None, self.members))
