"""Port role selection (802.1D-2004, 17.28): the spanning tree computation itself."""

from ofapp.bridge.event import PortNumber, Text
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.events import STP_ROOT
from ofapp.bridge.stp.port import Guard, InfoIs, PortRole, TreePort
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PriorityVector, Times

_MAX_COST = 0xFFFF_FFFF


def select_roles(core: Core) -> None:
    """17.28, ROLE_SELECTION: compute every port's role and mark the ports where it changed."""
    core.reselect = False
    for port in _affected(core):
        old = _selection(port)
        _update_role(core, port)
        port.selected = True  # setSelectedTree (17.21.16)
        if old != _selection(port):
            core.mark(port)
    core.mark_dependants()


def _affected(core: Core) -> list[TreePort]:
    """Find the root; gives the ports whose roles may change.

    Where the root, the path there and its times are as before, those are the ports that have
    asked for a selection: a port that is new or goes down costs the others nothing.
    """
    before = core.selected_for
    _find_root(core)
    core.selected_for = (
        core.root_priority,
        core.root_times._replace(hello_time=core.params.hello_time),
        core.root_port,
        core.bridge_id,
    )
    ports = core.ports.values() if before != core.selected_for else core.unselected
    return list(ports)


def _selection(port: TreePort) -> tuple[object, ...]:
    return (
        port.selected,
        port.selected_role,
        port.updt_info,
        port.designated_priority,
        port.designated_times,
    )


def _find_root(core: Core) -> None:
    """The first half of updtRolesTree (17.21.25): rootPriorityVector, rootTimes, rootPortId."""
    best = (PriorityVector(core.bridge_id, 0, core.bridge_id, 0), 0)
    root_port: TreePort | None = None
    for port in core.informed:
        if not _may_be_root(core, port):
            continue
        path = _path(port)
        if (path, port.port_id) < best and core.own.believe(core, port):
            best = (path, port.port_id)
            root_port = port
    _set_root(core, best[0], root_port)


def _path(port: TreePort) -> PriorityVector:
    known = port.port_priority
    # The field has 32 bits; a hostile cost must not wrap into a good one.
    return known._replace(cost=min(known.cost + port.port_path_cost, _MAX_COST))


def was_not_believed(core: Core, port: TreePort) -> bool:
    """Whether the port has a better root than the bridge, or a better path: that was not believed
    at the last selection (see `own`), and may be true by now."""
    return (
        port is not core.root_port and _path(port) < core.root_priority and _may_be_root(core, port)
    )


def _update_role(core: Core, port: TreePort) -> None:
    """The second half of updtRolesTree (17.21.25), for one port."""
    port.designated_priority = PriorityVector(
        core.root_priority.root, core.root_priority.cost, core.bridge_id, port.port_id
    )
    port.designated_times = core.root_times._replace(hello_time=core.params.hello_time)
    port.selected_role = _role_of(core, port)
    _judge_root_guard(core, port)


def _may_be_root(core: Core, port: TreePort) -> bool:
    if port.params.restricted_role or port.params.root_guard:
        return False
    # By address: right after a change of priority a backup port still holds our former identifier.
    return bool((port.port_priority.bridge ^ core.bridge_id) & ADDRESS_MASK)


def _set_root(core: Core, vector: PriorityVector, root_port: TreePort | None) -> None:
    old = core.root_priority
    core.root_priority = vector
    core.root_port = root_port
    if root_port is None:
        core.root_times = core.params.times
    else:
        times = root_port.port_times
        core.root_times = Times(float(round(times.message_age + 1)), *times[1:])
    if old.root != vector.root:
        if root_port is None:
            message: Text = "this bridge is the root"
        else:
            message = "new root, through ", PortNumber(root_port.port_no)
        core.emit(
            STP_ROOT,
            message,
            None,
            old=f"{old.root:016x}",
            new=f"{vector.root:016x}",
            root_port=None if root_port is None else root_port.port_no,
            root_path_cost=vector.cost,
        )


def _role_of(core: Core, port: TreePort) -> PortRole:
    if port.info_is is InfoIs.DISABLED:
        port.updt_info = False  # new parameters are not sent on a disabled port
        return PortRole.DISABLED
    if port.info_is is InfoIs.AGED:
        port.updt_info = True
        return PortRole.DESIGNATED
    if port.info_is is InfoIs.MINE:
        port.updt_info = (
            port.port_priority != port.designated_priority
            or port.port_times != port.designated_times
        )
        return PortRole.DESIGNATED
    port.updt_info = False
    if port is core.root_port:
        return PortRole.ROOT
    if port.designated_priority < port.port_priority:
        port.updt_info = True
        return PortRole.DESIGNATED
    if (port.port_priority.bridge ^ core.bridge_id) & ADDRESS_MASK:
        return PortRole.ALTERNATE
    return PortRole.BACKUP


def _judge_root_guard(core: Core, port: TreePort) -> None:
    superior = port.params.root_guard and port.selected_role is PortRole.ALTERNATE
    if superior and not port.root_inconsistent:
        core.guard(port, Guard.ROOT_GUARD, "root guard: superior BPDUs heard, blocking")
    elif port.root_inconsistent and not superior:
        core.unguard(port, Guard.ROOT_GUARD, "root guard: no superior BPDUs any more")
    port.root_inconsistent = superior


def why(core: Core, port: TreePort) -> str:
    """The reason for a port's selected role, as text."""
    match port.selected_role:
        case PortRole.ROOT:
            return f"best path to the root, cost {core.root_priority.cost}"
        case PortRole.ALTERNATE:
            if port.root_inconsistent:
                return "superior BPDUs on a port under root guard"
            return "another bridge has the better path on this LAN"
        case PortRole.BACKUP:
            return "another port of this bridge serves this LAN"
        case PortRole.DESIGNATED:
            return "no better BPDUs on this LAN"
    if not port.link.up:
        return "link down"
    if port.err_disabled:
        return "shut by BPDU guard"
    return "spanning tree is off on this port"
