"""Port role transition and port state transition (802.1D-2004, 17.29 and 17.30).

States of 17.29 that only act and go on (ROOT_LEARN, DESIGNATED_PROPOSE, …) are the branches below,
each with its name.  One step is taken at a time, in the order of the standard's figures.
"""

from ofapp.bridge.effects.content import PortState
from ofapp.bridge.event import PortNumber
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.events import STP_ROLE
from ofapp.bridge.stp.params import MIGRATE_TIME
from ofapp.bridge.stp.port import EXPIRED, PAUSED, PortRole, Transition, TreePort
from ofapp.bridge.stp.roles import why


def port_role_transition(core: Core, port: TreePort) -> bool:
    """One step of 17.29. Returns whether there was one to take."""
    if port.kept_discarding and (port.learn or port.forward):
        # A guard blocks the port: not in the standard. `synced` and `rrWhile` follow, because they
        # depend on what the relay does.
        _discard(core, port, "kept discarding by a guard")
        return True
    # Conditions of every transition of 17.29; `SpanningTree` lets information and selection come
    # to rest first.
    assert port.selected
    assert not port.updt_info
    if port.role is not port.selected_role:
        _enter(core, port)
        return True
    match port.transition:
        case Transition.ROOT:
            return _root(core, port)
        case Transition.DESIGNATED:
            return _designated(core, port)
        case Transition.ALTERNATE:
            return _alternate(core, port)
        case Transition.DISABLED:
            return _rest(port)
        case _:  # DISABLE_PORT, BLOCK_PORT
            return _blocked(port)


def _leave(core: Core, port: TreePort) -> None:
    """Start the timers that the role just left had paused at their full value."""
    times = port.designated_times
    if port.rr_while == PAUSED:
        port.rr_while = core.now + times.forward_delay
    if port.fd_while == PAUSED:
        if port.transition in (Transition.DISABLE, Transition.DISABLED):
            port.fd_while = core.now + times.max_age
        else:
            port.fd_while = core.now + core.forward_delay(port)
    if port.rb_while == PAUSED:
        port.rb_while = core.now + 2 * times.hello_time


def _enter(core: Core, port: TreePort) -> None:
    """The transitions to ROOT_PORT, DESIGNATED_PORT, BLOCK_PORT and DISABLE_PORT."""
    _leave(core, port)
    old, port.role = port.role, port.selected_role
    core.hearing.add(port)
    reason = why(core, port)
    port.state_reason = f"role {port.role.value}: {reason}"
    match port.role:
        case PortRole.ROOT:
            port.transition = Transition.ROOT
            port.rr_while = PAUSED
            core.recent_roots.add(port)
        case PortRole.DESIGNATED:
            port.transition = Transition.DESIGNATED
            if old is PortRole.ROOT and port.send_rstp and port.point_to_point:
                # Not in 802.1D-2004, where the port may go on forwarding. Its neighbour was
                # designated so far and has not agreed, while others may already act on this
                # bridge's new information: propose first, which costs a round trip.
                port.sync = True
        case PortRole.ALTERNATE | PortRole.BACKUP:
            port.transition = Transition.BLOCK
            port.learn = port.forward = False
        case _:
            port.transition = Transition.DISABLE
            port.learn = port.forward = False
    core.emit(
        STP_ROLE,
        (PortNumber(port.port_no), f": {old.value} -> {port.role.value} ({reason})"),
        port,
        old=old.value,
        new=port.role.value,
        reason=reason,
    )


def _discard(core: Core, port: TreePort, reason: str) -> None:
    port.learn = port.forward = port.disputed = False
    port.fd_while = core.now + core.forward_delay(port)
    port.state_reason = reason


def _blocked(port: TreePort) -> bool:
    """DISABLE_PORT and BLOCK_PORT: wait until the relay has stopped."""
    if port.learning or port.forwarding:
        return False
    if port.transition is Transition.BLOCK:
        port.transition = Transition.ALTERNATE
        port.rb_while = PAUSED if port.role is PortRole.BACKUP else port.rb_while
    else:
        port.transition = Transition.DISABLED
    port.fd_while = PAUSED
    port.synced = False
    _rest(port)
    return True


def _rest(port: TreePort) -> bool:
    """DISABLED_PORT and ALTERNATE_PORT: such a port is always synced."""
    if not (port.sync or port.re_root) and port.synced:
        return False
    port.synced = True
    port.rr_while = EXPIRED
    port.sync = port.re_root = False
    return True


