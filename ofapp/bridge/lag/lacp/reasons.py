"""The reason why a member is not in use, in one sentence."""

from __future__ import annotations

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.information import State
from ofapp.bridge.lag.lacp.mux import is_held_back
from ofapp.bridge.lag.lacp.port import (
    MAX_OPENINGS,
    OPENINGS_PERIOD,
    AggregationPort,
    Mux,
    Receive,
    Selected,
)
from ofapp.bridge.lag.lacp.selection import stranger_reason


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
