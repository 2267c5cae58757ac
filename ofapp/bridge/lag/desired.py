"""Desired state of the datapath for one aggregation, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DesiredLag:
    """The flows of one aggregation.  number: of its logical port.

    hash: the header fields that choose the member for a frame, as in `LagParams`.
    members: those that distribute, each in its place, 0 in the place of one that does not: so the
    flows of the others stay on their members when one comes or goes.
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
