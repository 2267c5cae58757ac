"""/v1/bridges/{dpid}/lldp: neighbours behind each port of a switch, and settings.

A neighbour's data is not verified: it is text that the neighbour has chosen.
"""

from __future__ import annotations

import time

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.answers import answer, utc
from ofapp.api.base import BridgePath, DatapathId, NoQuery, PortPath, filled
from ofapp.api.changes import Change, changes_of, make_change
from ofapp.api.lookup import find_bridge, find_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, documented, resource
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lldp import AgentStatus, NeighbourStatus, Relative
from ofapp.bridge.lldp.information import capability_names
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.config.port import PortSection
from ofapp.controller.configuration.changes.settings import LLDP
from ofapp.controller.network import Network

TAG = Tag(name="lldp", description="Neighbours by LLDP (IEEE 802.1AB).")


LldpBridge = section_model(BridgeSettings, "lldp")
LldpPort = section_model(PortSection, "lldp")


class LldpBridgeChange(Change, changes_of(LldpBridge)):  # type: ignore[misc]
    """Parameters of a bridge; omitted ones keep their values."""


class LldpPortChange(Change, changes_of(LldpPort)):  # type: ignore[misc]
    """Parameters of a port; omitted ones keep their values."""


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


class LldpPortStatus(BaseModel):
    """A port of the switch: members of an aggregation, not the aggregation."""

    number: int = Field(description="of OpenFlow")
    name: str
    lag: str | None = Field(description="the aggregation that it is a member of")
    up: bool
    link: bool = Field(description="neighbours there are trusted for the map")
    crowded: bool = Field(description="there are more neighbours than are stored")
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
        neighbours=[_neighbour(neighbour) for neighbour in agent.neighbours],
    )


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

    @api.get("", responses={200: LldpBridgeStatus, **documented(404, 409)})
    @viewer
    def status(path: BridgePath, query: NoQuery) -> Response:
        """The neighbours and counters of each port, by number."""
        return answer(lldp_view(network, find_bridge(network, path.dpid)))

    @api.patch("", responses={200: LldpBridgeStatus, **CHANGE})
    @operator
    def change(path: BridgePath, query: NoQuery, body: LldpBridgeChange) -> Response:
        """Set parameters of a bridge, or start or stop its LLDP.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.
        """
        bridge = find_bridge(network, path.dpid)
        make_change(network.changes.settings.change, bridge, LLDP, body.values())
        return answer(lldp_view(network, bridge))

    @api.patch("/ports/<port>", responses={200: LldpBridgeStatus, **CHANGE})
    @operator
    def change_port(path: PortPath, query: NoQuery, body: LldpPortChange) -> Response:
        """Set parameters of a port, or of an aggregation for its members.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: the port is LOCAL.
        """
        bridge = find_bridge(network, path.dpid)
        port = find_port(bridge, path.port)
        make_change(network.changes.settings.change_port, bridge, port, body.values(), LLDP)
        return answer(lldp_view(network, bridge))

    return api
