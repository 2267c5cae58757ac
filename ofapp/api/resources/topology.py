"""/v1/topology: the bridges, the links between them, and their neighbours.

In a cluster the members send the surroundings of their bridges to the member that is asked.
It makes one map of all, as of its local bridges (`api.cluster.fan_out`).

A neighbour's data is not verified: it is text that the neighbour has chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from ofapp.api.base import DatapathId, NoQuery, PortRef, SilentMembers, filled
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import resource
from ofapp.api.recent import recent
from ofapp.api.resources.bridge.lldp import SaidByLldp, moment, said_by
from ofapp.api.resources.bridge.stp import BridgeId, RoleName, StateName
from ofapp.api.responses import answer
from ofapp.api.roles import all_members, viewer
from ofapp.bridge import stp
from ofapp.bridge.mac import format_mac
from ofapp.bridge.stp.vectors import ADDRESS_MASK, format_bridge_id, format_port_id
from ofapp.common import hub
from ofapp.controller import topology as core
from ofapp.controller.network import Network

Source = Literal["lldp", "stp"]
Bridges = Mapping[int, core.Surroundings]
T = TypeVar("T")
TURN = 50
"""Links, neighbours or hosts processed before other greenlets run."""

TAG = Tag(name="topology", description="Links between bridges.")


class MapBridge(BaseModel):
    """A bridge of this controller, or of its cluster."""

    datapath_id: DatapathId
    name: str
    connected: bool
    bridge_id: BridgeId | None = Field(description="null without spanning tree")
    root: bool | None = Field(
        description="it is the root of its tree; null without spanning tree, and while its switch"
        " is disconnected"
    )
    root_id: BridgeId | None = Field(
        description="the root of its tree, null where `root` is; two roots are two networks"
    )


class LinkEnd(BaseModel):
    """One end of a link."""

    datapath_id: DatapathId
    port: PortRef = Field(description="of the bridge: an aggregation is one port")
    connected: bool = Field(
        description="its switch is connected; if not, the end's state is not known"
    )


class TreeEnd(BaseModel):
    """Role and state of one end in spanning tree."""

    role: RoleName
    state: StateName


class LinkTree(BaseModel):
    """Spanning tree at both ends, null where it does not run or the switch is disconnected."""

    a: TreeEnd | None
    b: TreeEnd | None


class Cable(BaseModel):
    """Two ports of switches, by their names."""

    a: str
    b: str


class LinkLag(BaseModel):
    """The aggregations at the ends, null for an end that is a single port."""

    a: str | None
    b: str | None
    members: list[Cable] = Field(description="which members are connected, as known by LLDP")


class MapLink(BaseModel):
    """A link between two ports of such bridges."""

    a: LinkEnd
    b: LinkEnd
    source: Source = Field(description="how it is known, lldp if by both")
    seen: str | None = Field(description="when LLDP was received last; null without LLDP")
    stp: LinkTree
    lag: LinkLag | None = Field(description="null where neither end is an aggregation")


class Neighbour(BaseModel):
    """A neighbour behind a port that is none of the bridges, by its own data."""

    datapath_id: DatapathId
    port: PortRef
    member: str | None = Field(description="the receiving member if `port` is an aggregation")
    source: Source = Field(description="how it is known")
    trusted: bool = Field(description="the port is marked as a link to another switch")
    chassis_id: str = Field(description="its address, mostly")
    port_id: str | None = Field(
        description="its port, from spanning tree as 8.001; null if not known"
    )
    bridge_id: BridgeId | None = Field(description="of spanning tree, if known")
    lldp: SaidByLldp | None = Field(description="its LLDP data; null from spanning tree")
    seen: str | None = Field(description="when LLDP was received last; null from spanning tree")


class Map(BaseModel):
    """The network."""

    bridges: list[MapBridge]
    links: list[MapLink]
    neighbours: list[Neighbour]
    silent: SilentMembers = []


class Around(BaseModel):
    """Surroundings of each bridge of one controller, from which other members make a map."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    bridges: list[core.Surroundings]


def around(network: Network) -> list[core.Surroundings]:
    """Surroundings of each bridge of this controller."""
    return core.around(network.bridges, network.datapaths)


def map_view(known: Iterable[core.Surroundings]) -> Map:
    """The map of these bridges."""
    bridges = {bridge.datapath_id: bridge for bridge in known}
    merged = core.topology(bridges.values())
    return Map(
        bridges=[_bridge(bridges[datapath_id]) for datapath_id in sorted(bridges)],
        links=[_link(bridges, link) for link in in_turns(merged.links)],
        neighbours=[_neighbour(bridges, one) for one in in_turns(merged.neighbours)],
    )


