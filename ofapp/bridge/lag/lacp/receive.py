"""The Receive machine (802.1AX, 6.4.12) and its functions (6.4.9).

A partner's information is valid for the timeout that this system asks for. Then its member neither
collects nor distributes (EXPIRED), and after three seconds more the information is forgotten
(DEFAULTED).

One thing is not in the standard. With rate fast a member is given up after three seconds if its
partner is heard by another member. A partner that is silent on all members has no other path, and
is probably a switch whose controller is disconnected: giving it up would stop traffic that passes.
Its members stay in use until it is heard again, for as long as with rate slow (Long_Timeout_Time).
"""

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.events import (
    LACP_DEFAULTED,
    LACP_EXPIRED,
    LACP_LOOP,
    LACP_PARTNER,
    LACP_SILENT,
    LACP_SILENT_CLEARED,
)
from ofapp.bridge.lag.lacp.information import NO_PARTNER, Information, State
from ofapp.bridge.lag.lacp.port import (
    LONG_TIMEOUT_TIME,
    PAUSED,
    SHORT_TIMEOUT_TIME,
    SILENCE,
    AggregationPort,
    Receive,
    Selected,
)
from ofapp.bridge.lag.lacp.slow import Lacpdu
from ofapp.bridge.mac import format_mac

_ECHOED_BITS = State.ACTIVITY | State.TIMEOUT | State.SYNCHRONIZATION | State.AGGREGATION


def receive_machine(core: Core, port: AggregationPort) -> bool:
    """Run the machine until it rests; whether it has moved."""
    moved = False
    while (state := next_receive(core, port)) is not None:
        _enter(core, port, state)
        moved = True
    return moved


def next_receive(core: Core, port: AggregationPort) -> Receive | None:
    """The machine's next state, None if it rests.

    INITIALIZE is left at once, so it has no state here: see `_enter`.
    """
    if not port.enabled and port.receive is not Receive.PORT_DISABLED:
        return Receive.PORT_DISABLED
    match port.receive:
        case Receive.PORT_DISABLED if port.port_moved:
            return Receive.PORT_DISABLED
        case Receive.PORT_DISABLED if port.enabled:
            return Receive.EXPIRED if port.lacp_enabled else Receive.LACP_DISABLED
        case Receive.LACP_DISABLED if port.lacp_enabled:
            return Receive.PORT_DISABLED
        case Receive.EXPIRED | Receive.DEFAULTED | Receive.CURRENT if port.pdu is not None:
            return Receive.CURRENT
        case Receive.EXPIRED if core.runs_out(port.current_while):
            return Receive.DEFAULTED
        case Receive.CURRENT if core.runs_out(port.current_while):
            return None if _waits_for_partner(core, port) else Receive.EXPIRED
    return None


def _waits_for_partner(core: Core, port: AggregationPort) -> bool:
    """Whether a member stays in use because its partner is silent on all members at once."""
    if not port.collecting or core.runs_out(core.given_up(port)):
        return False
    if any(
        other.current_while - port.current_while >= SILENCE
        and core.runs_out(other.heard_from + SILENCE)
        for other in core.ports.values()
        if other.receive is Receive.CURRENT
    ):
        return False
    if not port.silent:
        port.silent = True
        text = (
            f"the partner has been silent on all members for {core.timeout:g} s; this one stays in"
            f" use for {LONG_TIMEOUT_TIME - core.timeout:g} s more"
        )
        core.emit(LACP_SILENT, text, port, seconds=core.timeout)
    return True


