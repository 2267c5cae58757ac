"""Status of aggregations, for the API and the command line.

Counts and states of LACP are None, or empty, for a member of a static aggregation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ofapp.bridge.lag import lacp

STATE_BITS = (
    *("activity", "timeout", "aggregation", "synchronization"),
    *("collecting", "distributing", "defaulted", "expired"),
)
"""Names of the bits of a state octet, from bit 0 on (IEEE 802.1AX-2020 6.4.2.3)."""

_COUNTED = {
    "lacpdu": "lacpdus",
    "marker": "markers",
    "marker_response": "marker_responses",
    "unknown": "unknown",
    "illegal": "illegal",
}


@dataclass(frozen=True, slots=True)
class PartyStatus:
    """One side of a link by LACP: this system (the actor) or the partner.

    system: the address in its system identifier; key, port: as that side numbers them.
    state: those of `STATE_BITS` that are set.
    """

    system_priority: int
    system: int
    key: int
    port_priority: int
    port: int
    state: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """One member.

    number: None while there is no port of that name; link: up, and live according to the switch.
    state: away, down, waiting, attached, collecting, distributing; standby, individual, defaulted.
    reason: why it carries no traffic; empty where it does.
    counters: PDUs and markers sent and received, illegal and unknown ones, churns, flaps, by name.
    churn: the sides that do not settle, of `actor` and `partner` (802.1AX-2020 6.4.17).
    """

    name: str
    number: int | None
    link: bool
    speed_mbps: int
    state: str
    reason: str
    collecting: bool
    distributing: bool
    actor: PartyStatus | None = None
    partner: PartyStatus | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    churn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LagStatus:
    """One aggregation.

    number: number of its logical port, present or not.
    lacp, hash: as configured; up: enough members carry traffic; speed_mbps: their sum.
    system, key: as sent to the partner; partner: None while none sends LACP.  All three are None
    for a static aggregation.
    """

    name: str
    number: int
    lacp: str
    hash: str
    up: bool
    speed_mbps: int
    min_links: int
    members: tuple[MemberStatus, ...]
    system: int | None = None
    key: int | None = None
    partner: PartyStatus | None = None


def negotiated(status: LagStatus, actor: lacp.Actor) -> LagStatus:
    """The status of an aggregation with the part of LACP added, from its actor."""
    whole = actor.status()
    members = {member.port: member for member in whole.members}
    partner = next((m for m in whole.members if m.distributing and not m.defaulted), None)
    return replace(
        status,
        members=tuple(_member(m, members.get(m.number or 0)) for m in status.members),
        system=whole.system.address,
        key=whole.key,
        partner=None if partner is None else _party(partner.partner),
    )


def _member(status: MemberStatus, member: lacp.MemberStatus | None) -> MemberStatus:
    if member is None or not status.link or status.state == "waiting":
        return status
    churn = (("actor", member.actor_churn), ("partner", member.partner_churn))
    return replace(
        status,
        state=member.state.value,
        reason=member.reason or "",
        actor=_party(member.actor),
        partner=None if member.defaulted else _party(member.partner),
        counters=_counters(member),
        churn=tuple(side for side, present in churn if present),
    )


def _counters(member: lacp.MemberStatus) -> dict[str, int]:
    counters = {f"{name}_sent": member.sent.get(kind, 0) for kind, name in _COUNTED.items()}
    counters |= {
        f"{name}_received": member.received.get(kind, 0) for kind, name in _COUNTED.items()
    }
    for never in ("unknown_sent", "illegal_sent"):
        del counters[never]
    return counters | {
        "dropped": sum(member.drops.values()),
        "actor_churns": member.actor_churn_count,
        "partner_churns": member.partner_churn_count,
        "flaps": member.flaps,
        "held_back": member.held_back,
    }


def _party(said: lacp.Information) -> PartyStatus:
    return PartyStatus(
        said.system.priority,
        said.system.address,
        said.key,
        said.port_priority,
        said.port,
        tuple(said.state.names),
    )