def in_turns(items: Sequence[T]) -> Iterator[T]:
    """The items, with other greenlets between every `TURN` of them."""
    for at, item in enumerate(items):
        if at % TURN == TURN - 1:
            hub.sleep(0)
        yield item


def _bridge(bridge: core.Surroundings) -> MapBridge:
    tree = bridge.tree
    present = tree if bridge.connected else None
    return MapBridge(
        datapath_id=f"{bridge.datapath_id:016x}",
        name=bridge.name,
        connected=bridge.connected,
        bridge_id=None if tree is None else format_bridge_id(tree.bridge_id),
        root=None if present is None else present.bridge_id == present.root,
        root_id=None if present is None else format_bridge_id(present.root),
    )


def _link(bridges: Bridges, link: core.Link) -> MapLink:
    a, b = (
        tree if bridges[end.datapath_id].connected else None
        for end, tree in zip((link.a, link.b), link.tree, strict=True)
    )
    lag = LinkLag(
        a=_lag(bridges, link.a),
        b=_lag(bridges, link.b),
        members=[
            Cable(a=_name(bridges, link.a, one), b=_name(bridges, link.b, other))
            for one, other in link.members
        ],
    )
    return MapLink(
        a=_link_end(bridges, link.a),
        b=_link_end(bridges, link.b),
        source=link.source,
        seen=None if link.seen is None else moment(link.seen),
        stp=LinkTree(a=_tree(a), b=_tree(b)),
        lag=lag if lag.a or lag.b else None,
    )


def _link_end(bridges: Bridges, end: core.End) -> LinkEnd:
    connected = bridges[end.datapath_id].connected
    return LinkEnd(**_end(bridges, end), connected=connected)


def _end(bridges: Bridges, end: core.End) -> dict[str, Any]:
    port = PortRef(number=end.port, name=_name(bridges, end, end.port))
    return {"datapath_id": f"{end.datapath_id:016x}", "port": port}


def _tree(port: stp.PortAround | None) -> TreeEnd | None:
    return None if port is None else filled(TreeEnd, port)


def _lag(bridges: Bridges, end: core.End) -> str | None:
    bundled = end.port in bridges[end.datapath_id].members.values()
    return _name(bridges, end, end.port) if bundled else None


def _name(bridges: Bridges, end: core.End, number: int) -> str:
    """Name of a port of the bridge, or of its switch."""
    return bridges[end.datapath_id].names.get(number, str(number))


def _neighbour(bridges: Bridges, neighbour: core.Neighbour) -> Neighbour:
    at, member = neighbour.at, neighbour.member
    said = None if neighbour.lldp is None else said_by(neighbour.lldp)
    chassis, port, bridge = _of_bpdus(neighbour.bpdu)
    return Neighbour(
        **_end(bridges, at),
        member=None if member is None else _name(bridges, at, member),
        source="stp" if said is None else "lldp",
        trusted=neighbour.trusted,
        chassis_id=chassis if said is None else said.chassis_id,
        port_id=port if said is None else said.port_id,
        bridge_id=bridge,
        lldp=said,
        seen=None if neighbour.lldp is None else moment(neighbour.lldp.seen),
    )


def _of_bpdus(port: stp.PortAround | None) -> tuple[str, str | None, str | None]:
    """Address, port and identifier of the bridge behind a port."""
    if port is None:
        return "", None, None
    address = format_mac(port.bridge & ADDRESS_MASK)
    if port.far_port is None:
        return address, None, None
    return address, format_port_id(port.far_port), format_bridge_id(port.bridge)


def blueprint(network: Network) -> APIBlueprint:
    """The route on a network."""
    api = resource("topology", TAG, "/v1/topology")

    @api.get("", responses={200: Map})
    @viewer
    @all_members("map")
    @recent
    def topology(query: NoQuery) -> Response:
        """The bridges, the links between them, and the neighbours that are none of them.

        With `Cache-Control: max-age=1` the answer may be one of the last second.
        """
        return answer(map_view(around(network)))

    @api.get("/around", doc_ui=False)  # internal: between members of a cluster
    @viewer
    def surroundings(query: NoQuery) -> Response:
        """The surroundings of each bridge of this controller, for one map of all."""
        return answer(Around(bridges=around(network)))

    return api
