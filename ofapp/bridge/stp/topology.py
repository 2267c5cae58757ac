"""The topology change machine: notify the others, and flush addresses (802.1D-2004, 17.31)."""

from ofapp.bridge.effects.content import TopologyChanged
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.events import STP_TOPOLOGY_CHANGE
from ofapp.bridge.stp.port import EXPIRED, PortRole, Topology, TreePort


def topology_change(core: Core, port: TreePort) -> bool:
    """One step of 17.31. Returns whether there was one to take."""
    active_role = port.role in (PortRole.ROOT, PortRole.DESIGNATED)
    if port.topology is Topology.INACTIVE:
        if not port.learn:
            return False
        port.topology = Topology.LEARNING
        _forget_messages(port)
        return True
    if port.topology is Topology.LEARNING:
        return _learning(core, port, active_role)
    return _active(core, port, active_role)


def _learning(core: Core, port: TreePort, active_role: bool) -> bool:
    if active_role and port.forward and not port.oper_edge:  # DETECTED
        _new_tc_while(core, port)
        core.effects.append(TopologyChanged(port.port_no))
        core.set_tc_prop_tree(port)
        port.new_info = True
        port.topology = Topology.ACTIVE
    elif port.rcvd_tc or port.rcvd_tcn or port.rcvd_tc_ack or port.tc_prop:
        _forget_messages(port)
    elif not active_role and not (port.learn or port.learning):  # INACTIVE
        port.topology = Topology.INACTIVE
        core.flush(port)
        port.tc_while = EXPIRED
        port.tc_ack = False
    else:
        return False
    return True


def _active(core: Core, port: TreePort, active_role: bool) -> bool:
    if not active_role or port.oper_edge:
        port.topology = Topology.LEARNING
        _forget_messages(port)
    elif port.rcvd_tcn or port.rcvd_tc:
        if port.rcvd_tcn:  # NOTIFIED_TCN
            _new_tc_while(core, port)
        # NOTIFIED_TC
        port.rcvd_tcn = port.rcvd_tc = False
        if port.role is PortRole.DESIGNATED:
            port.tc_ack = True
            port.new_info = port.new_info or not port.send_rstp
        if not port.params.restricted_tcn:
            core.effects.append(TopologyChanged(port.port_no))
        core.set_tc_prop_tree(port)
    elif port.tc_prop:  # PROPAGATING
        _new_tc_while(core, port)
        core.flush(port)
        port.tc_prop = False
    elif port.rcvd_tc_ack:  # ACKNOWLEDGED
        port.tc_while = EXPIRED
        port.rcvd_tc_ack = False
    else:
        return False
    return True


def _forget_messages(port: TreePort) -> None:
    port.rcvd_tc = port.rcvd_tcn = port.rcvd_tc_ack = port.tc_prop = False


def _new_tc_while(core: Core, port: TreePort) -> None:
    """newTcWhile (17.21.7)."""
    if core.running(port.tc_while):
        return
    # In STP operation, too, the change is sent at once, as in 802.1D-1998, and not with the
    # next hello.
    port.new_info = True
    if port.send_rstp:
        port.tc_while = core.now + core.params.hello_time + 1
    else:
        times = core.root_times
        port.tc_while = core.now + times.max_age + times.forward_delay
    core.tc_port = port.port_no
    core.changing.add(port)


def account(core: Core) -> None:
    """Count topology changes for management (14.8.1.1): one lasts while any tcWhile runs."""
    active = any(True for _ in core.changing)
    if active and not core.tc_active:
        core.tc_count += 1
        core.emit(
            STP_TOPOLOGY_CHANGE,
            f"topology change, the bridge's number {core.tc_count}",
            None,
            count=core.tc_count,
            cause=core.tc_port,
        )
    if active or core.tc_active:
        core.tc_since = core.now
    core.tc_active = active
