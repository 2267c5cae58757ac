"""/v1/bridges: the bridges and their ports."""

from __future__ import annotations

import time
from typing import Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import BridgePath, DatapathId, Input, NoQuery, PortRef, SilentMembers, filled
from ofapp.api.lookup import named_bridge, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, documented, refused, resource
from ofapp.api.recent import recent
from ofapp.api.responses import answer
from ofapp.api.roles import admin, all_members, viewer
from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge as CoreBridge
from ofapp.bridge.queries import fdb_counts, learned_by_port, vlan_limits
from ofapp.common import hub
from ofapp.common.peer import host_and_port
from ofapp.controller.network import Network
from ofapp.controller.state.saving import wait_for_all

TAG = Tag(name="bridges", description="Bridges and their ports.")


class VlanLimit(BaseModel):
    """The limit of one VLAN."""

    vlan: int
    learned: int = Field(description="learned entries")
    limit: int = Field(description="most learned entries")
    refused: int = Field(description="sightings not learned because of that limit")
    dropping: bool = Field(description="frames from unknown hosts are dropped now")


class BridgeLimits(BaseModel):
    """Limits of a bridge."""

    fdb_max_learned: int = Field(description="most learned entries")
    packet_in_rate: int = Field(
        description="frames from unknown sources a second that the controller takes from each port"
    )
    vlans: list[VlanLimit] = Field(description="VLANs with a separate limit")


class GuardedPort(BaseModel):
    """A port that a guard of spanning tree blocks."""

    port: PortRef
    guards: list[stp.Guard] = Field(description="guards of spanning tree that block it")


class FdbCounts(BaseModel):
    """The size of the forwarding database."""

    learned: int
    static: int
    local: int
    refused: int = Field(description="sightings not learned because the bridge was full")
    learned_by_port: dict[str, int] = Field(description="by the port's name")


class Bridge(BaseModel):
    """One datapath's bridge."""

    datapath_id: DatapathId
    name: str
    former_name: str | None = Field(
        description="previous name, while its switch is disconnected and another bridge has it"
    )
    connected: bool
    away: float | None = Field(description="seconds since its switch left, null = it is connected")
    in_line: bool = Field(description="the switch has all flows, groups and meters of the bridge")
    standby: str | None = Field(
        description="the controller that is master of the switch, while this one is on standby"
    )
    refused: list[str] = Field(description="what the switch refuses now, and why, in words")
    peer: str | None = Field(description="address of the switch, while it is connected")
    guarded: list[GuardedPort] = Field(description="ports that guards of spanning tree block")
    ageing_time: int = Field(description="seconds, 0 = entries never age")
    limits: BridgeLimits
    fdb: FdbCounts
    counters: dict[str, int] = Field(
        description="counters of learning since the start, and of the present connection"
    )
    drops: dict[str, int] = Field(
        description="frames that the switch dropped, by rule, as of the last statistics reply"
    )


class BridgeList(BaseModel):
    """All bridges."""

    bridges: list[Bridge]
    silent: SilentMembers = []


class AbsentOnly(Input):
    """Which bridges."""

    absent: Literal["true"] = Field(
        description="true: bridges whose switches are disconnected; others are removed one by one"
    )


class Forgotten(BaseModel):
    """The bridges that were removed."""

    forgotten: list[DatapathId]
    silent: SilentMembers = []


def bridge_view(network: Network, bridge: CoreBridge) -> Bridge:
    """State of a bridge at one moment: read without yielding."""
    datapath = network.datapaths.get(bridge.datapath_id)
    status = None if datapath is None else datapath.status()
    counts = fdb_counts(bridge)
    counters = dict(counts.counters)
    if datapath is not None:
        counters |= datapath.channel.counters
    return Bridge(
        datapath_id=f"{bridge.datapath_id:016x}",
        name=bridge.name,
        former_name=bridge.former_name,
        connected=datapath is not None,
        away=network.disconnected.seconds(bridge.datapath_id, time.monotonic()),
        in_line=status is not None and status.in_line,
        standby=None if status is None else status.owner,
        refused=[] if status is None else [*status.refused],
        peer=None if datapath is None else host_and_port(datapath.channel.address),
        guarded=[
            GuardedPort(port=port_ref(bridge, number), guards=[*guards])
            for number, guards in sorted(bridge.stp.guarded().items())
        ],
        ageing_time=bridge.params.ageing_time,
        limits=filled(
            BridgeLimits,
            bridge.params,
            vlans=[
                filled(VlanLimit, limited, vlan=vid)
                for vid, limited in vlan_limits(bridge).items()
                if limited.limit is not None
            ],
        ),
        fdb=filled(
            FdbCounts,
            counts,
            learned_by_port={
                port_ref(bridge, number).name: count
                for number, count in sorted(learned_by_port(bridge).items())
            },
        ),
        counters=dict(sorted(counters.items())),
        drops={} if status is None else dict(sorted(status.drops.items())),
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("bridges", TAG, "/v1/bridges")

    @api.get("", responses={200: BridgeList})
    @viewer
    @all_members("bridges")
    @recent
    def bridges(query: NoQuery) -> Response:
        """All bridges, by datapath id.

        With `Cache-Control: max-age=1` the answer may be one of the last second.
        """
        known = sorted(network.bridges.items())
        return answer(BridgeList(bridges=[bridge_view(network, bridge) for _, bridge in known]))

    @api.delete("", responses={200: Forgotten, **UNSAVED})
    @admin
    @all_members("forgotten")
    def forget_absent(query: AbsentOnly) -> Response:
        """Remove all bridges whose switches are disconnected, with their run-time settings.

        A switch that comes back is treated as new.  503, 507: they are removed, but this is not on
        disk yet.
        """
        forgotten = []
        for datapath_id, bridge in sorted(network.bridges.items()):
            if datapath_id not in network.datapaths and datapath_id in network.bridges:
                forgotten.append((datapath_id, network.changes.forget(bridge)))
                hub.sleep(0)
        for datapath_id in network.sources.absent.all():
            forgotten.append((datapath_id, network.changes.forget_absent(datapath_id)))
        wait_for_all(ticket for _, saved in forgotten for ticket in saved)
        return answer(Forgotten(forgotten=[f"{each:016x}" for each, _ in forgotten]))

    @api.get("/<dpid>", responses={200: Bridge, **documented(404, 409)})
    @viewer
    def bridge(path: BridgePath, query: NoQuery) -> Response:
        """One bridge."""
        return answer(bridge_view(network, named_bridge(network, path.dpid)))

    @api.delete("/<dpid>", responses={204: None, **documented(404, 409), **UNSAVED})
    @admin
    def forget(path: BridgePath, query: NoQuery) -> Response:
        """Remove a bridge whose switch is disconnected, with its run-time settings.

        If the switch comes back, it is treated as new.  409: it is connected.
        503, 507: it is removed, but this is not on disk yet.
        """
        absent = network.sources.absent.find(path.dpid)
        with refused(409):
            if absent is not None and network.find(path.dpid) is None:
                saved = network.changes.forget_absent(absent)
            else:
                saved = network.changes.forget(named_bridge(network, path.dpid))
        wait_for_all(saved)
        return Response(status=204)

    return api
