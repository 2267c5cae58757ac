"""Frozen values with the state of an aggregation, for an API (802.1AX clause 7.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.information import Information, State, System
from ofapp.bridge.lag.lacp.mux import is_held_back
from ofapp.bridge.lag.lacp.port import (
    MAX_OPENINGS,
    OPENINGS_PERIOD,
    AggregationPort,
    Churn,
    Mux,
    Receive,
    Selected,
)
from ofapp.bridge.lag.lacp.selection import stranger_reason
from ofapp.bridge.stp.params import Link


class MemberState(Enum):
    """The state of a member: the Mux machine's, or the reason that keeps it out of use."""

    DOWN = "down"
    DEFAULTED = "defaulted"
    EXPIRED = "expired"
    STANDBY = "standby"
    INDIVIDUAL = "individual"
    DETACHED = "detached"
    WAITING = "waiting"
    ATTACHED = "attached"
    COLLECTING = "collecting"
    DISTRIBUTING = "distributing"


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """One member.

    reason: why it is not in use, one sentence; None for one that distributes.
    individual: it is used alone, as its partner asks for that or does not speak LACP.
    actor, partner: information of the two ends; partner is the default one while defaulted.
    sent, received: frames by kind (lacpdu, marker, marker_response, unknown, illegal).
    drops: refused ones by reason. flaps: how often it ceased to distribute.
    held_back: how often it was kept from changing too often.
    """

    port: int
    state: MemberState
    reason: str | None
    link: Link
    individual: bool
    defaulted: bool
    selected: Selected
    mux: Mux
    receive: Receive
    actor: Information
    partner: Information
    actor_churn: bool
    partner_churn: bool
    actor_churn_count: int
    partner_churn_count: int
    sent: Mapping[str, int]
    received: Mapping[str, int]
    drops: Mapping[str, int]
    flaps: int
    held_back: int

    @property
    def collecting(self) -> bool:
        """Whether frames received here are the aggregation's."""
        return self.mux in (Mux.COLLECTING, Mux.DISTRIBUTING)

    @property
    def distributing(self) -> bool:
        """Whether frames of the aggregation may leave here."""
        return self.mux is Mux.DISTRIBUTING


@dataclass(frozen=True, slots=True)
class AggregationStatus:
    """The aggregation and its members, by port number.

    partner, partner_key: None without a partner.
    key: the operational key of the members in use, or of all if none is.
    speed_mbps: speed of all members that distribute, together.
    """

    name: str
    system: System
    admin_key: int
    key: int
    partner: System | None
    partner_key: int | None
    up: bool
    speed_mbps: int
    members: tuple[MemberStatus, ...]


def aggregation_status(core: Core) -> AggregationStatus:
    """Everything about the aggregation at its last known instant."""
    with_whom = core.lag_id
    return AggregationStatus(
        name=core.name,
        system=core.system,
        admin_key=core.admin_key,
        key=core.admin_key << 4 if with_whom is None else with_whom.key,
        partner=None if with_whom is None else with_whom.partner,
        partner_key=None if with_whom is None else with_whom.partner_key,
        up=core.up,
        speed_mbps=sum(port.link.speed_mbps for port in core.distributing),
        members=tuple(member_status(core, core.ports[number]) for number in sorted(core.ports)),
    )


def member_status(core: Core, port: AggregationPort) -> MemberStatus:
    """One member of `core`."""
    return MemberStatus(
        port=port.port_no,
        state=_state(port),
        reason=reason_not_in_use(core, port),
        link=port.link,
        individual=not port.partner.aggregatable and port.selected is Selected.SELECTED,
        defaulted=port.defaulted,
        selected=port.selected,
        mux=port.mux,
        receive=port.receive,
        actor=core.actor(port),
        partner=port.partner,
        actor_churn=port.actor_churn.state is Churn.CHURN,
        partner_churn=port.partner_churn.state is Churn.CHURN,
        actor_churn_count=port.actor_churn.count,
        partner_churn_count=port.partner_churn.count,
        sent=dict(port.sent),
        received=dict(port.received),
        drops=dict(port.drops),
        flaps=port.flaps,
        held_back=port.held_back,
    )


def _state(port: AggregationPort) -> MemberState:
    if not port.enabled:
        return MemberState.DOWN
    if port.receive is Receive.EXPIRED:
        return MemberState.EXPIRED
    if port.selected is Selected.STANDBY:
        return MemberState.STANDBY
    if port.selected is Selected.SELECTED and port.distributing and not port.partner.aggregatable:
        return MemberState.INDIVIDUAL
    if port.defaulted and port.selected is Selected.UNSELECTED:
        return MemberState.DEFAULTED
    return MemberState(port.mux.value)


def reason_not_in_use(core: Core, port: AggregationPort) -> str | None:
    """The sentence; None for a member that distributes."""
    if port.distributing:
        return None
    return (
        _of_link(port)
        or _of_partner(core, port)
        or _of_selection(core, port)
        or _of_mux(core, port)
    )


def _of_link(port: AggregationPort) -> str | None:
    if not port.enabled:
        return "The link is down."
    if not port.lacp_enabled:
        return "The link is half duplex, and LACP runs on full duplex links only."
    return None


def _of_partner(core: Core, port: AggregationPort) -> str | None:
    if port.defaulted and port.selected is Selected.UNSELECTED:
        who = "The partner does not speak LACP"
        if not core.active:
            return f"{who}, and this system is passive: it waits for the partner to begin."
        if core.fallback is not None:
            return f"{who}, and one member alone is used as long as none does."
        return f"{who}, or its LACPDUs do not arrive here."
    if port.partner.system == core.system:
        return "This same system is at the other end: the link is a loop."
    if port.receive is Receive.EXPIRED:
        return f"The partner has been silent for longer than {core.timeout:g} s."
    return None


def _of_selection(core: Core, port: AggregationPort) -> str | None:
    params = core.params
    if port.selected is Selected.UNSELECTED:
        said = stranger_reason(core, port)
        return f"{said[0].upper()}{said[1:]}."
    if port.selected is Selected.STANDBY:
        same = [other for other in core.ports.values() if _same_partner(core, other)]
        if len(same) < params.min_links:
            return (
                f"Only {len(same)} of the members could be used, and min_links asks for"
                f" {params.min_links}."
            )
        return f"It stands by: as many members are in use as max_links says ({params.max_links})."
    return None


def _same_partner(core: Core, port: AggregationPort) -> bool:
    return core.heard(port) and core.lag_id_of(port) == core.lag_id


def _of_mux(core: Core, port: AggregationPort) -> str:
    if port.mux in (Mux.DETACHED, Mux.WAITING):
        return "It waits for two seconds, so that others can come into use together with it."
    if is_held_back(core, port):
        return (
            f"The partner has changed its mind {MAX_OPENINGS} times in {OPENINGS_PERIOD:g} s, and"
            " the member waits until that is over."
        )
    if port.partner_says(State.EXPIRED) or port.partner_says(State.DEFAULTED):
        return "The partner receives no LACPDUs from here: what this system sends it is lost."
    if not port.partner_says(State.SYNCHRONIZATION):
        return "The partner says that it does not use this link: it is not in sync."
    return "The partner does not collect here yet."
