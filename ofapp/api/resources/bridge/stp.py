"""/v1/bridges/{dpid}/stp: monitoring and control of spanning tree.

Parameters are those of the configuration file, in its models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import BridgePath, DatapathId, NoQuery, PortPath, PortRef, ValueOf, filled
from ofapp.api.changes import Change, changes_of, make_change
from ofapp.api.lookup import bridge_and_port, by_number, find_bridge, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, documented, refused, resource
from ofapp.api.responses import answer, long
from ofapp.api.roles import operator, viewer
from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp.vectors import format_bridge_id, format_port_id
from ofapp.config.stp import StpBridge, StpPort
from ofapp.controller.configuration.changes.settings import STP
from ofapp.controller.network import Network

TAG = Tag(name="stp", description="Spanning tree.")

RoleName = Annotated[Literal["disabled", "root", "designated", "alternate", "backup"], ValueOf]
StateName = Annotated[Literal["discarding", "learning", "forwarding"], ValueOf]
GuardName = Annotated[Literal["bpdu-guard", "root-guard", "loop-guard", "self-loop"], ValueOf]

BridgeId = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{4}[.]([0-9a-f]{2}:){5}[0-9a-f]{2}$",
        description="priority and address, as 8000.02:00:00:00:00:01",
    ),
]


class Times(BaseModel):
    """Timer values of the root, in seconds (802.1D-2004 17.18.8)."""

    message_age: float
    max_age: float
    forward_delay: float
    hello_time: float


class TopologyChange(BaseModel):
    """Topology changes as management counts them (802.1D-2004 14.8.1.1)."""

    active: bool = Field(description="a topology change is being propagated now")
    count: int = Field(description="since spanning tree was started")
    since: float | None = Field(description="seconds since the last one; null before the first")
    port: PortRef | None = Field(description="where the last one was detected or received")


class Designated(BaseModel):
    """The port priority vector: the best received on the port's LAN, or the one that it sends."""

    root: BridgeId
    cost: int = Field(description="root path cost of the designated bridge")
    bridge: BridgeId
    port: str = Field(description="designated port, as 8.001")


class BpduCounts(BaseModel):
    """BPDUs by type."""

    config: int = Field(description="Configuration, of STP")
    tcn: int = Field(description="Topology Change Notification, of STP")
    rst: int = Field(description="of RSTP")


class Edge(BaseModel):
    """Whether only end stations are behind the port."""

    admin: bool
    auto: bool
    oper: bool


class PointToPointStatus(BaseModel):
    """Whether at most one bridge is behind the port."""

    admin: stp.PointToPoint
    oper: bool


class StpPortStatus(BaseModel):
    """A port.  Values that need a running spanning tree are null without one."""

    number: int = Field(description="of OpenFlow")
    name: str
    up: bool
    role: RoleName = Field(description="disabled where spanning tree does not run")
    state: StateName
    reason: str = Field(description="reason for the port state")
    port_id: str | None = Field(description="priority and number, hexadecimal, as 8.001")
    path_cost: int | None
    designated: Designated | None
    information: Literal["disabled", "aged", "mine", "received"] | None = Field(
        description="where the designated values come from"
    )
    edge: Edge
    point_to_point: PointToPointStatus
    sends: Literal["rstp", "stp"] | None = Field(description="the kind of BPDU this port sends")
    proposing: bool
    agreed: bool
    guards: list[GuardName] = Field(description="guards that block the port now")
    guard_counts: dict[GuardName, int] = Field(description="how often each guard has triggered")
    timers: dict[str, float] = Field(
        description="seconds left of each running timer, by its name in 802.1D-2004 17.17"
    )
    sent: BpduCounts
    received: BpduCounts
    drops: dict[str, int] = Field(description="ignored BPDUs, by reason")
    forward_transitions: int = Field(description="how often the port began to forward")
    parameters: StpPort


