"""/v1/cluster: the members, and which of them is master of which switch.

Except for the remaining lifetime of leases all of it is known locally, as every member watches
etcd: no other member is asked, and the answer works while others, or etcd, do not answer.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.base import DatapathId, Input, NoQuery, filled
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import ProblemError, documented, field_problem, resource
from ofapp.api.responses import answer, utc
from ofapp.api.roles import admin, local, viewer
from ofapp.common import hub
from ofapp.controller.audit import record
from ofapp.controller.network import Network

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.members import ClusterMember
    from ofapp.controller.cluster.peers.surface import Surface

TAG = Tag(name="cluster", description="Several controllers that serve one network.")

ALONE = "this controller is in no cluster: it manages all switches that connect to it"

HEARD = 1.0
"""Most seconds to wait until etcd's watch reports a write; it takes milliseconds."""

MemberName = Annotated[
    str,
    Field(pattern="^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$", description="of a member"),
]


class MemberPath(Input):
    """Path of a member."""

    member: MemberName


class ClusterMemberStatus(BaseModel):
    """A controller of the cluster."""

    name: MemberName
    address: str = Field(description="URL for requests of other members")
    state: Literal["ready", "drained", "gone", "unknown"] = Field(
        description="unknown: etcd was wiped or restored, and the member has not registered again"
    )
    lease: float | None = Field(
        description="seconds until its lease expires unless it is renewed, as etcd counts them;"
        " null if etcd does not answer, or the member has gone"
    )
    lease_id: str = Field(description="etcd's lease ID, in hex as in etcdctl")
    since: str = Field(
        description="when it joined, by its own clock, in UTC",
        json_schema_extra={"format": "date-time"},
    )
    version: str
    bridges: int = Field(description="switches that it is master of")


class Owner(BaseModel):
    """The member that is master of a switch."""

    datapath_id: DatapathId
    owner: str = Field(description="a member's name")
    since: str = Field(
        description="by that member's clock, in UTC", json_schema_extra={"format": "date-time"}
    )
    reason: str = Field(description="why this member owns it, in words")


class InvalidKey(BaseModel):
    """A key of the cluster in etcd that is set aside."""

    key: str
    why: str = Field(description="in words")


class Cluster(BaseModel):
    """The cluster as this member sees it."""

    name: str | None = Field(description="null = this controller is in no cluster")
    member: str | None = Field(description="this controller's own name there")
    status: str = Field(description="state of this member, in words")
    renewed: float | None = Field(
        description="seconds since etcd renewed this member's lease; null = it has none"
    )
    members: list[ClusterMemberStatus]
    bridges: list[Owner] = Field(description="by datapath id")
    invalid: list[InvalidKey] = Field(
        [], description="keys in etcd that are set aside until they are corrected or deleted"
    )


class OwnBridge(BaseModel):
    """Datapath id and name of a bridge."""

    datapath_id: DatapathId
    name: str


class OwnBridges(BaseModel):
    """Bridges that no other member owns."""

    bridges: list[OwnBridge]


def cluster_view(surface: Surface | None) -> Cluster:
    """The state of the cluster as this member sees it."""
    if surface is None:
        return Cluster(name=None, member=None, status=ALONE, renewed=None, members=[], bridges=[])
    claims = sorted(surface.claims.all(), key=lambda claim: claim.datapath_id)
    counts: dict[str, int] = {}
    leases = surface.leases()
    status = surface.describe()
    for claim in claims:
        counts[claim.member] = counts.get(claim.member, 0) + 1
    return Cluster(
        name=surface.name,
        member=surface.members.own,
        status=status,
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
        invalid=[InvalidKey(key=key, why=why) for key, why in surface.invalid.all()],
    )


def _member(
    member: ClusterMember, counts: dict[str, int], lease: float | None
) -> ClusterMemberStatus:
    return filled(
        ClusterMemberStatus,
        member,
        lease=lease,
        lease_id=f"{member.lease:x}",
        since=utc(member.since),
        bridges=counts.get(member.name, 0),
    )


def blueprint(network: Network, surface: Surface | None) -> APIBlueprint:
    """The routes; surface: None without a cluster."""
    api = resource("cluster", TAG, "/v1/cluster")

    @api.get("", responses={200: Cluster})
    @viewer
    @local
    def cluster(query: NoQuery) -> Response:
        """The members of the cluster, and which of them is master of which switch."""
        return answer(cluster_view(surface))

    @api.get("/bridges", responses={200: OwnBridges})
    @viewer
    def own_bridges(query: NoQuery) -> Response:
        """The names of the bridges that no other member than this one owns."""
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
        """Drain a member: it hands its switches to the others, one after another, and takes none.

        It stays drained, also after a restart, until it is undrained.  409: no cluster.
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
        from ofapp.controller.cluster.etcd.etcd import EtcdError

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
