"""What can be set of one aggregation, in the words of IEEE 802.1AX-2020 where it has one.

Frozen and checked when it is made, so that neither LACP nor the pipeline ever meets a bad value.
Each parameter is declared here and nowhere else, see `bridge.parameter`.  `members` is none of
them: a list has no place on a command line's option or in a field of a port, so whoever reads or
writes one does it by hand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval
from typing_extensions import Doc

from ofapp.bridge.input_error import InputError
from ofapp.bridge.parameter import refusals

MAX_MEMBERS = 32
"""Of one aggregation, those that stand by among them."""
MAX_LINKS = 8
"""Members of one aggregation that carry traffic at the same time."""

_Priority = Interval(ge=0, le=65535)
_Links = Interval(ge=1, le=MAX_LINKS)


@dataclass(frozen=True, slots=True)
class LagParams:
    """One aggregation.

    members: names of ports, in full; a port that is not there yet is waited for.

    Raises InputError, which names the parameter, when a value or their relation is refused.
    """

    members: tuple[str, ...]
    lacp: Annotated[
        Literal["active", "passive", "off"],
        Doc(
            "active speaks LACP, passive answers who speaks it first, off is a static aggregation:"
            " every member whose link is up is used."
        ),
    ] = "active"
    rate: Annotated[
        Literal["slow", "fast"],
        Doc("How often the partner is asked to speak: slow is each 30 s, fast is each second."),
    ] = "slow"
    hash: Annotated[
        Literal["layer2", "layer2+3", "layer3+4"],
        Doc("What of a frame chooses the member that it leaves by."),
    ] = "layer2+3"
    min_links: Annotated[
        int, _Links, Doc("With fewer members in use than that the aggregation is down: 1 to 8.")
    ] = 1
    max_links: Annotated[int, _Links, Doc("Most members in use; the others stand by: 1 to 8.")] = (
        MAX_LINKS
    )
    system_priority: Annotated[
        int,
        _Priority,
        Doc("The system with the lower one decides which members stand by: 0 to 65535."),
    ] = 32768
    port_priority: Annotated[
        int,
        _Priority,
        Doc("What the members say of themselves; lower ones are used first: 0 to 65535."),
    ] = 32768
    fallback: Annotated[
        bool,
        Doc("While no partner speaks LACP, one member is used: hosts that boot without it."),
    ] = False

    def __post_init__(self) -> None:
        for parameter, value in refusals(self):
            raise InputError(parameter.name, str(parameter.refusal(value)))
        self._check_members()
        if self.min_links > self.max_links:
            raise InputError(
                "min_links",
                f"must be at most max_links, which is {self.max_links}, not {self.min_links}",
            )

    def _check_members(self) -> None:
        if not 1 <= len(self.members) <= MAX_MEMBERS:
            raise InputError(
                "members", f"must be 1 to {MAX_MEMBERS} names of ports, not {len(self.members)}"
            )
        twice = [name for name, times in Counter(self.members).items() if times > 1]
        if twice:
            raise InputError("members", f"has {twice[0]!r} more than once")
