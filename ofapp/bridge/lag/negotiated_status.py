"""Status of an aggregation that runs LACP, from its actor."""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.lag import lacp
from ofapp.bridge.lag.status import LagStatus, MemberStatus, PartyStatus

_COUNTED = {
    "lacpdu": "lacpdus",
    "marker": "markers",
    "marker_response": "marker_responses",
    "unknown": "unknown",
    "illegal": "illegal",
}


def negotiated(status: LagStatus, actor: lacp.Actor) -> LagStatus:
    """The status, with LACP's part added."""
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
        churn=tuple(side for side, found in churn if found),
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
