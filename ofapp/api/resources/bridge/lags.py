"""/v1/bridges/{dpid}/lags: aggregations and their members; each is one port of the bridge."""

from __future__ import annotations

from typing import Annotated

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import BridgePath, DatapathId, MacOf, NoQuery, OfCore
from ofapp.api.changes import Change, changes_of, make_change
from ofapp.api.lookup import find_bridge
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, documented, field_problem, resource
from ofapp.api.responses import answer
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lag.lacp import MemberState
from ofapp.bridge.lag.status import LagStatus
from ofapp.config.lag import Lag as LagOfFile
from ofapp.controller.network import Network

TAG = Tag(name="lags", description="Link aggregation: several ports that are one.")

LagText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="the aggregation's name",
        json_schema_extra={"example": "lag0"},
    ),
]
STATES = ("away", *(state.value for state in MemberState))
"""States of members."""


class LagPath(BridgePath):
    """Path of an aggregation of a bridge."""

    lag: LagText


class LagChange(Change, changes_of(LagOfFile)):  # type: ignore[misc]
    """New values; omitted fields keep theirs."""


class Party(OfCore):
    """One side of a link in LACPDUs (IEEE 802.1AX-2020 6.4.2.3)."""

    system_priority: int
    system: MacOf = Field(description="the address in its system identifier")
    key: int
    port_priority: int
    port: int = Field(description="by its own port numbers")
    state: list[str] = Field(description="state bits that are set")


class LagMember(OfCore):
    """A member port of an aggregation."""

    name: str
    number: int | None = Field(description="of OpenFlow; null while there is no such port")
    link: bool = Field(description="the link is up")
    speed_mbps: int = Field(description="0 when the switch does not say")
    state: str = Field(description=", ".join(STATES), json_schema_extra={"enum": list(STATES)})
    reason: str = Field(description="why it carries no traffic; empty if it does")
    collecting: bool = Field(description="received frames are accepted")
    distributing: bool = Field(description="frames are sent on it")
    actor: Party | None = Field(description="what it sends; null without LACP")
    partner: Party | None = Field(description="what it receives; null without a LACP partner")
    counters: dict[str, int] = Field(description="sent and received PDUs and LACP events, by name")
    churn: list[str] = Field(description="the sides in churn, of actor and partner (6.4.17)")


class LagAggregate(OfCore):
    """An aggregation."""

    name: str
    number: int = Field(description="of its port of the bridge, whether that exists or not")
    up: bool = Field(description="at least min_links members carry traffic")
    lacp: str = Field(description="active, passive or off")
    hash: str = Field(description="fields of a frame that select the member to send it on")
    min_links: int
    speed_mbps: int = Field(description="of the members that carry traffic, together")
    system: MacOf | None = Field(description="system address that it sends to its partner")
    key: int | None = Field(description="key that it sends to its partner")
    partner: Party | None = Field(description="null without a LACP partner")
    members: list[LagMember]


class LagDetail(LagAggregate):
    """An aggregation, and its settings."""

    parameters: LagOfFile


class LagList(BaseModel):
    """The aggregations of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    lags: list[LagAggregate]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("lags", TAG, "/v1/bridges/<dpid>/lags")

    @api.get("", responses={200: LagList, **documented(404, 409)})
    @viewer
    def lags(path: BridgePath, query: NoQuery) -> Response:
        """The aggregations of a bridge, in the order of the file."""
        bridge = find_bridge(network, path.dpid)
        known = [lag_view(status) for status in network.lag_status(bridge)]
        datapath_id = f"{bridge.datapath_id:016x}"
        return answer(LagList(datapath_id=datapath_id, bridge=bridge.name, lags=known))

    @api.get("/<lag>", responses={200: LagDetail, **documented(404, 409)})
    @viewer
    def show(path: LagPath, query: NoQuery) -> Response:
        """An aggregation, and its settings."""
        return answer(_detail(network, find_bridge(network, path.dpid), path.lag))

    @api.patch("/<lag>", responses={200: LagDetail, **CHANGE})
    @operator
    def change(path: LagPath, query: NoQuery, body: LagChange) -> Response:
        """Change members or parameters of an aggregation.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: the values contradict each
        other, or a port is a member already.
        """
        bridge = find_bridge(network, path.dpid)
        _find(network, bridge, path.lag)
        make_change(network.changes.settings.change_lag, bridge, path.lag, body.values())
        return answer(_detail(network, bridge, path.lag))

    return api


def lag_view(lag: LagStatus) -> LagAggregate:
    """State of an aggregation."""
    return LagAggregate.model_validate(lag)


def _find(network: Network, bridge: Bridge, name: str) -> LagStatus:
    """The aggregation of that name; 404."""
    for lag in network.lag_status(bridge):
        if lag.name == name:
            return lag
    raise field_problem(404, "lag", f"bridge {bridge.name} has no aggregation {name!r}")


def _detail(network: Network, bridge: Bridge, name: str) -> LagDetail:
    view = lag_view(_find(network, bridge, name))
    parameters = network.running.of(bridge.datapath_id).lags[name]
    return LagDetail(**dict(view), parameters=parameters)
