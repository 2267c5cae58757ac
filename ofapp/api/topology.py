"""/v1/topology: the bridges of this controller, the links between them, and who else is there.

Whatever a neighbour says of itself is text that it has chosen.
"""

from __future__ import annotations

from typing import Literal

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer
from ofapp.api.base import DatapathId, NoQuery, PortRef
from ofapp.api.lookup import port_ref
from ofapp.api.problems import COMMON
from ofapp.api.roles import viewer
from ofapp.api.stp import BridgeId, RoleName, StateName
from ofapp.bridge import stp
from ofapp.bridge.mac import format_mac
from ofapp.bridge.stp.vectors import ADDRESS_MASK, format_bridge_id, format_port_id
from ofapp.controller import topology as core
from ofapp.controller.network import Network

TAG = Tag(name="topology", description="How bridges hang together.")


class MapBridge(BaseModel):
    """A bridge of this controller."""

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


class LinkLag(BaseModel):
    """The aggregations that the ends are, null for one that is none."""

    a: str | None
    b: str | None


class MapLink(BaseModel):
    """A link between two ports of this controller."""

    a: LinkEnd
    b: LinkEnd
    source: Literal["stp"] = Field(description="how it is known")
    stp: LinkTree
    lag: LinkLag | None = Field(description="null where neither end is an aggregation")


class Neighbour(BaseModel):
    """Somebody behind a port who is not of this controller, as it tells of itself."""

    datapath_id: DatapathId
    port: PortRef
    source: Literal["stp"] = Field(description="how it is known")
    chassis_id: str = Field(description="its address, where that is what it is known by")
    port_id: str | None = Field(description="its port, as 8.001; null where it does not say")
    bridge_id: BridgeId | None = Field(description="null where only its address is known")


class Map(BaseModel):
    """The network."""

    bridges: list[MapBridge]
    links: list[MapLink]
    neighbours: list[Neighbour]


def map_view(network: Network) -> Map:
    """How it is now."""
    known = [bridge for _, bridge in sorted(network.bridges.items())]
    told = core.topology(known)
    return Map(
        bridges=[
            _bridge(network, bridge.datapath_id, told.trees.get(bridge.datapath_id))
            for bridge in known
        ],
        links=[_link(network, link) for link in told.links],
        neighbours=[_neighbour(network, one) for one in told.neighbours],
    )


def _bridge(network: Network, datapath_id: int, tree: stp.Around | None) -> MapBridge:
    return MapBridge(
        datapath_id=f"{datapath_id:016x}",
        name=network.bridges[datapath_id].name,
        connected=datapath_id in network.sessions,
        bridge_id=None if tree is None else format_bridge_id(tree.bridge_id),
        root=None if tree is None else tree.bridge_id == tree.root,
        root_id=None if tree is None else format_bridge_id(tree.root),
    )


def _link(network: Network, link: core.Link) -> MapLink:
    a, b = link.tree
    lag = LinkLag(a=_lag(network, link.a), b=_lag(network, link.b))
    return MapLink(
        a=_end(network, link.a),
        b=_end(network, link.b),
        source="stp",
        stp=LinkTree(a=_tree(a), b=_tree(b)),
        lag=lag if lag.a or lag.b else None,
    )


def _end(network: Network, end: core.End) -> LinkEnd:
    return LinkEnd(
        datapath_id=f"{end.datapath_id:016x}",
        port=port_ref(network.bridges[end.datapath_id], end.port),
    )


def _tree(port: stp.PortAround | None) -> TreeEnd | None:
    return None if port is None else TreeEnd(role=port.role.value, state=port.state.value)


def _lag(network: Network, end: core.End) -> str | None:
    bridge = network.bridges[end.datapath_id]
    name = port_ref(bridge, end.port).name
    return name if bridge.lags.has(name) else None


def _neighbour(network: Network, neighbour: core.ForeignBridge) -> Neighbour:
    whole = neighbour.far_port is not None
    return Neighbour(
        **dict(_end(network, neighbour.at)),
        source="stp",
        chassis_id=format_mac(neighbour.bridge & ADDRESS_MASK),
        port_id=None if neighbour.far_port is None else format_port_id(neighbour.far_port),
        bridge_id=format_bridge_id(neighbour.bridge) if whole else None,
    )


def blueprint(network: Network) -> APIBlueprint:
    """The route on a network."""
    api = APIBlueprint(
        "topology", __name__, url_prefix="/v1/topology", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: Map})
    @viewer
    def topology(query: NoQuery) -> Response:
        """The bridges, the links between them, and the neighbours that are none of them."""
        return answer(map_view(network))

    return api
