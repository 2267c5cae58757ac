"""/healthz, /readyz and /v1/version: what a load balancer, an orchestrator and a script ask."""

from __future__ import annotations

import time
from typing import Literal

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag
from pydantic import BaseModel, Field

import ofapp
from ofapp.api.answers import answer, utc
from ofapp.api.base import NoQuery
from ofapp.api.problems import COMMON, ProblemError, documented
from ofapp.api.roles import anybody, viewer
from ofapp.common import hub
from ofapp.controller.network import Network

TAG = Tag(name="health", description="Whether the controller works.")


class Health(BaseModel):
    """That it does."""

    status: Literal["ok"] = "ok"


class Ready(Health):
    """That switches can connect."""

    bridges: int = Field(description="that are known")
    connected: int = Field(description="of these, those whose switch is connected")
    in_line: int = Field(description="of these, those whose switch holds what the bridge wants")


class Version(BaseModel):
    """What runs."""

    version: str
    started: str = Field(description="UTC", json_schema_extra={"format": "date-time"})
    uptime: float = Field(description="seconds")


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = APIBlueprint("health", __name__, abp_tags=[TAG], abp_responses=COMMON)

    @api.get("/healthz", responses={200: Health})
    @anybody
    def healthz(query: NoQuery) -> Response:
        """Whether the controller is alive: it is when it answers at all."""
        return answer(Health())

    @api.get("/readyz", responses={200: Ready, **documented(503)})
    @anybody
    def readyz(query: NoQuery) -> Response:
        """Whether switches can connect.  503: not yet.

        Switches that are away, or not in line, make no controller unready: another one would have
        them no sooner.  /metrics and /v1/bridges tell of them.
        """
        if not hub.SwitchServer.listening.is_set():
            raise ProblemError(503, "the controller does not listen for switches yet")
        sessions = network.sessions.values()
        return answer(
            Ready(
                bridges=len(network.bridges),
                connected=len(network.sessions),
                in_line=sum(session.in_line for session in sessions),
            )
        )

    @api.get("/v1/version", responses={200: Version})
    @viewer
    def version(query: NoQuery) -> Response:
        """Which version runs, and since when."""
        uptime = round(time.time() - network.started, 3)
        return answer(
            Version(version=ofapp.__version__, started=utc(network.started), uptime=uptime)
        )

    return api
