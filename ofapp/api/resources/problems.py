"""/v1/problems: what is wrong now, with its remedy, and who has acknowledged it.

`ofapp.api.problems` is something else: errors of requests.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import BaseModel, Field

from ofapp.api.auth import caller
from ofapp.api.base import DatapathId, Input, NoQuery, PortPath, SilentMembers
from ofapp.api.http.streams import SeverityName
from ofapp.api.lookup import find_bridge
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import UNSAVED, documented, field_problem, resource
from ofapp.api.responses import answer, utc
from ofapp.api.roles import all_members, local, operator, some_member, viewer
from ofapp.bridge.event import Severity
from ofapp.bridge.problem import ProblemKind
from ofapp.controller.audit import record
from ofapp.controller.network import Network
from ofapp.controller.problems.catalogue import KINDS
from ofapp.controller.problems.problems import Listing, Standing

TAG = Tag(name="problems", description="What is wrong now.")

ProblemId = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{8}$",
        description="id of the problem, the same as long as its object has it",
        json_schema_extra={"example": "1f2e3d4c"},
    ),
]


class Acknowledged(BaseModel):
    """An acknowledgement."""

    by: str = Field(description="name of the user or token")
    at: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    comment: str


class NetworkProblem(BaseModel):
    """One thing that is wrong now."""

    id: ProblemId
    kind: str
    severity: SeverityName
    datapath_id: DatapathId | None = Field(description="null: it is about the controller")
    bridge: str | None = Field(description="name of the bridge")
    port: str | None = Field(description="name of the port")
    message: str = Field(description="the cause, in one sentence")
    advice: str = Field(description="what to look at")
    remedy: str | None = Field(description="a command; null where no command helps")
    ends: str = Field(description="when the problem ends")
    since: str = Field(
        description="UTC, when the controller saw it first",
        json_schema_extra={"format": "date-time"},
    )
    data: dict[str, Any] = Field(description="the evidence")
    acknowledged: Acknowledged | None
    member: str | None = Field(None, description="member that reports it; null without a cluster")


class ProblemList(BaseModel):
    """All problems, the worst first."""

    problems: list[NetworkProblem]
    left_out: int = Field(description="further problems, of kinds with very many on one bridge")
    silent: SilentMembers = []


class ProblemFilter(Input):
    """Filter of problems."""

    severity: Literal["info", "warning", "error"] = Field("info", description="the least")
    acknowledged: bool = Field(True, description="also acknowledged ones")


class ProblemPath(Input):
    """Path of a problem."""

    id: ProblemId


class Comment(Input):
    """An acknowledgement."""

    comment: str = Field("", max_length=500)


class KindItem(BaseModel):
    """A kind of problems."""

    kind: str
    severity: SeverityName
    meaning: str
    advice: str
    remedy: str = Field(description="a command with names in braces; empty where none helps")
    ends: str


class KindList(BaseModel):
    """All kinds."""

    kinds: list[KindItem]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network's problems."""
    api = resource("problems", TAG, "/v1")
    made: dict[tuple[str, bool], tuple[Listing, bytes]] = {}  # by filter: what of, and the answer

    @api.get("/problems", responses={200: ProblemList})
    @viewer
    @all_members("problems")
    def listed(query: ProblemFilter) -> Response:
        """What is wrong now, the worst first; `/v1/events/stream?kind=problem` tells of changes."""
        asked, listing = (query.severity, query.acknowledged), network.problems.listing
        of, content = made.get(asked, (None, b""))
        if of is not listing:
            content = answer(_listed(listing, query)).get_data()
            made[asked] = listing, content
        return Response(content, content_type="application/json")

    @api.get("/problems/kinds", responses={200: KindList})
    @viewer
    @local
    def kinds(query: NoQuery) -> Response:
        """Kinds of problems, with their meaning and what to do about them."""
        return answer(KindList(kinds=[_kind(KINDS[name]) for name in sorted(KINDS)]))

    @api.put(
        "/problems/<id>/acknowledgement",
        responses={204: None, **documented(400, 404, 413, 415), **UNSAVED},
    )
    @operator
    @some_member
    def acknowledge(path: ProblemPath, query: NoQuery, body: Comment) -> Response:
        """Acknowledge a problem until it ends: it is still listed, and no longer counted."""
        try:
            saved = network.problems.acknowledge(path.id, caller().name, body.comment)
        except KeyError:
            raise field_problem(404, "id", f"there is no problem {path.id} now") from None
        record(f"problem {path.id}: acknowledged: {body.comment or 'no comment'}")
        saved.wait()
        return Response(status=204)

    @api.delete(
        "/problems/<id>/acknowledgement", responses={204: None, **documented(404), **UNSAVED}
    )
    @operator
    def take_back(path: ProblemPath, query: NoQuery) -> Response:
        """Take an acknowledgement back."""
        saved = network.problems.take_back(path.id)
        if saved is None:
            raise field_problem(404, "id", f"problem {path.id} is not acknowledged")
        record(f"problem {path.id}: not acknowledged any more")
        saved.wait()
        return Response(status=204)

    @api.delete("/bridges/<dpid>/ports/<port>/cable", responses={204: None, **documented(404, 409)})
    @operator
    def forget_cable(path: PortPath, query: NoQuery) -> Response:
        """Forget the missing cables of a port, which were removed for good."""
        bridge = find_bridge(network, path.dpid)
        if not network.sources.cables.forget(bridge.datapath_id, path.port):
            what = f"port {path.port} has no cable that is missing"
            raise field_problem(404, "port", what)
        record(f"cable of {bridge.name}/{path.port}: forgotten")
        return Response(status=204)

    return api


def _listed(listing: Listing, query: ProblemFilter) -> ProblemList:
    least = Severity(query.severity).rank
    shown = [
        problem_view(each)
        for each in listing.problems
        if each.kind.severity.rank >= least and (query.acknowledged or each.acknowledged is None)
    ]
    return ProblemList(problems=shown, left_out=listing.left_out)


def problem_view(problem: Standing) -> NetworkProblem:
    """A problem for the API."""
    kind, seen = problem.kind, problem.acknowledged
    return NetworkProblem(
        id=problem.id,
        kind=kind.name,
        severity=kind.severity.value,
        datapath_id=None if problem.bridge is None else f"{problem.bridge:016x}",
        bridge=None if problem.bridge is None else problem.name,
        port=problem.port or None,
        message=problem.message,
        advice=kind.advice,
        remedy=problem.remedy or None,
        ends=kind.ends,
        since=utc(problem.since),
        data=dict(problem.data),
        acknowledged=None
        if seen is None
        else Acknowledged(by=seen.by, at=utc(seen.at), comment=seen.comment),
    )


def _kind(kind: ProblemKind) -> KindItem:
    return KindItem(
        kind=kind.name,
        severity=kind.severity.value,
        meaning=kind.meaning,
        advice=kind.advice,
        remedy=kind.remedy,
        ends=kind.ends,
    )
