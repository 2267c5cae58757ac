"""/v1/bridges/{dpid}/lldp: neighbours behind each port of a switch, and settings.

A neighbour's data is not verified: it is text that the neighbour has chosen.
"""

from __future__ import annotations

import time
from typing import Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, NoQuery, PortPath, filled
from ofapp.api.changes import Texts, section_routes
from ofapp.api.lookup import find_bridge, no_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, refused, resource
from ofapp.api.responses import answer, utc
from ofapp.api.roles import operator
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lldp import AgentStatus, NeighbourStatus, Relative
from ofapp.bridge.lldp.information import capability_names
from ofapp.bridge.one_way.problems import OneWayLink
from ofapp.bridge.ports.port import Port
from ofapp.bridge.queries import switch_ports
from ofapp.config.base import port_number
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.config.port import PortSection
from ofapp.controller.configuration.changes.settings import LLDP
from ofapp.controller.network import Network

TAG = Tag(name="lldp", description="Neighbours by LLDP (IEEE 802.1AB).")


LldpBridge = section_model(BridgeSettings, "lldp")
LldpPort = section_model(PortSection, "lldp")


class NamedVlan(BaseModel):
    """A VLAN in a neighbour's VLAN Name TLV."""

    vlan: int
    name: str


class SaidByLldp(BaseModel):
    """TLVs of a neighbour; null for those that it does not send."""

    chassis_id: str = Field(description="mostly its MAC address")
    port_id: str = Field(description="mostly its port's name or MAC address")
    port_description: str | None
    system_name: str | None
    system_description: str | None
    capabilities: list[str] = Field(description="enabled ones: bridge, router, station-only, ...")
    management_addresses: list[str]
    port_vlan: int | None = Field(description="VID of its untagged frames; 0 for none")
    vlan_names: list[NamedVlan]


class LldpNeighbour(SaidByLldp):
    """A neighbour behind a port."""

    own: DatapathId | None = Field(
        description="the bridge of this controller, or of its cluster, that it has proven to be;"
        " null for others"
    )
    own_port: int | None = Field(description="the port of that bridge's switch")
    seen: str = Field(description="when its last LLDPDU was received")
    expires: float = Field(description="seconds until it expires unless another LLDPDU arrives")


class OneWayStatus(BaseModel):
    """A link that passes frames in one direction alone."""

    state: Literal["held", "suspected"] = Field(
        description="held: the port is closed; suspected: it stays open, by `one_way` of either end"
        " or as the neighbour is not authenticated"
    )
    neighbour: str = Field(description="the port at the other end")
    hears: bool = Field(
        description="the port hears its neighbour, and is not heard; false at the other end"
    )


class LldpPortStatus(BaseModel):
    """A port of the switch: members of an aggregation, not the aggregation."""

    number: int = Field(description="of OpenFlow")
    name: str
    lag: str | None = Field(description="the aggregation that it is a member of")
    up: bool
    link: bool = Field(description="neighbours there are trusted for the map")
    crowded: bool = Field(description="there are more neighbours than are stored")
    heard: bool | None = Field(
        description="its neighbour hears it; null while that is not known, or not checked"
    )
    one_way: OneWayStatus | None = Field(description="null while the link is not one-way")
    counters: dict[str, int] = Field(
        description="frames and TLVs as IEEE 802.1AB 9.2.6 counts them, and frames ignored"
    )
    neighbours: list[LldpNeighbour]


class LldpBridgeStatus(BaseModel):
    """LLDP of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    parameters: LldpBridge  # type: ignore[valid-type]
    ports: list[LldpPortStatus] = Field(description="ports with LLDP enabled")


def said_by(neighbour: NeighbourStatus) -> SaidByLldp:
    """Convert a neighbour's TLVs."""
    said = neighbour.said
    return filled(
        SaidByLldp,
        said,
        chassis_id=said.chassis.spoken("chassis"),
        port_id=said.port.spoken("port"),
        capabilities=capability_names(said.enabled or 0),
        management_addresses=list(said.addresses),
        port_vlan=said.pvid,
        vlan_names=[NamedVlan(vlan=vid, name=name) for vid, name in said.vlans],
    )


def moment(seconds: float) -> str:
    """The time so many seconds ago, rounded to a second, so that it stays the same."""
    return utc(round(time.time() - seconds))


def lldp_view(network: Network, bridge: Bridge) -> LldpBridgeStatus:
    """State of LLDP on a bridge."""
    return LldpBridgeStatus(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        enabled=bridge.params.lldp is not None,
        parameters=network.running.of(bridge.datapath_id).lldp,
        ports=[_port(bridge, agent) for agent in network.lldp_status(bridge)],
    )


def _port(bridge: Bridge, agent: AgentStatus) -> LldpPortStatus:
    return filled(
        LldpPortStatus,
        agent,
        lag=bridge.lags.of_member(agent.number),
        one_way=_one_way(bridge.one_way.status(0.0).get(agent.number)),
        neighbours=[_neighbour(neighbour) for neighbour in agent.neighbours],
    )


def _one_way(link: OneWayLink | None) -> OneWayStatus | None:
    if link is None:
        return None
    state: Literal["held", "suspected"] = "held" if link.held else "suspected"
    return OneWayStatus(state=state, neighbour=link.neighbour, hears=link.found)


def _switch_port(bridge: Bridge, text: str) -> Port:
    """The port of the switch with this name or number, also a member of an aggregation; 404."""
    number = port_number(text)
    for port in switch_ports(bridge):
        if number == port.number or (number is None and port.name == text):
            return port
    raise no_port(bridge, text, 404)


def _neighbour(neighbour: NeighbourStatus) -> LldpNeighbour:
    sender = neighbour.sender
    if isinstance(sender, Relative):
        sender = sender.sender
    return LldpNeighbour(
        **dict(said_by(neighbour)),
        own=None if sender is None else f"{sender.datapath_id:016x}",
        own_port=None if sender is None else sender.port,
        seen=moment(neighbour.seen),
        expires=round(neighbour.expires),
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("lldp", TAG, "/v1/bridges/<dpid>/lldp")

    texts = Texts(
        "The neighbours and counters of each port, by number.",
        "Set parameters of a bridge, or start or stop its LLDP.",
        "Set parameters of a port, or of an aggregation for its members.",
        "  409: the port is LOCAL.",
    )
    section_routes(api, network, LLDP, lldp_view, texts)

    @api.post("/ports/<port>/free", responses={200: LldpBridgeStatus, **documented(404, 409)})
    @operator
    def free(path: PortPath, query: NoQuery) -> Response:
        """Open a port that is closed as its link is one-way.

        It is closed again while its neighbour does not hear it.  409: the port is not held.
        """
        bridge = find_bridge(network, path.dpid)
        port = _switch_port(bridge, path.port)
        with refused(409):
            network.changes.one_way.free_port(bridge, port)
        return answer(lldp_view(network, bridge))

    return api
