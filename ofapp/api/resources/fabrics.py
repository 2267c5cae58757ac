"""/v1/fabrics: switches that form one bridge, the links between them, and the paths of frames.

In a cluster the member answers that owns the fabric's bridge: the list is merged of all members'
answers, and a request about one fabric is forwarded as one about its bridge.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from flask import Response
from pydantic import BaseModel, Field, create_model

from ofapp.api.base import DatapathId, Input, MacOf, NoQuery, SilentMembers, Vid, filled
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, field_problem, resource
from ofapp.api.responses import answer
from ofapp.api.roles import all_members, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.diagnosis.fabric_path import Meeting, PathError, find_path
from ofapp.bridge.fabric.status import (
    FabricStatus,
    LinkState,
    LinkStatus,
    Trace,
    TraceHop,
    link_states,
)
from ofapp.bridge.mac import format_mac
from ofapp.bridge.ports.port import PortCount
from ofapp.controller.bridges.datapath import ask_all
from ofapp.controller.managed_fabric import ManagedFabric
from ofapp.controller.network import Network

TAG = Tag(name="fabrics", description="Several switches that are one bridge.")

PATIENCE = 5.0
"""Seconds that a request waits for the counters of links."""

LinkStateName = Literal["carries", "probing", "held", "down", "unreachable", "wrong"]
ColourName = Literal["green", "red", "blue"]


class FabricPath(Input):
    """Path of a fabric."""

    fabric: str = Field(
        min_length=1,
        max_length=64,
        description="the fabric's name",
        json_schema_extra={"example": "mesh"},
    )


class TraceQuery(Input):
    """The frames to trace."""

    from_: str = Field(
        alias="from",
        min_length=1,
        max_length=128,
        description="where they enter the fabric: a port as in s1/eth0, or the MAC or IP address of"
        " the host that sends them",
        json_schema_extra={"example": "s1/eth0"},
    )
    to: str = Field(
        min_length=1,
        max_length=64,
        description="the MAC or IP address of the host that they are for",
        json_schema_extra={"example": "52:54:00:12:34:56"},
    )
    vlan: Vid | None = Field(
        None, description="VID, 0 = untagged; without it, the VLAN where the host is known"
    )


class FabricSummary(BaseModel):
    """A fabric in a list."""

    name: str
    number: int = Field(description="distinguishes its frames from another fabric's, 0 to 255")
    datapath_id: DatapathId = Field(description="of the bridge that its members are together")
    bridge: str = Field(description="the name of that bridge")
    connected: bool = Field(description="a member at least is connected")
    settled: bool = Field(
        description="all connected members use the newest plan, and no link is being proven"
    )
    paused: str = Field(description="why the protocols of the bridge are paused; empty if they run")
    members: int
    ready: int = Field(description="members that are connected and hold the plan that they use")
    links: dict[LinkStateName, int] = Field(description="links by state")


class FabricList(BaseModel):
    """The fabrics."""

    fabrics: list[FabricSummary]
    silent: SilentMembers = []


class FabricMember(BaseModel):
    """A member of a fabric: one switch."""

    name: str
    number: int = Field(description="its position in the file, from 1")
    datapath_id: DatapathId = Field(description="of the bridge in its Open vSwitch")
    connected: bool
    ready: bool = Field(description="it is connected, and holds the plan that its frames use")
    refuses: bool = Field(
        description="its switch refuses flows of the fabric; it goes on with those that it holds"
    )
    version: int | None = Field(
        description="the version of the plan that its frames use; null if not known, or if it drops"
        " frames that would enter the fabric"
    )
    versions: list[int] = Field(description="the versions that it holds")
    ports: int = Field(description="its ports of the bridge")
    hosts: int = Field(description="hosts that were learned at these ports")
    conversations: int = Field(description="hosts of other members that it may have flows for")


LinkCounters = create_model(
    "LinkCounters",
    __doc__="Counters of a link port; null for what the switch does not count.",
    **dict.fromkeys(PortCount._fields, (int | None, ...)),  # type: ignore[call-overload]
)


class FabricLink(BaseModel):
    """A link between two members, or a link port without one."""

    one: str = Field(description="a port of a member, as in s1/eth1")
    other: str | None = Field(description="the port at its other end; null while it is not known")
    state: LinkStateName
    meaning: str = Field(description="what the state means")
    cost: int = Field(description="frames take the paths of the least sum of costs")
    seconds: float = Field(description="time in this state")
    reason: str = Field(description="why it does not carry frames; empty if it does")
    failures: int = Field(description="how often it has stopped carrying frames")
    counters: LinkCounters | None = Field(
        description="of the port `one`; null if they are not known. Without its switch, those of"
        " the port `other`, as seen from `one`"
    )


class Fabric(BaseModel):
    """A fabric with its members and links."""

    name: str
    number: int
    datapath_id: DatapathId
    bridge: str
    settled: bool
    paused: str
    mtu: int = Field(description="the largest IP packet of hosts, in octets")
    link_mtu: int = Field(description="the MTU that its links need")
    members: list[FabricMember]
    links: list[FabricLink]
    counters_age: float | None = Field(
        description="seconds since the links' counters were read; null while no switch has answered"
    )
    counters: dict[str, int]


class Hop(BaseModel):
    """A step of a frame from one member to the next."""

    out: str = Field(description="the port where it leaves, as in s1/eth1")
    into: str = Field(description="the port of the next member where it arrives")
    colour: ColourName = Field(
        description="green: a shortest path; red and blue: paths around a failure"
    )


class Detour(BaseModel):
    """The paths after the failure of a link."""

    one: str
    other: str
    ways: list[list[Hop]] = Field(description="empty if no path is left")


class TraceEnd(BaseModel):
    """Where a path begins or ends."""

    member: str | None = Field(description="null while it is not known")
    port: str | None = Field(description="null while it is not known")


class FabricTrace(BaseModel):
    """The path of frames through a fabric."""

    fabric: str
    vlan: int = Field(description="VID, 0 = untagged")
    mac: MacOf = Field(description="the address that they are for")
    start: TraceEnd
    end: TraceEnd
    flooded: bool = Field(
        description="the host is not known: the frames take the tree to all members"
    )
    ways: list[list[Hop]] = Field(
        description="paths, each a list of hops; empty if both hosts are on one switch; different"
        " flows use them at the same time"
    )
    after: list[Detour] = Field(
        description="the paths after the failure of each of their links, by itself"
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("fabrics", TAG, "/v1/fabrics")

    @api.get("", responses={200: FabricList})
    @viewer
    @all_members("fabrics")
    def fabrics(query: NoQuery) -> Response:
        """The fabrics, with how many members are ready and links by state."""
        known = sorted(network.fabrics.items())
        return answer(FabricList(fabrics=[_summary(fabric) for _, fabric in known]))

    @api.get("/<fabric>", responses={200: Fabric, **documented(404)})
    @viewer
    def show(path: FabricPath, query: NoQuery) -> Response:
        """A fabric with its members and links."""
        fabric = _fabric(network, path.fabric)
        return answer(fabric_view(fabric, _counted(network, fabric)))

    @api.get("/<fabric>/trace", responses={200: FabricTrace, **documented(404, 409)})
    @viewer
    def trace(path: FabricPath, query: TraceQuery) -> Response:
        """Which links frames to a host take, and which after the failure of each of them.

        Nothing is sent: it follows from what the members are programmed with.
        """
        fabric = _fabric(network, path.fabric)
        try:
            meeting = find_path(fabric.params, fabric.bridge, query.from_, query.to, query.vlan)
        except PathError as error:
            raise field_problem(error.status, error.field, str(error)) from None
        found = fabric.trace(meeting.member, meeting.vid, meeting.mac)
        return answer(_trace_view(fabric, meeting, found))

    return api


def _fabric(network: Network, name: str) -> ManagedFabric:
    fabric = network.fabrics.get(name)
    if fabric is None:
        raise field_problem(404, "fabric", f"there is no fabric {name}")
    return fabric


def _counted(network: Network, fabric: ManagedFabric) -> float | None:
    """Have the members count their links' frames; when they did, in core time."""
    datapath = network.datapaths.get(fabric.params.datapath_id)
    if datapath is None:
        return None
    ask_all([datapath.port_counters], PATIENCE)
    return datapath.port_counters.at


