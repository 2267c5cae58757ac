"""/v1/cluster: who is in it, and who looks after which switch.

All of it but for how long leases live is known here already, as every member hears of it through
etcd: nobody else has to be asked, and it is told as well while others, or etcd, are away.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

from ofapp.api.answers import answer, utc
from ofapp.api.base import DatapathId, Input, NoQuery
from ofapp.api.problems import COMMON, ProblemError, documented, field_problem
from ofapp.api.roles import admin, viewer
from ofapp.common import hub
from ofapp.controller.audit import record
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.members import Member as CoreMember
    from ofapp.controller.cluster.surface import Surface

TAG = Tag(name="cluster", description="Several controllers that serve one network.")

ALONE = "this controller is in no cluster: it looks after all switches that connect to it"

HEARD = 1.0
"""Seconds until what etcd was told is heard of, at most; it takes milliseconds."""

MemberName = Annotated[
    str,
    Field(pattern="^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", description="of a member"),
]


class MemberPath(Input):
    """Which member."""

    member: MemberName


class Member(BaseModel):
    """A controller of the cluster."""

    name: MemberName
    address: str = Field(description="URL where other members ask it")
    state: Literal["ready", "drained", "gone"]
    lease: float | None = Field(
        description="seconds for which its lease lives on unless it renews it, as etcd counts them;"
        " null where etcd does not tell, or the member has gone"
    )
    lease_id: str = Field(description="etcd's number of its lease, in hex as etcdctl has it")
    since: str = Field(
        description="when it came, by its own clock, in UTC",
        json_schema_extra={"format": "date-time"},
    )
    version: str
    bridges: int = Field(description="switches that it looks after")


class Owner(BaseModel):
    """Who looks after a switch."""

    datapath_id: DatapathId
    owner: str = Field(description="a member's name")
    since: str = Field(
        description="by that member's clock, in UTC", json_schema_extra={"format": "date-time"}
    )
    reason: str = Field(description="why it is that member, in words")


class Cluster(BaseModel):
    """The cluster as this member sees it."""

    name: str | None = Field(description="null = this controller is in no cluster")
    member: str | None = Field(description="this controller's own name there")
    told: str = Field(description="how it stands, in words")
    renewed: float | None = Field(
        description="seconds since etcd renewed this member's lease; null = it has none"
    )
    members: list[Member]
    bridges: list[Owner] = Field(description="by datapath id")


class OwnBridge(BaseModel):
    """A bridge by both names."""

    datapath_id: DatapathId
    name: str


class OwnBridges(BaseModel):
    """Those that no other member looks after."""

    bridges: list[OwnBridge]


def cluster_view(surface: Surface | None) -> Cluster:
    """How it stands."""
    if surface is None:
        return Cluster(name=None, member=None, told=ALONE, renewed=None, members=[], bridges=[])
    claims = sorted(surface.claims.all(), key=lambda claim: claim.datapath_id)
    counts: dict[str, int] = {}
    leases = surface.leases()
    for claim in claims:
        counts[claim.member] = counts.get(claim.member, 0) + 1
    return Cluster(
        name=surface.name,
        member=surface.members.own,
        told=surface.told(),
        renewed=surface.renewed(),
        members=[_member(one, counts, leases.get(one.lease)) for one in surface.members.all()],
        bridges=[
            Owner(
                datapath_id=f"{claim.datapath_id:016x}",
                owner=claim.member,
                since=utc(claim.since),
                reason=claim.reason,
            )
            for claim in claims
        ],
    )


def _member(member: CoreMember, counts: dict[str, int], lease: float | None) -> Member:
    return Member(
        name=member.name,
        address=member.address,
        state=member.state,
        lease=lease,
        lease_id=f"{member.lease:x}",
        since=utc(member.since),
        version=member.version,
        bridges=counts.get(member.name, 0),
    )


def blueprint(network: Network, surface: Surface | None) -> APIBlueprint:
    """The routes; surface: None without a cluster."""
    api = APIBlueprint(
        "cluster", __name__, url_prefix="/v1/cluster", abp_tags=[TAG], abp_responses=COMMON
    )

    @api.get("", responses={200: Cluster})
    @viewer
    def cluster(query: NoQuery) -> Response:
        """Its members, and who of them looks after which switch."""
        return answer(cluster_view(surface))

    @api.get("/bridges", responses={200: OwnBridges})
    @viewer
    def own_bridges(query: NoQuery) -> Response:
        """The names of the bridges that no other member than this one looks after."""
        return answer(
            OwnBridges(
                bridges=[
                    OwnBridge(datapath_id=f"{datapath_id:016x}", name=bridge.name)
                    for datapath_id, bridge in sorted(network.bridges.items())
                    if surface is None or surface.owner(datapath_id) is None
                ]
            )
        )

    @api.post("/members/<member>/drain", responses={200: Cluster, **documented(404, 409, 503)})
    @admin
    def drain(path: MemberPath, query: NoQuery) -> Response:
        """Have a member give its switches to the others, one after another, and take none.

        It stays drained, also when it is started anew, until it is undrained.  409: no cluster.
        503: etcd does not answer.
        """
        return _mark(surface, path.member, drained=True)

    @api.post("/members/<member>/undrain", responses={200: Cluster, **documented(404, 409, 503)})
    @admin
    def undrain(path: MemberPath, query: NoQuery) -> Response:
        """Have a drained member take its share again.  409, 503: as for draining."""
        return _mark(surface, path.member, drained=False)

    return api


def _mark(surface: Surface | None, name: str, drained: bool) -> Response:
    if surface is None:
        raise ProblemError(409, ALONE)
    known = {one.name: one for one in surface.members.all()}
    if name not in known and not (surface.members.is_drained(name) and not drained):
        names = ", ".join(known) or "none"
        raise field_problem(404, "member", f"there is no member {name}; there are: {names}")
    before = surface.members.is_drained(name)
    if before != drained:
        from ofapp.controller.cluster.etcd import EtcdError

        try:
            surface.members.drain(name) if drained else surface.members.undrain(name)
        except EtcdError as error:
            raise ProblemError(503, f"etcd: {error}") from None
        record(f"member {name}: {_word(before)} -> {_word(drained)}")
    deadline = time.monotonic() + HEARD
    while surface.members.is_drained(name) != drained and time.monotonic() < deadline:
        hub.sleep(0.01)
    return answer(cluster_view(surface))


def _word(drained: bool) -> str:
    return "drained" if drained else "ready"
