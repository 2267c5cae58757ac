"""/v1/bridges/{dpid}/first-hop: settings of first-hop security, and its counters.

What it keeps of hosts is in `bindings`.
"""

from __future__ import annotations

import time

from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, PortRef
from ofapp.api.changes import Texts, section_routes
from ofapp.api.lookup import by_number
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import resource
from ofapp.api.resources.bridge.ports import Trust
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.first_hop.binding import Origin, PortBindings
from ofapp.bridge.ports.port import Port as CorePort
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.config.port import PortSection
from ofapp.controller.configuration.changes.settings import FIRST_HOP
from ofapp.controller.network import Network

TAG = Tag(name="first-hop", description="First-hop security: what hosts may claim.")

FirstHopBridge = section_model(BridgeSettings, "first_hop")
FirstHopPort = section_model(PortSection, "first_hop")


class FirstHopPortStatus(BaseModel):
    """First-hop security of a port of the bridge."""

    port: PortRef
    trust: Trust
    parameters: FirstHopPort  # type: ignore[valid-type]
    bindings: int = Field(description="dynamic bindings; 0 where nothing of its hosts is checked")
    full: bool = Field(description="its limit of bindings is reached")
    refused: int = Field(description="bindings that were not made because of that limit")


class VlanPrefix(BaseModel):
    """An IPv6 prefix that a router announces, from which hosts may take addresses."""

    vlan: int = Field(description="VID, 0 = untagged")
    prefix: str


class FirstHopStatus(BaseModel):
    """First-hop security of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    parameters: FirstHopBridge  # type: ignore[valid-type]
    bindings: dict[str, int] = Field(description="number of bindings by origin")
    prefixes: list[VlanPrefix]
    counters: dict[str, int] = Field(description="what was bound, moved, refused and so on")
    ports: list[FirstHopPortStatus]


def first_hop_view(network: Network, bridge: Bridge) -> FirstHopStatus:
    """First-hop security of a bridge."""
    status = bridge.first_hop.status(time.monotonic())
    settings, guarded = network.running.of(bridge.datapath_id), {p.port: p for p in status.ports}
    return FirstHopStatus(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        parameters=settings.first_hop,
        bindings={origin.value: status.bindings.get(origin, 0) for origin in Origin},
        prefixes=[VlanPrefix(vlan=vid, prefix=str(prefix)) for vid, prefix in status.prefixes],
        counters=dict(status.counters),
        ports=[
            _port(port, settings.port(port.name, port.number), guarded.get(port.name))
            for port in by_number(bridge)
        ],
    )


def _port(port: CorePort, own: PortSection, guarded: PortBindings | None) -> FirstHopPortStatus:
    return FirstHopPortStatus(
        port=PortRef(number=port.number, name=port.name),
        trust=own.trust,
        parameters=own.first_hop,
        bindings=0 if guarded is None else guarded.bindings,
        full=guarded is not None and guarded.full,
        refused=0 if guarded is None else guarded.refused,
    )


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    prefix = "/v1/bridges/<dpid>/first-hop"
    api = resource("first_hop", TAG, prefix)

    texts = Texts(
        "Settings and counters of a bridge and of each port, by number.",
        "Set parameters of a bridge.",
        "Set parameters of a port; `trust`, which sets several at once, is set at the port.",
    )
    section_routes(api, network, FIRST_HOP, first_hop_view, texts)
    return api
