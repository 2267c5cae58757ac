"""Frozen values of the spanning tree's state for an API (802.1D-2004, 14.8; RFC 4188)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ofapp.bridge.effects.content import PortState
from ofapp.bridge.stp.bpdu import Bpdu
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.params import BridgeParams, Link, PortParams
from ofapp.bridge.stp.port import PAUSED, Guard, InfoIs, PortRole, TreePort
from ofapp.bridge.stp.vectors import PriorityVector, Times


@dataclass(frozen=True, slots=True)
class PortStatus:
    """One port. Identifiers are numbers (`vectors` prints them); times and ages in seconds.

    designated: the port priority vector: root, root path cost, designated bridge and port.
    info_is: where that vector comes from: disabled, aged, mine, received.
    guards: those that block the port now; guard_counts: how often each one triggered.
    timers: seconds left of each timer of 17.17 that runs, by its name in the standard.
    sent, received: BPDUs by type (config, rst, tcn); drops: refused ones by reason.
    heard: the last BPDU since the link came up, or since the controller started.
    """

    port: int
    port_id: int
    role: PortRole
    state: PortState
    reason: str
    params: PortParams
    link: Link
    path_cost: int
    designated: PriorityVector
    times: Times
    info_is: InfoIs
    oper_edge: bool
    point_to_point: bool
    send_rstp: bool
    proposing: bool
    agreed: bool
    guards: tuple[Guard, ...]
    guard_counts: Mapping[Guard, int]
    timers: Mapping[str, float]
    sent: Mapping[str, int]
    received: Mapping[str, int]
    drops: Mapping[str, int]
    forward_transitions: int
    heard: Bpdu | None


@dataclass(frozen=True, slots=True)
class BridgeStatus:
    """The bridge and its ports, by port number.

    root_port: OpenFlow port number, None on the root bridge.
    topology_change: whether one is being reported now.
    time_since_topology_change: seconds; None before the first.
    topology_change_port: the port that the last change was seen or heard on.
    """

    bridge_id: int
    root: int
    root_path_cost: int
    root_port: int | None
    params: BridgeParams
    root_times: Times
    topology_change: bool
    topology_change_count: int
    time_since_topology_change: float | None
    topology_change_port: int | None
    ports: tuple[PortStatus, ...]


_TIMERS = {
    "helloWhen": "hello_when",
    "tcWhile": "tc_while",
    "fdWhile": "fd_while",
    "rcvdInfoWhile": "rcvd_info_while",
    "rrWhile": "rr_while",
    "rbWhile": "rb_while",
    "mdelayWhile": "mdelay_while",
    "edgeDelayWhile": "edge_delay_while",
}


def bridge_status(core: Core, ports: Iterable[int] | None = None) -> BridgeStatus:
    """Everything about the bridge at its last known instant; ports: only these."""
    wanted = core.ports if ports is None else ports
    return BridgeStatus(
        bridge_id=core.bridge_id,
        root=core.root_priority.root,
        root_path_cost=core.root_priority.cost,
        root_port=None if core.root_port is None else core.root_port.port_no,
        params=core.params,
        root_times=core.root_times,
        topology_change=core.tc_active,
        topology_change_count=core.tc_count,
        time_since_topology_change=None if core.tc_since is None else core.now - core.tc_since,
        topology_change_port=core.tc_port,
        ports=tuple(port_status(core, core.ports[number]) for number in sorted(wanted)),
    )


def port_status(core: Core, port: TreePort) -> PortStatus:
    """One port of `core`."""
    return PortStatus(
        port=port.port_no,
        port_id=port.port_id,
        role=port.role,
        state=port.state,
        reason=port.state_reason,
        params=port.params,
        link=port.link,
        path_cost=port.port_path_cost,
        designated=port.port_priority,
        times=port.port_times,
        info_is=port.info_is,
        oper_edge=port.oper_edge,
        point_to_point=port.point_to_point,
        send_rstp=port.send_rstp,
        proposing=port.proposing,
        agreed=port.agreed,
        guards=_guards(port),
        guard_counts=dict(port.guard_counts),
        timers=_timers(core, port),
        sent=dict(port.sent),
        received=dict(port.received),
        drops=dict(port.drops),
        forward_transitions=port.forward_transitions,
        heard=port.msg,
    )


def guarded(core: Core) -> dict[int, tuple[Guard, ...]]:
    """The guards that block ports, by port."""
    held = ((port.port_no, _guards(port)) for port in core.ports.values())
    return {number: guards for number, guards in held if guards}


def _guards(port: TreePort) -> tuple[Guard, ...]:
    active = {
        Guard.BPDU_GUARD: port.err_disabled,
        Guard.ROOT_GUARD: port.root_inconsistent,
        Guard.LOOP_GUARD: port.loop_inconsistent,
        Guard.SELF_LOOP: port.self_loop,
    }
    return tuple(guard for guard, strikes in active.items() if strikes)


def _timers(core: Core, port: TreePort) -> dict[str, float]:
    left = {name: getattr(port, attribute) - core.now for name, attribute in _TIMERS.items()}
    return {name: seconds for name, seconds in left.items() if 0 < seconds < PAUSED}