def _enter(core: Core, port: AggregationPort, state: Receive) -> None:
    before, port.receive = port.receive, state
    match state:
        case Receive.PORT_DISABLED:
            port.current_while = PAUSED
            port.pdu = None
            port.silent = port.asks = False
            _unselect(core, port)
            _synchronize(port, False)
            if port.port_moved:  # INITIALIZE
                port.port_moved = False
                _record_default(port)
        case Receive.EXPIRED:
            port.silent = False
            _synchronize(port, False)
            port.partner = port.partner._replace(state=port.partner.state | State.TIMEOUT)
            port.current_while = core.now + SHORT_TIMEOUT_TIME
            core.reselect = True
            if before is Receive.PORT_DISABLED:
                port.ntt = True  # the partner need not wait a second for the first one
            elif before is Receive.CURRENT:
                silence = f"the partner has been silent for {core.timeout:g} s"
                core.emit(LACP_EXPIRED, silence, port, seconds=core.timeout)
        case Receive.LACP_DISABLED:
            _unselect(core, port)
            _record_default(port)
        case Receive.DEFAULTED:
            port.current_while = PAUSED
            if not port.defaulted:
                core.emit(LACP_DEFAULTED, "the partner no longer speaks LACP", port)
            if port.partner.identity != NO_PARTNER.identity:  # update_Default_Selected
                _unselect(core, port)
            _record_default(port)
            core.reselect = True
        case Receive.CURRENT:
            pdu, port.pdu = port.pdu, None
            assert pdu is not None
            if before is not Receive.CURRENT:
                core.reselect = True
            if port.silent:
                port.silent, port.heard_from = False, core.now
                core.emit(LACP_SILENT_CLEARED, "the partner is heard again", port)
            port.asks = False
            _update_selected(core, port, pdu)
            own = core.actor(port)
            _update_ntt(port, own, pdu.partner)
            _record_pdu(core, port, own, pdu)
            port.current_while = core.now + core.timeout
            for other in core.ports.values():
                if other.silent:  # it is silent alone, perhaps
                    core.mark(other)


def _unselect(core: Core, port: AggregationPort) -> None:
    port.selected = Selected.UNSELECTED
    core.reselect = True


def _record_default(port: AggregationPort) -> None:
    """recordDefault."""
    port.partner = NO_PARTNER
    port.defaulted = True


def _update_selected(core: Core, port: AggregationPort, pdu: Lacpdu) -> None:
    """update_Selected: unselect a member whose partner port or aggregation is another one."""
    old, new = port.partner, pdu.actor
    if old.identity == new.identity:
        return
    _unselect(core, port)
    _moved(core, port, new)
    partner = f"{new.system}, key {new.key}, port {new.port}"
    data = {
        "partner_system": format_mac(new.system.address),
        "partner_system_priority": new.system.priority,
        "partner_key": new.key,
        "partner_port": new.port,
    }
    if new.system == core.system:
        core.emit(LACP_LOOP, f"hears this same system, port {new.port}", port)
    elif port.defaulted:
        core.emit(LACP_PARTNER, f"the partner is {partner}", port, **data)
    else:
        core.emit(LACP_PARTNER, f"the partner is another one: {partner}", port, **data)


def _moved(core: Core, port: AggregationPort, new: Information) -> None:
    """port_moved: the partner's port is here now, so no longer behind another link that is down."""
    for other in core.ports.values():
        there = other.partner
        if (
            other is not port
            and other.receive is Receive.PORT_DISABLED
            and not other.defaulted
            and (there.system, there.port) == (new.system, new.port)
        ):
            other.port_moved = True
            core.mark(other)


def _update_ntt(port: AggregationPort, own: Information, echoed: Information) -> None:
    """update_NTT: send an LACPDU to a partner whose information on this port is wrong."""
    if own[:4] != echoed[:4] or (own.state ^ echoed.state) & _ECHOED_BITS:
        port.ntt = True


def _record_pdu(core: Core, port: AggregationPort, own: Information, pdu: Lacpdu) -> None:
    """recordPDU: the partner is in sync if its partner information is this port, or if it is an
    individual link, and if one of the two ends is active."""
    said = pdu.actor
    port.defaulted = False
    port.partner = said
    speaks = said.state & State.ACTIVITY or (core.active and pdu.partner.state & State.ACTIVITY)
    known = pdu.partner.identity == own.identity or not said.aggregatable
    _synchronize(port, bool(said.state & State.SYNCHRONIZATION and known and speaks))


def _synchronize(port: AggregationPort, whether: bool) -> None:
    state = port.partner.state & ~State.SYNCHRONIZATION
    if whether:
        state |= State.SYNCHRONIZATION
    port.partner = port.partner._replace(state=state)
