"""Traffic over time: a day of each port, and the busiest ports of the last hour."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, NoQuery, PortPath, PortRef, SilentMembers
from ofapp.api.lookup import find_bridge, find_port, known_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import documented, resource
from ofapp.api.recent import recent
from ofapp.api.responses import answer, utc
from ofapp.api.roles import all_members, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import Port
from ofapp.bridge.queries import all_ports, switch_ports
from ofapp.config.base import port_number
from ofapp.controller.history import INTERVAL, Load
from ofapp.controller.network import Network

MOST = 10
"""Ports in the answer about the load."""

TAG = Tag(name="history", description="Traffic over time.")


class PortHistory(BaseModel):
    """A value for each minute, the oldest first; null for a minute without a sample."""

    port: PortRef
    interval: int = Field(description="seconds from one value to the next")
    start: str | None = Field(
        description="UTC, when the first minute began; null before the first sample",
        json_schema_extra={"format": "date-time"},
    )
    rx_bytes: list[float | None] = Field(description="received bytes a second")
    tx_bytes: list[float | None] = Field(description="sent bytes a second")
    errors: list[float | None] = Field(description="frames with errors, both directions")
    drops: list[float | None] = Field(description="dropped frames, both directions")


class PortLoad(BaseModel):
    """Mean traffic of a port in the last hour."""

    datapath_id: DatapathId
    bridge: str = Field(description="its name")
    port: PortRef
    rx_bytes: float = Field(description="received bytes a second")
    tx_bytes: float = Field(description="sent bytes a second")
    speed_mbps: int = Field(description="0 when the switch does not say")


class LoadList(BaseModel):
    """The ports with most traffic, the busiest first."""

    loads: list[PortLoad]
    silent: SilentMembers = []


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("history", TAG, "/v1")

    @api.get(
        "/bridges/<dpid>/ports/<port>/history",
        responses={200: PortHistory, **documented(404, 409)},
    )
    @viewer
    def history(path: PortPath, query: NoQuery) -> Response:
        """Traffic, errors and drops of a port in the last 24 hours, since the controller's start.

        The controller reads the counters once a minute.  It keeps 6 to 12 kB for each port, in
        memory alone.  Members of aggregations have a history, too.
        """
        bridge = find_bridge(network, path.dpid)
        port = _find_port(bridge, path.port)
        samples = network.history.of(bridge.datapath_id, port.number)
        start, *values = samples or (None, [], [], [], [])
        rx, tx, errors, drops = map(_rounded, values)
        return answer(
            PortHistory(
                port=PortRef(number=port.number, name=port.name),
                interval=INTERVAL,
                start=None if start is None else utc(start),
                rx_bytes=rx,
                tx_bytes=tx,
                errors=errors,
                drops=drops,
            )
        )

    @api.get("/load", responses={200: LoadList})
    @viewer
    @all_members("loads")
    @recent
    def load(query: NoQuery) -> Response:
        """The ten ports with most traffic in the last hour.

        With `Cache-Control: max-age=1` the answer may be one of the last second.
        """
        loads = [_load(network, each) for each in network.history.busiest(MOST)]
        return answer(LoadList(loads=[each for each in loads if each is not None]))

    return api


def _find_port(bridge: Bridge, text: str) -> Port:
    """A port of the bridge, or a member of an aggregation; 404 when there is none."""
    number = port_number(text)
    members = (port for port in switch_ports(bridge) if text == port.name or number == port.number)
    return known_port(bridge, text) or next(members, None) or find_port(bridge, text)


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 1) for value in values]


def _load(network: Network, load: Load) -> PortLoad | None:
    """A load for the API; None for a port that is gone."""
    bridge = network.bridges.get(load.datapath_id)
    if bridge is None:
        return None
    ports = {port.number: port for port in all_ports(bridge)}
    port = ports.get(load.port)
    if port is None:
        return None
    return PortLoad(
        datapath_id=f"{bridge.datapath_id:016x}",
        bridge=bridge.name,
        port=PortRef(number=port.number, name=port.name),
        rx_bytes=round(load.rx, 1),
        tx_bytes=round(load.tx, 1),
        speed_mbps=port.speed_mbps,
    )
