"""Status of aggregations, for the API and the command line.

Counts and states of LACP are None, or empty, for a member of a static aggregation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STATE_BITS = (
    *("activity", "timeout", "aggregation", "synchronization"),
    *("collecting", "distributing", "defaulted", "expired"),
)
"""Names of the bits of a state octet, from bit 0 on (IEEE 802.1AX-2020 6.4.2.3)."""


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

    number: of its logical port, present or not.
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
