"""The Periodic Transmission machine (802.1AX, 6.4.13): when to speak although nothing is new.

The partner says how often it wants to hear.  Two passive ends say nothing at all.
"""

from __future__ import annotations

from ofapp.bridge.lacp.core import Core
from ofapp.bridge.lacp.information import State
from ofapp.bridge.lacp.port import (
    FAST_PERIODIC_TIME,
    PAUSED,
    SLOW_PERIODIC_TIME,
    AggregationPort,
    Periodic,
)


def periodic_machine(core: Core, port: AggregationPort) -> None:
    """Run the machine until it rests."""
    while (state := next_periodic(core, port)) is not None:
        _enter(core, port, state)


def next_periodic(core: Core, port: AggregationPort) -> Periodic | None:
    """Where the machine goes from here, None if it rests.

    PERIODIC_TX is left at once, so it has no state of its own: see `_enter`.
    """
    speaks = core.active or port.partner_says(State.ACTIVITY)
    if not (port.enabled and port.lacp_enabled and speaks):
        return None if port.periodic is Periodic.NO_PERIODIC else Periodic.NO_PERIODIC
    if port.periodic is Periodic.NO_PERIODIC:
        return Periodic.FAST_PERIODIC
    wanted = _wanted(port)
    if core.runs_out(port.periodic_timer) or wanted is not port.periodic:
        return wanted
    return None


def _enter(core: Core, port: AggregationPort, state: Periodic) -> None:
    before, port.periodic = port.periodic, state
    match state:
        case Periodic.NO_PERIODIC:
            port.periodic_timer = PAUSED
            return
        case Periodic.FAST_PERIODIC:
            # By PERIODIC_TX, be it that the timer has run out, be it that the partner wants it so
            port.ntt = port.ntt or before is not Periodic.NO_PERIODIC
            port.periodic_timer = core.now + FAST_PERIODIC_TIME
        case Periodic.SLOW_PERIODIC:
            # From FAST_PERIODIC without PERIODIC_TX, unless its time was over as well
            port.ntt = port.ntt or core.runs_out(port.periodic_timer)
            port.periodic_timer = core.now + SLOW_PERIODIC_TIME


def _wanted(port: AggregationPort) -> Periodic:
    fast = port.partner_says(State.TIMEOUT)
    return Periodic.FAST_PERIODIC if fast else Periodic.SLOW_PERIODIC
