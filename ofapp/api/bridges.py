"""/v1/bridges: the bridges and their ports."""

from __future__ import annotations

import time
from typing import Any

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer
from ofapp.api.base import BridgePath, DatapathId, NoQuery, PortRef, SilentMembers
from ofapp.api.lookup import find_bridge, port_ref
from ofapp.api.problems import COMMON, UNSAVED, documented, refused
from ofapp.api.roles import admin, viewer
from ofapp.bridge import stp
from ofapp.bridge.answers import fdb_counts, learned_by_port, vlan_limits
from ofapp.bridge.bridge import Bridge as CoreBridge
from ofapp.controller.network import Network

TAG = Tag(name="bridges", description="Bridges and their ports.")


class VlanLimit(BaseModel):
    """The limit of one VLAN."""

    vlan: int
    learned: int = Field(description="learned entries")
    limit: int = Field(description="most learned entries")
    refused: int = Field(description="sightings not learned because of that limit")
    dropping: bool = Field(description="frames from unknown hosts are dropped now")


class BridgeLimits(BaseModel):
    """What is bounded."""

    fdb_max_learned: int = Field(description="most learned entries")
    packet_in_rate: int = Field(
        description="frames of unknown sources a second that each port is sure to show"
    )
    vlans: list[VlanLimit] = Field(description="the VLANs that have a limit of their own")


class GuardedPort(BaseModel):
    """A port that is held closed."""

    port: PortRef
    guards: list[stp.Guard] = Field(description="of spanning tree, that hold it")


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
        description="what it was called, while its switch is away and another bridge has that name"
    )
    connected: bool
    away: float | None = Field(description="seconds since its switch went away, null = it is there")
    in_line: bool = Field(description="the switch holds what the bridge wants")
    standby: str | None = Field(
        description="who else looks after the switch, so that this controller holds still"
    )
    refused: list[str] = Field(description="what the switch refuses now, and why, in words")
    peer: str | None = Field(description="address of the switch, while it is connected")
    guarded: list[GuardedPort] = Field(description="the ports that guards of spanning tree hold")
    ageing_time: int = Field(description="seconds, 0 = entries never age")
    limits: BridgeLimits
    fdb: FdbCounts
    counters: dict[str, int] = Field(
        description="of learning since the start, and of the present connection"
    )
    drops: dict[str, int] = Field(
        description="frames that the switch dropped, by rule, as of the last sweep"
    )


class BridgeList(BaseModel):
    """All bridges."""

    bridges: list[Bridge]
    silent: SilentMembers = []


def bridge_view(network: Network, bridge: CoreBridge) -> Bridge:
    """How a bridge is, read without yielding: of one moment."""
    session = network.sessions.get(bridge.datapath_id)
    status = None if session is None else session.status()
    counts = fdb_counts(bridge)
    counters = dict(counts.counters)
    if session is not None:
        counters |= session.channel.counters
    return Bridge(
        datapath_id=f"{bridge.datapath_id:016x}",
        name=bridge.name,
        former_name=bridge.former_name,
        connected=session is not None,
        away=network.away.seconds(bridge.datapath_id, time.monotonic()),
        in_line=status is not None and status.in_line,
        standby=None if status is None else status.owner,
        refused=[] if status is None else [*status.refused],
        peer=None if session is None else _address(session.channel.address),
        guarded=[
            GuardedPort(port=port_ref(bridge, number), guards=[*guards])
            for number, guards in sorted(bridge.stp_guarded().items())
        ],
        ageing_time=bridge.params.ageing_time,
        limits=BridgeLimits(
            fdb_max_learned=bridge.params.fdb_max_learned,
            packet_in_rate=bridge.params.packet_in_rate,
            vlans=[
                VlanLimit(
                    vlan=vid,
                    learned=limit.learned,
                    limit=limit.most,
                    refused=limit.refused,
                    dropping=limit.dropping,
                )
                for vid, limit in vlan_limits(bridge).items()
                if limit.most is not None
            ],
        ),
        fdb=FdbCounts(
            learned=counts.learned,
            static=counts.static,
            local=counts.local,
            refused=counts.refused,
            learned_by_port={
                port_ref(bridge, number).name: count
                for number, count in sorted(learned_by_port(bridge).items())
            },
        ),
        counters=dict(sorted(counters.items())),
        drops={} if status is None else dict(sorted(status.drops.items())),
    )


def _address(address: Any) -> str:
    """host:port of a peer, as people write it."""
    if not isinstance(address, tuple):
        return str(address)
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "bridges", __name__, url_prefix="/v1/bridges", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: BridgeList})
    @viewer
    def bridges(query: NoQuery) -> Response:
        """All bridges, by datapath id."""
        known = sorted(network.bridges.items())
        return answer(BridgeList(bridges=[bridge_view(network, bridge) for _, bridge in known]))

    @api.get("/<dpid>", responses={200: Bridge, **documented(404, 409)})
    @viewer
    def bridge(path: BridgePath, query: NoQuery) -> Response:
        """One bridge."""
        return answer(bridge_view(network, find_bridge(network, path.dpid)))

    @api.delete("/<dpid>", responses={204: None, **documented(404, 409), **UNSAVED})
    @admin
    def forget(path: BridgePath, query: NoQuery) -> Response:
        """Forget a bridge whose switch is away, with all that was set of it at run time.

        Should the switch come back, it is one that was never seen before.  409: it is connected.
        503, 507: it is forgotten, but not on disk yet.
        """
        with refused(409):
            saved = network.changes.forget(find_bridge(network, path.dpid))
        for ticket in saved:
            ticket.wait()
        return Response(status=204)

    return api
