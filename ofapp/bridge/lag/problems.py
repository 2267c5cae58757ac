"""Problems of aggregations."""

from collections.abc import Iterable, Iterator

from ofapp.bridge.event import ERROR, WARNING
from ofapp.bridge.lag.status import LagStatus, MemberStatus, PartyStatus
from ofapp.bridge.ports.port import Port
from ofapp.bridge.problem import Problem, ProblemKind

NEGOTIATION = 10.0
"""Seconds that LACP needs with the slow rate of a partner that has just started."""

DOWN = ProblemKind(
    "lag.down",
    ERROR,
    "An aggregation carries no traffic: fewer members than its minimum are in use.",
    "See the reason of each member, and the cables.",
    "Enough members carry traffic.",
    "ofapp lag show {bridge} {lag}",
    NEGOTIATION,
)
MEMBER = ProblemKind(
    "lag.member",
    WARNING,
    "A member of an aggregation carries no traffic: the aggregation has less than its capacity.",
    "See the cable of the member, and the aggregation at its other end.",
    "The member carries traffic, or is not a member any more.",
    "ofapp lag show {bridge} {lag}",
    NEGOTIATION,
)
HALF_OPEN = ProblemKind(
    "lag.half-open",
    ERROR,
    "A member of an aggregation sends, and its partner does not receive there: frames are lost.",
    "See the aggregation at the other end of the member's cable.",
    "The partner receives on the member, or the member does not send.",
    "ofapp lag show {bridge} {lag}",
    NEGOTIATION,
)
CONFLICT = ProblemKind(
    "lag.conflict",
    ERROR,
    "A port is not used: an aggregation has its name or its number.",
    "Rename the port or the aggregation in the configuration file.",
    "Names and numbers differ.",
    "ofapp lag show {bridge}",
)
SPARE = ("standby", "away")
"""States of members that are no problem: an unused spare, and a port that does not exist now."""


def problems(lags: Iterable[LagStatus], left_out: Iterable[Port]) -> Iterator[Problem]:
    """Aggregations that are down or have lost members, and ports that are left out."""
    for lag in lags:
        if not lag.up:
            text = f"aggregation {lag.name} is down: fewer than {lag.min_links} members are in use"
            yield DOWN.at(text, subject=lag.name, data={"lag": lag.name})
        for member in lag.members:
            if not member.distributing and member.state not in SPARE:
                yield _member(lag, member)
            elif member.distributing and _is_deaf(member.partner):
                text = f"member {member.name} of {lag.name} sends, and its partner does not receive"
                data = {"lag": lag.name, "member": member.name}
                yield HALF_OPEN.at(text, member.number, member.name, data)
    for port in left_out:
        text = (
            f"port {port.name} ({port.number}) is not used: an aggregation has its name or number"
        )
        yield CONFLICT.at(text, subject=port.name, data={"port_name": port.name})


def _is_deaf(partner: PartyStatus | None) -> bool:
    """Whether the partner of a member says that it does not receive there."""
    return partner is not None and "collecting" not in partner.state


def _member(lag: LagStatus, member: MemberStatus) -> Problem:
    text = f"member {member.name} of {lag.name} is {member.state}: {member.reason or 'no reason'}"
    data = {"lag": lag.name, "member": member.name, "state": member.state}
    return MEMBER.at(text, member.number, member.name, data)
