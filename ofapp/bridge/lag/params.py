"""Parameters of one aggregation, named as in IEEE 802.1AX-2020 where it has a name.

Frozen and checked when created, so that neither LACP nor the pipeline ever gets a bad value.
Each parameter is declared here and nowhere else, see `bridge.parameter`.  `members` is none of
them: a list does not fit a command line option or a field of a port, so it is read and written by
separate code.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval
from typing_extensions import Doc

from ofapp.bridge.input_error import InputError
from ofapp.bridge.params.parameter import refusals

MAX_MEMBERS = 32
"""Most members of one aggregation, including those on standby."""
MAX_LINKS = 8
"""Most members of one aggregation that carry traffic at the same time."""

_IDENTITY = ("system_priority", "port_priority")
"""Parameters that identify members to a partner: a change restarts both ends (802.1AX-2020
6.4.14)."""

INTERRUPTION = "all members go out of use, and carry traffic again two to three seconds later"

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
            "active sends LACP, passive only answers a partner that sends it, off is a static"
            " aggregation: every member whose link is up is used."
        ),
    ] = "active"
    rate: Annotated[
        Literal["slow", "fast"],
        Doc(
            "How often the partner is asked to send: slow is each 30 s, fast is each second. A"
            " member that is silent alone is given up after 90 s, or 3 s with fast. A partner that"
            " asks for fast itself gives all members up when the controller is disconnected for"
            " 3 s; 18 s cost 15.8 s of frames; a cluster's takeover cost none in 33 of 35 trials."
        ),
    ] = "slow"
    hash: Annotated[
        Literal["layer2", "layer2+3", "layer3+4"],
        Doc("The header fields of a frame that choose the member it leaves by."),
    ] = "layer2+3"
    min_links: Annotated[
        int,
        _Links,
        Doc("Minimum number of members in use, 1 to 8; with fewer the aggregation is down."),
    ] = 1
    max_links: Annotated[
        int, _Links, Doc("Most members in use; the others are on standby: 1 to 8.")
    ] = MAX_LINKS
    system_priority: Annotated[
        int,
        _Priority,
        Doc("The system with the lower one decides which members are on standby: 0 to 65535."),
    ] = 32768
    port_priority: Annotated[
        int,
        _Priority,
        Doc("Priority that the members send; lower ones are used first: 0 to 65535."),
    ] = 32768
    fallback: Annotated[
        bool,
        Doc("While no partner sends LACP, one member is used: for hosts that boot without it."),
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


def interrupting(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """Parameters whose change interrupts traffic; new: those that are set, by name."""
    spoken = old["lacp"] != "off"
    if spoken is (new.get("lacp", old["lacp"]) == "off"):
        return ["lacp"]
    return [name for name in _IDENTITY if spoken and new.get(name, old[name]) != old[name]]