class StpBridgeStatus(BaseModel):
    """Spanning tree of a bridge.  Values that need a running one are null without it."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    connected: bool = Field(
        description="its switch is connected; if not, all values are the last known ones"
    )
    enabled: bool
    bridge_id: BridgeId | None
    root_id: BridgeId | None
    root_path_cost: int | None
    root_port: PortRef | None = Field(description="null on the root itself")
    root_times: Times | None = Field(description="the root's times, which all bridges use")
    topology_change: TopologyChange | None
    parameters: StpBridge
    ports: list[StpPortStatus] = Field(description="without LOCAL, which takes no part")


# Requests


class StpBridgeChange(Change, changes_of(StpBridge)):  # type: ignore[misc]
    """Parameters of a bridge; omitted ones keep their values."""


class StpPortChange(Change, changes_of(StpPort)):  # type: ignore[misc]
    """Parameters of a port; omitted ones keep their values.  path_cost null: by the speed."""


# State


def bridge_view(network: Network, bridge: Bridge) -> StpBridgeStatus:
    """Spanning tree of a bridge, without its ports."""
    status = network.stp_status(bridge, ())
    root = None if status is None else status.root_port
    return StpBridgeStatus(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        connected=bridge.datapath_id in network.datapaths,
        enabled=bridge.params.stp is not None,
        bridge_id=None if status is None else format_bridge_id(status.bridge_id),
        root_id=None if status is None else format_bridge_id(status.root),
        root_path_cost=None if status is None else status.root_path_cost,
        root_port=None if root is None else port_ref(bridge, root),
        root_times=None if status is None else filled(Times, status.root_times),
        topology_change=None if status is None else _topology_change(bridge, status),
        parameters=network.running.of(bridge.datapath_id).stp,
        ports=[],
    )


def whole_view(network: Network, bridge: Bridge) -> Response:
    """Spanning tree of a bridge and its ports; the ports are read one after another."""
    ports = (port for port in by_number(bridge) if port.number != LOCAL_PORT)
    views = (port_view(network, bridge, port) for port in ports)
    return long(bridge_view(network, bridge), views)


def port_view(network: Network, bridge: Bridge, port: Port) -> StpPortStatus:
    """Spanning tree of a port."""
    status = network.stp_status(bridge, [port.number])
    return _port(network, bridge, port, status.ports[0] if status and status.ports else None)


def _topology_change(bridge: Bridge, status: stp.BridgeStatus) -> TopologyChange:
    since, port = status.time_since_topology_change, status.topology_change_port
    return TopologyChange(
        active=status.topology_change,
        count=status.topology_change_count,
        since=None if since is None else round(since, 3),
        port=None if port is None else port_ref(bridge, port),
    )


def _port(
    network: Network, bridge: Bridge, port: Port, status: stp.PortStatus | None
) -> StpPortStatus:
    parameters = network.running.port(bridge, port).stp
    if status is None:
        return _stopped(bridge, port, parameters)
    vector = status.designated
    return filled(
        StpPortStatus,
        status,
        number=port.number,
        name=port.name,
        up=port.up,
        port_id=format_port_id(status.port_id),
        designated=Designated(
            root=format_bridge_id(vector.root),
            cost=vector.cost,
            bridge=format_bridge_id(vector.bridge),
            port=format_port_id(vector.port),
        ),
        information=status.info_is.value,
        edge=_edge(parameters, status.oper_edge),
        point_to_point=_point_to_point(parameters, status.point_to_point),
        sends="rstp" if status.send_rstp else "stp",
        guard_counts={guard.value: status.guard_counts.get(guard, 0) for guard in stp.Guard},
        timers={name: round(left, 3) for name, left in status.timers.items()},
        sent=_by_type(status.sent),
        received=_by_type(status.received),
        parameters=parameters,
    )


def _stopped(bridge: Bridge, port: Port, parameters: StpPort) -> StpPortStatus:
    """A port on which spanning tree does not run."""
    return StpPortStatus(
        number=port.number,
        name=port.name,
        up=port.up,
        role="disabled",
        state=(bridge.desired_port(port.number).state or stp.PortState.DISCARDING).value,
        reason="no spanning tree on this bridge" if port.up else "link down",
        port_id=None,
        path_cost=None,
        designated=None,
        information=None,
        edge=_edge(parameters, False),
        point_to_point=_point_to_point(parameters, port.full_duplex),
        sends=None,
        proposing=False,
        agreed=False,
        guards=[],
        guard_counts={guard.value: 0 for guard in stp.Guard},
        timers={},
        sent=_by_type({}),
        received=_by_type({}),
        drops={},
        forward_transitions=0,
        parameters=parameters,
    )


def _edge(parameters: StpPort, oper: bool) -> Edge:
    return Edge(admin=parameters.admin_edge, auto=parameters.auto_edge, oper=oper)


def _point_to_point(parameters: StpPort, oper: bool) -> PointToPointStatus:
    return PointToPointStatus(admin=parameters.point_to_point, oper=oper)


def _by_type(counts: Mapping[str, int]) -> BpduCounts:
    return BpduCounts(**{name: counts.get(name, 0) for name in BpduCounts.model_fields})


# Routes


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("stp", TAG, "/v1/bridges/<dpid>/stp")

    @api.get("", responses={200: StpBridgeStatus, **documented(404, 409)})
    @viewer
    def status(path: BridgePath, query: NoQuery) -> Response:
        """Spanning tree of a bridge and of its ports, by number."""
        return whole_view(network, find_bridge(network, path.dpid))

    @api.patch("", responses={200: StpBridgeStatus, **CHANGE})
    @operator
    def change(path: BridgePath, query: NoQuery, body: StpBridgeChange) -> Response:
        """Set parameters of a bridge, or start or stop its spanning tree.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: the values contradict each other
        or those that stay.
        """
        bridge = find_bridge(network, path.dpid)
        make_change(network.changes.settings.change, bridge, STP, body.values())
        return whole_view(network, bridge)

    @api.patch("/ports/<port>", responses={200: StpPortStatus, **CHANGE})
    @operator
    def change_port(path: PortPath, query: NoQuery, body: StpPortChange) -> Response:
        """Set parameters of a port.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: the values contradict each other
        or those that stay, or the port is LOCAL.
        """
        bridge, port = bridge_and_port(network, path)
        make_change(network.changes.settings.change_port, bridge, port, body.values(), STP)
        return answer(port_view(network, bridge, port))

    @api.post(
        "/ports/<port>/recover",
        responses={200: StpPortStatus, **documented(404, 409)},
    )
    @operator
    def recover(path: PortPath, query: NoQuery) -> Response:
        """Recover a port from the guard that blocks it.

        Root guard cannot be reset: it ends when the superior BPDUs stop.  409: no other guard
        blocks the port, the bridge runs no spanning tree, or the port is LOCAL.
        """
        bridge, port = bridge_and_port(network, path)
        with refused(409):
            network.changes.stp.recover_port(bridge, port)
        return answer(port_view(network, bridge, port))

    @api.post(
        "/ports/<port>/migration-check",
        responses={200: StpPortStatus, **documented(404, 409)},
    )
    @operator
    def check_migration(path: PortPath, query: NoQuery) -> Response:
        """Send RST BPDUs on a port again, to detect the neighbour's version (mcheck).

        409: the bridge runs no spanning tree, or the port is LOCAL.
        """
        bridge, port = bridge_and_port(network, path)
        with refused(409):
            network.changes.stp.check_migration(bridge, port)
        return answer(port_view(network, bridge, port))

    return api