def _root(core: Core, port: TreePort) -> bool:
    if port.re_root and port.forward:  # REROOTED
        port.re_root = False
    elif not port.forward and not port.kept_discarding and _root_may_open(core, port):
        if not port.learn:  # ROOT_LEARN
            port.fd_while = core.now + core.forward_delay(port)
            port.learn = True
        else:  # ROOT_FORWARD
            port.fd_while = EXPIRED
            port.forward = True
    elif port.proposed and not port.agree:  # ROOT_PROPOSED
        core.set_sync_tree()
        port.proposed = False
    elif port.proposed if port.agree else core.all_synced():  # ROOT_AGREED
        port.proposed = port.sync = False
        port.agree = port.new_info = True
    elif not port.forward and not port.re_root:  # REROOT
        core.set_re_root_tree()
    else:
        return False
    return True


def _root_may_open(core: Core, port: TreePort) -> bool:
    if port.unheard:
        return False
    if not core.running(port.fd_while):
        port.state_reason = "forward delay is over"
        return True
    if core.params.rstp and not core.running(port.rb_while) and core.re_rooted(port):
        port.state_reason = "root port, and no other port was one recently"
        return True
    return False


def _designated(core: Core, port: TreePort) -> bool:
    retiring = port.re_root and core.running(port.rr_while)
    if (
        ((port.sync and not port.synced) or retiring or port.disputed)
        and not port.oper_edge
        and (port.learn or port.forward)
    ):  # DESIGNATED_DISCARD
        if port.disputed:
            _discard(core, port, "disputed: a bridge that does not hear this port serves the LAN")
        elif retiring:
            _discard(core, port, "was root port, and another port takes over")
        else:
            _discard(core, port, "sync: blocked until the neighbour agrees")
    elif not port.forward and not port.sync and not retiring and _designated_may_open(core, port):
        if not port.learn:  # DESIGNATED_LEARN
            port.learn = True
            port.fd_while = core.now + core.forward_delay(port)
        else:  # DESIGNATED_FORWARD
            port.forward = True
            port.fd_while = EXPIRED
            port.agreed = port.send_rstp
    elif not (port.forward or port.agreed or port.proposing or port.oper_edge):
        # DESIGNATED_PROPOSE, with EdgeDelay (17.20.4)
        port.proposing = port.new_info = True
        delay = MIGRATE_TIME if port.point_to_point else port.designated_times.max_age
        port.edge_delay_while = core.edge_delay(delay)
    elif (port.sync and port.synced) or (
        not port.synced
        and (port.agreed or port.oper_edge or not (port.learning or port.forwarding))
    ):  # DESIGNATED_SYNCED
        port.rr_while = EXPIRED
        port.synced = True
        port.sync = False
    elif port.re_root and not core.running(port.rr_while):  # DESIGNATED_RETIRED
        port.re_root = False
    else:
        return False
    return True


def _designated_may_open(core: Core, port: TreePort) -> bool:
    if port.kept_discarding:
        return False
    if port.oper_edge:
        port.state_reason = "edge port"
        return port.params.bpdu_filter or not core.running(port.edge_from)
    if not port.agreed and core.running(port.fd_while):
        return False
    if core.unretired(port):
        core.wait(port)
        return False
    port.state_reason = "the neighbour agreed" if port.agreed else "forward delay is over"
    return True


def _alternate(core: Core, port: TreePort) -> bool:
    if _rest(port):  # ALTERNATE_PORT
        return True
    if port.root_inconsistent:
        # Under root guard the neighbour cannot make this bridge block its ports.
        port.proposed = False
        return False
    if port.proposed and not port.agree:  # ALTERNATE_PROPOSED
        core.set_sync_tree()
        port.proposed = False
    elif port.proposed if port.agree else core.all_synced():  # ALTERNATE_AGREED
        port.proposed = False
        port.agree = port.new_info = True
    else:
        return False
    return True


def port_state_transition(core: Core, port: TreePort) -> bool:
    """17.30: have the relay follow the role transition machine. Returns whether it changed."""
    if port.bypass:
        port.state_reason = "spanning tree is off on this port"
        core.set_state(port, PortState.FORWARDING)
        return False
    learning, forwarding = port.learn, port.learn and port.forward
    if forwarding:
        core.set_state(port, PortState.FORWARDING)
    elif learning:
        core.set_state(port, PortState.LEARNING)
    else:
        core.set_state(port, PortState.DISCARDING)
    changed = (learning, forwarding) != (port.learning, port.forwarding)
    port.learning, port.forwarding = learning, forwarding
    return changed
