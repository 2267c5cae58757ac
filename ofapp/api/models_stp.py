"""Spanning tree in the API.  Parameters are those of the configuration file, in its own models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ofapp.api.changes import Change, fields_of
from ofapp.api.models import BridgePath, DatapathId, PortRef, PortText
from ofapp.bridge import stp
from ofapp.config.stp import StpBridge, StpPort

RoleName = Literal["disabled", "root", "designated", "alternate", "backup"]
StateName = Literal["discarding", "learning", "forwarding"]
GuardName = Literal["bpdu-guard", "root-guard", "loop-guard", "self-loop"]

BridgeId = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{4}[.]([0-9a-f]{2}:){5}[0-9a-f]{2}$",
        description="priority and address, as 8000.02:00:00:00:00:01",
    ),
]


class StpPortPath(BridgePath):
    """Which port of which bridge."""

    port: PortText


class Times(BaseModel):
    """Timer values of the root, in seconds (802.1D-2004 17.18.8)."""

    message_age: float
    max_age: float
    forward_delay: float
    hello_time: float


class TopologyChange(BaseModel):
    """Topology changes as management counts them (802.1D-2004 14.8.1.1)."""

    active: bool = Field(description="one is being told right now")
    count: int = Field(description="since spanning tree was started")
    since: float | None = Field(description="seconds since the last one; null before the first")
    port: PortRef | None = Field(description="where the last one was seen or heard")


class Designated(BaseModel):
    """The port priority vector: the best that the port's LAN has heard, or what it tells."""

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


class PointToPoint(BaseModel):
    """Whether at most one bridge is behind the port."""

    admin: stp.PointToPoint
    oper: bool


class StpPortStatus(BaseModel):
    """A port.  What only a running spanning tree knows is null without one."""

    number: int = Field(description="of OpenFlow")
    name: str
    up: bool
    role: RoleName = Field(description="disabled where spanning tree does not run")
    state: StateName
    reason: str = Field(description="why the port is in this state")
    port_id: str | None = Field(description="priority and number, hexadecimal, as 8.001")
    path_cost: int | None
    designated: Designated | None
    information: Literal["disabled", "aged", "mine", "received"] | None = Field(
        description="where the designated values come from"
    )
    edge: Edge
    point_to_point: PointToPoint
    sends: Literal["rstp", "stp"] | None = Field(description="the kind of BPDU this port sends")
    proposing: bool
    agreed: bool
    guards: list[GuardName] = Field(description="guards that hold the port now")
    guard_counts: dict[GuardName, int] = Field(description="how often each guard has struck")
    timers: dict[str, float] = Field(
        description="seconds left of each timer that runs, by its name in 802.1D-2004 17.17"
    )
    sent: BpduCounts
    received: BpduCounts
    drops: dict[str, int] = Field(description="BPDUs that were not heeded, by reason")
    forward_transitions: int = Field(description="how often the port began to forward")
    parameters: StpPort


class StpBridgeStatus(BaseModel):
    """Spanning tree of a bridge.  What only a running one knows is null without it."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    bridge_id: BridgeId | None
    root_id: BridgeId | None
    root_path_cost: int | None
    root_port: PortRef | None = Field(description="null on the root itself")
    root_times: Times | None = Field(description="what the root tells everybody to use")
    topology_change: TopologyChange | None
    parameters: StpBridge
    ports: list[StpPortStatus] = Field(description="without LOCAL, which takes no part")


# What is asked


class StpBridgeChange(Change, fields_of(StpBridge)):  # type: ignore[misc]
    """Parameters of a bridge; what is not given stays as it is."""


class StpPortChange(Change, fields_of(StpPort)):  # type: ignore[misc]
    """Parameters of a port; what is not given stays as it is.  path_cost null: by the speed."""
