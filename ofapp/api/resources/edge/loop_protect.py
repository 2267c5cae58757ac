"""/v1/bridges/{dpid}/loop-protect: edge ports that are checked for loops, and held ports."""

from __future__ import annotations

import time

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, NoQuery, PortPath
from ofapp.api.changes import Change, Texts, changes_of, section_routes
from ofapp.api.lookup import bridge_and_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, refused, resource
from ofapp.api.responses import answer
from ofapp.api.roles import operator
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.loop_protect.on_bridge import PortProtection
from ofapp.config.bridge import BridgeSettings
from ofapp.config.derived import section_model
from ofapp.config.port import PortSection
from ofapp.controller.configuration.changes.settings import LOOP_PROTECT
from ofapp.controller.network import Network

TAG = Tag(name="loop-protect", description="Loops behind edge ports.")

LoopProtect = section_model(BridgeSettings, "loop_protect")
LoopProtectPort = section_model(PortSection, "loop_protect")


class LoopProtectChange(Change, changes_of(LoopProtect)):  # type: ignore[misc]
    """Parameters of a bridge; omitted ones keep their values."""


class HeldPort(BaseModel):
    """Why a port is closed, and until when."""

    other: str = Field(
        description="the port at the other end of the loop; the same port for a loop behind it"
    )
    vlan: int = Field(description="the VLAN of the frame that came back; 0 for none")
    times: int = Field(description="how often the port was held in a row")
    seconds: float = Field(description="how long it stays closed without a returned frame")
    left: float = Field(description="seconds until it opens, if no further frame comes back")


class LoopProtectPortStatus(BaseModel):
    """A port that sends frames of loop protection, or is held."""

    number: int = Field(description="of OpenFlow")
    name: str
    sends: bool = Field(description="it is an edge port, and sends frames")
    held: HeldPort | None = Field(description="null while the port is not held")


class LoopProtectStatus(BaseModel):
    """Loop protection of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    parameters: LoopProtect  # type: ignore[valid-type]
    counters: dict[str, int] = Field(
        description="frames sent, those that came back, by what they meant, and ports held"
    )
    ports: list[LoopProtectPortStatus]


def _view(network: Network, bridge: Bridge) -> LoopProtectStatus:
    ports = bridge.loop_protect.status(time.monotonic())
    return LoopProtectStatus(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        enabled=ports is not None,
        parameters=network.running.of(bridge.datapath_id).loop_protect,
        counters=bridge.loop_protect.counters,
        ports=[_port(bridge, port) for port in ports or ()],
    )


def _port(bridge: Bridge, port: PortProtection) -> LoopProtectPortStatus:
    held = None
    if port.held is not None:
        other = bridge.ports.get(port.held.other)
        held = HeldPort(
            other=str(port.held.other) if other is None else other.name,
            vlan=port.held.vid,
            times=port.held.times,
            seconds=port.held.seconds,
            left=round(port.left or 0.0, 1),
        )
    return LoopProtectPortStatus(number=port.number, name=port.name, sends=port.sends, held=held)


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("loop_protect", TAG, "/v1/bridges/<dpid>/loop-protect")

    texts = Texts(
        "The ports that are checked for loops, the held ones among them, and the counters.",
        "Set parameters of a bridge, or start or stop its loop protection.",
        refused="  409: the port is LOCAL.",
    )
    section_routes(api, network, LOOP_PROTECT, _view, texts, LoopProtectChange)

    @api.post("/ports/<port>/free", responses={200: LoopProtectStatus, **documented(404, 409)})
    @operator
    def free(path: PortPath, query: NoQuery) -> Response:
        """Open a held port before its time.

        It is held again with the next frame that comes back.  409: the port is not held.
        """
        bridge, port = bridge_and_port(network, path)
        with refused(409):
            network.changes.loop_protect.free_port(bridge, port)
        return answer(_view(network, bridge))

    return api