def _summary(fabric: ManagedFabric) -> FabricSummary:
    status = fabric.status(time.monotonic())
    return FabricSummary(
        **_common(status, fabric.bridge),
        connected=any(member.connected for member in status.members),
        members=len(status.members),
        ready=sum(member.ready for member in status.members),
        links={_state(state): number for state, number in link_states(status).items()},
    )


def fabric_view(fabric: ManagedFabric, counted: float | None = None) -> Fabric:
    """A fabric of the API.  counted: when the counters of its links were read, core time."""
    now = time.monotonic()
    status = fabric.status(now)
    counts = fabric.link_counts()
    return Fabric(
        **_common(status, fabric.bridge),
        mtu=fabric.params.mtu,
        link_mtu=fabric.params.link_mtu,
        members=[
            filled(
                FabricMember,
                member,
                datapath_id=f"{member.datapath_id:016x}",
                versions=list(member.versions),
            )
            for member in status.members
        ],
        links=[
            filled(
                FabricLink,
                link,
                state=_state(link.state),
                meaning=link.state.value,
                seconds=link.since,
                counters=_counters(link, counts),
            )
            for link in status.links
        ],
        counters_age=None if counted is None else now - counted,
        counters=dict(status.counters),
    )


def _common(status: FabricStatus, bridge: Bridge) -> dict[str, Any]:
    return {
        "name": status.name,
        "number": status.number,
        "datapath_id": f"{status.datapath_id:016x}",
        "bridge": bridge.name,
        "settled": status.settled,
        "paused": status.paused,
    }


def _state(state: LinkState) -> LinkStateName:
    return cast(LinkStateName, state.name.lower())


def _counters(link: LinkStatus, counts: Mapping[str, PortCount]) -> LinkCounters | None:
    if (count := counts.get(link.one)) is not None:
        return LinkCounters(**count._asdict())
    if link.other is None or (count := counts.get(link.other)) is None:
        return None
    turned = {"rx": "tx", "tx": "rx"}
    return LinkCounters(
        **{turned[name[:2]] + name[2:]: value for name, value in count._asdict().items()}
    )


def _trace_view(fabric: ManagedFabric, meeting: Meeting, found: Trace) -> FabricTrace:
    members = fabric.params.members
    end = None if found.member is None else members[found.member - 1].name
    return FabricTrace(
        fabric=fabric.params.name,
        vlan=meeting.vid,
        mac=format_mac(meeting.mac),
        start=TraceEnd(member=members[meeting.member - 1].name, port=meeting.port),
        end=TraceEnd(member=end, port=found.port),
        flooded=found.flooded,
        ways=_paths(found.paths),
        after=[
            Detour(one=one, other=other, ways=_paths(paths))
            for (one, other), paths in found.after.items()
        ],
    )


def _paths(paths: Iterable[Iterable[TraceHop]]) -> list[list[Hop]]:
    """Paths of at least one hop: a path without any stays at one member."""
    return [hops for path in paths if (hops := [_hop(hop) for hop in path])]


def _hop(hop: TraceHop) -> Hop:
    return filled(Hop, hop, colour=hop.colour.name.lower())
