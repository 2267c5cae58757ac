"""/v1/topology: the bridges, the links between them, and who else is there.

In a cluster each member tells the one that was asked what its bridges know of what is around them,
and that one draws the map, as it would of bridges of its own (`api.elsewhere`).

Whatever a neighbour says of itself is text that it has chosen.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, ConfigDict, Field

from ofapp.api.answers import answer
from ofapp.api.base import DatapathId, NoQuery, PortRef, SilentMembers
from ofapp.api.lldp import SaidByLldp, moment, said_by
from ofapp.api.problems import COMMON
from ofapp.api.roles import viewer
from ofapp.api.stp import BridgeId, RoleName, StateName
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
"""Links, or neighbours, that are looked at in one go."""

TAG = Tag(name="topology", description="How bridges hang together.")


class MapBridge(BaseModel):
    """A bridge of this controller, or of its cluster."""

    datapath_id: DatapathId
    name: str
    connected: bool
    bridge_id: BridgeId | None = Field(description="null without spanning tree")
    root: bool | None = Field(description="it is the root of its tree; null without spanning tree")
    root_id: BridgeId | None = Field(description="who is; two roots are two networks")


class LinkEnd(BaseModel):
    """One end of a link."""

    datapath_id: DatapathId
    port: PortRef = Field(description="of the bridge: an aggregation is one port")


class TreeEnd(BaseModel):
    """What spanning tree has made of one end."""

    role: RoleName
    state: StateName


class LinkTree(BaseModel):
    """What spanning tree has made of both, null where it does not run."""

    a: TreeEnd | None
    b: TreeEnd | None


class Cable(BaseModel):
    """Two ports of switches, by their names."""

    a: str
    b: str


class LinkLag(BaseModel):
    """The aggregations that the ends are, null for one that is none."""

    a: str | None
    b: str | None
    members: list[Cable] = Field(description="which member is at which, where LLDP tells")


class MapLink(BaseModel):
    """A link between two ports of such bridges."""

    a: LinkEnd
    b: LinkEnd
    source: Source = Field(description="how it is known, lldp where both tell")
    seen: str | None = Field(description="when LLDP was heard last; null where it is not heard")
    stp: LinkTree
    lag: LinkLag | None = Field(description="null where neither end is an aggregation")


class Neighbour(BaseModel):
    """Somebody behind a port who is none of the bridges, as it tells of itself."""

    datapath_id: DatapathId
    port: PortRef
    member: str | None = Field(description="the member of the aggregation, where `port` is one")
    source: Source = Field(description="how it is known")
    trusted: bool = Field(description="the port is marked as a link to another switch")
    chassis_id: str = Field(description="its address, mostly")
    port_id: str | None = Field(
        description="its port, from spanning tree as 8.001; null where it does not say"
    )
    bridge_id: BridgeId | None = Field(description="of spanning tree, where it is known")
    lldp: SaidByLldp | None = Field(description="what it says of itself; null from spanning tree")
    seen: str | None = Field(description="when LLDP was heard last; null from spanning tree")


class Map(BaseModel):
    """The network."""

    bridges: list[MapBridge]
    links: list[MapLink]
    neighbours: list[Neighbour]
    silent: SilentMembers = []


class Around(BaseModel):
    """What each bridge of one controller knows of what is around it, for others to draw a map."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    bridges: list[core.Surroundings]


def around(network: Network) -> list[core.Surroundings]:
    """Of each bridge, while everybody else has their turns: a thousand bridges take a while."""
    found = []
    for datapath_id, bridge in sorted(network.bridges.items()):
        found.append(core.surroundings(bridge, datapath_id in network.sessions, time.monotonic()))
        hub.sleep(0)
    return found


def map_view(known: Iterable[core.Surroundings]) -> Map:
    """The map of these bridges."""
    bridges = {own.datapath_id: own for own in known}
    told = core.topology(bridges.values())
    return Map(
        bridges=[_bridge(bridges[datapath_id]) for datapath_id in sorted(bridges)],
        links=[_link(bridges, link) for link in _in_turns(told.links)],
        neighbours=[_neighbour(bridges, one) for one in _in_turns(told.neighbours)],
    )


def _in_turns(items: Sequence[T]) -> Iterator[T]:
    for at, item in enumerate(items):
        if at % TURN == TURN - 1:
            hub.sleep(0)
        yield item


def _bridge(bridge: core.Surroundings) -> MapBridge:
    tree = bridge.tree
    return MapBridge(
        datapath_id=f"{bridge.datapath_id:016x}",
        name=bridge.name,
        connected=bridge.connected,
        bridge_id=None if tree is None else format_bridge_id(tree.bridge_id),
        root=None if tree is None else tree.bridge_id == tree.root,
        root_id=None if tree is None else format_bridge_id(tree.root),
    )


def _link(bridges: Bridges, link: core.Link) -> MapLink:
    a, b = link.tree
    lag = LinkLag(
        a=_lag(bridges, link.a),
        b=_lag(bridges, link.b),
        members=[
            Cable(a=_name(bridges, link.a, one), b=_name(bridges, link.b, other))
            for one, other in link.members
        ],
    )
    return MapLink(
        a=_end(bridges, link.a),
        b=_end(bridges, link.b),
        source=link.source,
        seen=None if link.seen is None else moment(link.seen),
        stp=LinkTree(a=_tree(a), b=_tree(b)),
        lag=lag if lag.a or lag.b else None,
    )


def _end(bridges: Bridges, end: core.End) -> LinkEnd:
    return LinkEnd(
        datapath_id=f"{end.datapath_id:016x}",
        port=PortRef(number=end.port, name=_name(bridges, end, end.port)),
    )


def _tree(port: stp.PortAround | None) -> TreeEnd | None:
    return None if port is None else TreeEnd(role=port.role.value, state=port.state.value)


def _lag(bridges: Bridges, end: core.End) -> str | None:
    bundled = end.port in bridges[end.datapath_id].members.values()
    return _name(bridges, end, end.port) if bundled else None


def _name(bridges: Bridges, end: core.End, number: int) -> str:
    """Of a port of the bridge, or of its switch."""
    return bridges[end.datapath_id].names.get(number, str(number))


def _neighbour(bridges: Bridges, neighbour: core.Neighbour) -> Neighbour:
    at, member = neighbour.at, neighbour.member
    said = None if neighbour.lldp is None else said_by(neighbour.lldp)
    chassis, port, bridge = _of_bpdus(neighbour.bpdu)
    return Neighbour(
        **dict(_end(bridges, at)),
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
    api = APIBlueprint(
        "topology", __name__, url_prefix="/v1/topology", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: Map})
    @viewer
    def topology(query: NoQuery) -> Response:
        """The bridges, the links between them, and the neighbours that are none of them."""
        return answer(map_view(around(network)))

    @api.get("/around", doc_ui=False)  # between members of a cluster, and as they are made
    @viewer
    def told(query: NoQuery) -> Response:
        """What each bridge of this controller knows of what is around it, for one map of all."""
        return answer(Around(bridges=around(network)))

    return api
