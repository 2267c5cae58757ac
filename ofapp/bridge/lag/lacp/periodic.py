"""The Periodic Transmission machine (802.1AX, 6.4.13): when to send although nothing is new.

The partner says how often it wants LACPDUs; where that is each second, they leave twice as often.
Two passive ends send nothing.
"""

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.information import State
from ofapp.bridge.lag.lacp.port import (
    KEEPALIVE_TIME,
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
    """The machine's next state, None if it rests.

    PERIODIC_TX is left at once, so it has no state here: see `_enter`.
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
            # By PERIODIC_TX, because of the timer or of the partner's timeout
            port.ntt = port.ntt or before is not Periodic.NO_PERIODIC
            port.periodic_timer = core.now + KEEPALIVE_TIME
        case Periodic.SLOW_PERIODIC:
            # The standard's machine sends nothing when it comes from FAST_PERIODIC. A partner that
            # was fast before would time out in three seconds.
            port.ntt = True
            port.periodic_timer = core.now + SLOW_PERIODIC_TIME


def _wanted(port: AggregationPort) -> Periodic:
    fast = port.partner_says(State.TIMEOUT) or port.asks
    return Periodic.FAST_PERIODIC if fast else Periodic.SLOW_PERIODIC
