"""The Mux machine (802.1AX, 6.4.15), with independent control of collecting and distributing.

Independent, because the switch can do both separately, collecting by a rule and distributing by a
group: a member accepts frames before its partner may send any, and sends none before its partner
accepts them, so no frame is lost when a member comes up.  The same holds with a partner of coupled
control, which does both at once and signals Collecting together with Distributing.

The switch itself collects earlier than the machine, from the state ATTACHED on. A partner of
coupled control, such as Linux's bonding driver, sends as soon as this end signals in that state
that it is in sync, and does not wait for Collecting.

Three things are not in the standard. A member waits at most one Aggregate_Wait_Time for others that
will be attached with it, so that one whose partner changes all the time does not delay them.
A member that has begun to collect or to distribute too often lately is held back for a while.
And while others are in use it gives its partner PARTNER_GRACE to do what it signals.
"""

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.events import LACP_HELD_BACK
from ofapp.bridge.lag.lacp.information import State
from ofapp.bridge.lag.lacp.port import (
    AGGREGATE_WAIT_TIME,
    MAX_OPENINGS,
    OPENINGS_PERIOD,
    PARTNER_GRACE,
    PAUSED,
    AggregationPort,
    Mux,
    Selected,
)


def mux_machine(core: Core, port: AggregationPort) -> bool:
    """Run the machine until it rests; whether it has moved."""
    moved = False
    while (state := next_mux(core, port)) is not None and _may_enter(core, port, state):
        _enter(core, port, state)
        moved = True
    return moved


def next_mux(core: Core, port: AggregationPort) -> Mux | None:
    """The machine's next state, None if it rests."""
    selected = port.selected is Selected.SELECTED
    synchronized = selected and port.partner_says(State.SYNCHRONIZATION)
    collected = synchronized and port.partner_says(State.COLLECTING)
    match port.mux:
        case Mux.DETACHED if port.selected is not Selected.UNSELECTED:
            return Mux.WAITING
        case Mux.WAITING if port.selected is Selected.UNSELECTED:
            return Mux.DETACHED
        case Mux.WAITING if selected and is_ready(core, port):
            return Mux.ATTACHED
        case Mux.ATTACHED if not selected:
            return Mux.DETACHED
        case Mux.ATTACHED if synchronized:
            return Mux.COLLECTING
        case Mux.COLLECTING if not synchronized:
            return Mux.ATTACHED
        case Mux.COLLECTING if collected:
            return Mux.DISTRIBUTING
        case Mux.DISTRIBUTING if not collected:
            return Mux.COLLECTING
    return None


def is_ready(core: Core, port: AggregationPort) -> bool:
    """Ready (6.4.8): whether wait_while has expired for all that wait to be attached."""
    if not core.runs_out(port.wait_while):
        return False
    return core.runs_out(port.wait_while + AGGREGATE_WAIT_TIME) or all(
        core.runs_out(other.wait_while)
        for other in core.ports.values()
        if other.mux is Mux.WAITING and other.selected is Selected.SELECTED
    )


def is_held_back(core: Core, port: AggregationPort) -> bool:
    """Whether a member is held back because it has come into use too often lately."""
    return not core.runs_out(port.held_until)


def _may_enter(core: Core, port: AggregationPort, state: Mux) -> bool:
    opens = (port.mux, state) in (
        (Mux.ATTACHED, Mux.COLLECTING),
        (Mux.COLLECTING, Mux.DISTRIBUTING),
    )
    if state is Mux.DISTRIBUTING and not _partner_is_ready(core, port):
        return False
    if not opens or port.openings.take(core.now):
        return True
    if not is_held_back(core, port):
        port.held_until = port.openings.free_at
        port.held_back += 1
        core.emit(
            LACP_HELD_BACK,
            f"the partner has changed its mind {MAX_OPENINGS} times in {OPENINGS_PERIOD:g} s;"
            " the member waits until that is over",
            port,
            count=port.held_back,
        )
    return False


def _partner_is_ready(core: Core, port: AggregationPort) -> bool:
    """Whether PARTNER_GRACE is over, or the aggregation is down and must not wait."""
    if port.grace == PAUSED:
        port.grace = core.now + PARTNER_GRACE
    return core.runs_out(port.grace) or not core.up


def _enter(core: Core, port: AggregationPort, state: Mux) -> None:
    before = port.mux
    core.set_mux(port, state)
    port.grace = PAUSED
    match state:
        case Mux.DETACHED | Mux.ATTACHED | Mux.COLLECTING:
            port.ntt = True
        case Mux.WAITING:
            port.wait_while = core.now + AGGREGATE_WAIT_TIME
    if before is Mux.WAITING:
        port.wait_while = PAUSED
        core.mark_all()  # the others may be ready now
