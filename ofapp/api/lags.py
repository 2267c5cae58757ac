"""/v1/bridges/{dpid}/lags: aggregations, of which each is one port of the bridge, and members."""

from __future__ import annotations

from typing import Annotated

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field, field_validator

from ofapp.api.answers import answer
from ofapp.api.base import BridgePath, DatapathId, NoQuery
from ofapp.api.changes import Change, changes_of
from ofapp.api.lookup import find_bridge
from ofapp.api.problems import CHANGE, COMMON, documented, field_problem, refused
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lacp import MemberState
from ofapp.bridge.lag.status import LagStatus, MemberStatus, PartyStatus
from ofapp.bridge.mac import format_mac
from ofapp.config.lag import Lag as LagOfFile
from ofapp.config.lag import off_word
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
"""Of members."""


class LagPath(BridgePath):
    """Which aggregation of which bridge."""

    lag: LagText


class LagChange(Change, changes_of(LagOfFile)):  # type: ignore[misc]
    """What shall be different; what is not given stays."""

    _off = field_validator("lacp", mode="before")(off_word)


class Party(BaseModel):
    """One side of a link, as LACP tells of it (IEEE 802.1AX-2020 6.4.2.3)."""

    system_priority: int
    system: str = Field(description="the address in its system identifier")
    key: int
    port_priority: int
    port: int = Field(description="as it numbers its ports")
    state: list[str] = Field(description="the bits of its state that are set")


class LagMember(BaseModel):
    """A port that is a part of an aggregation."""

    name: str
    number: int | None = Field(description="of OpenFlow; null while there is no such port")
    link: bool = Field(description="the link is up")
    speed_mbps: int = Field(description="0 when the switch does not say")
    state: str = Field(description=", ".join(STATES), json_schema_extra={"enum": list(STATES)})
    reason: str = Field(description="why it carries no traffic; empty where it does")
    collecting: bool = Field(description="what comes in by it is taken")
    distributing: bool = Field(description="frames leave by it")
    actor: Party | None = Field(description="what it says of itself; null without LACP")
    partner: Party | None = Field(description="what it hears; null where nobody speaks LACP")
    counters: dict[str, int] = Field(description="what LACP has sent, heard and seen, by name")
    churn: list[str] = Field(
        description="the sides that do not settle, of actor and partner (6.4.17)"
    )


class LagAggregate(BaseModel):
    """An aggregation."""

    name: str
    number: int = Field(description="of its port of the bridge, whether that is there or not")
    up: bool = Field(description="as many members as are needed carry traffic")
    lacp: str = Field(description="active, passive or off")
    hash: str = Field(description="what of a frame chooses the member that it leaves by")
    min_links: int
    speed_mbps: int = Field(description="of the members that carry traffic, together")
    system: str | None = Field(description="what it tells its partner that it is")
    key: int | None = Field(description="likewise")
    partner: Party | None = Field(description="null as long as nobody speaks LACP")
    members: list[LagMember]


class LagDetail(LagAggregate):
    """An aggregation, and what it is told."""

    parameters: LagOfFile


class LagList(BaseModel):
    """The aggregations of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    lags: list[LagAggregate]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint(
        "lags", __name__, url_prefix="/v1/bridges/<dpid>/lags", abp_tags=[TAG], abp_responses=COMMON
    )

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
        """An aggregation, and what it is told."""
        return answer(_detail(network, find_bridge(network, path.dpid), path.lag))

    @api.patch("/<lag>", responses={200: LagDetail, **CHANGE})
    @operator
    def change(path: LagPath, query: NoQuery, body: LagChange) -> Response:
        """Give an aggregation other members or parameters.

        It holds until the configuration file changes the same value, or a reload with `reset` takes
        it back; 503, 507: it holds, but is not saved.  409: the values do not go together, or a
        port is a member already.
        """
        bridge = find_bridge(network, path.dpid)
        _find(network, bridge, path.lag)
        with refused(409):
            saved = network.changes.lags.set(bridge, path.lag, body.values())
        saved.wait()
        return answer(_detail(network, bridge, path.lag))

    return api


def lag_view(lag: LagStatus) -> LagAggregate:
    """How an aggregation is."""
    return LagAggregate(
        name=lag.name,
        number=lag.number,
        up=lag.up,
        lacp=lag.lacp,
        hash=lag.hash,
        min_links=lag.min_links,
        speed_mbps=lag.speed_mbps,
        system=None if lag.system is None else format_mac(lag.system),
        key=lag.key,
        partner=_party(lag.partner),
        members=[_member(member) for member in lag.members],
    )


def _member(member: MemberStatus) -> LagMember:
    return LagMember(
        name=member.name,
        number=member.number,
        link=member.link,
        speed_mbps=member.speed_mbps,
        state=member.state,
        reason=member.reason,
        collecting=member.collecting,
        distributing=member.distributing,
        actor=_party(member.actor),
        partner=_party(member.partner),
        counters=dict(member.counters),
        churn=list(member.churn),
    )


def _party(party: PartyStatus | None) -> Party | None:
    if party is None:
        return None
    return Party(
        system_priority=party.system_priority,
        system=format_mac(party.system),
        key=party.key,
        port_priority=party.port_priority,
        port=party.port,
        state=list(party.state),
    )


def _find(network: Network, bridge: Bridge, name: str) -> LagStatus:
    """The aggregation of that name; 404."""
    for lag in network.lag_status(bridge):
        if lag.name == name:
            return lag
    raise field_problem(404, "lag", f"bridge {bridge.name} has no aggregation {name!r}")


def _detail(network: Network, bridge: Bridge, name: str) -> LagDetail:
    told = lag_view(_find(network, bridge, name))
    parameters = network.running.of(bridge.datapath_id).lags[name]
    return LagDetail(**dict(told), parameters=parameters)
